/** Scopes of a key, prepared for the check of each request. All kinds must fit; of each kind, one entry must. */
import { BlockList, isIPv4 } from 'node:net'
import type { KeyScopes } from '../../data/store/node/keyRows.js'

/** Names and addresses whose check is remembered for a key. */
const rememberedMax = 1_000
const rememberedCharsMax = 64

export class KeyScope {
  /** Undefined if all methods may be called. */
  readonly methods: MethodScope | undefined
  readonly #networks: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  readonly #addresses: BlockList | undefined
  readonly #checked = new Map<string, boolean>()

  constructor({ networks, methods, origins, addresses }: KeyScopes) {
    this.#networks = new Set(networks)
    this.methods = methods.length === 0 ? undefined : new MethodScope(methods)
    this.#origins = new Set(origins)
    this.#addresses = addresses.length === 0 ? undefined : blockListOf(addresses)
  }

  allowsNetwork(name: string): boolean {
    return this.#networks.size === 0 || this.#networks.has(name)
  }

  /**
   * Whether pages of this origin may use the key. A request without an origin is not from a page, so it is allowed only
   * if all origins are.
   */
  allowsOrigin(origin: string): boolean {
    return this.#origins.size === 0 || this.#origins.has(origin.toLowerCase())
  }

  /** Whether the key may be used from this address. The address is read only if the key lists addresses. */
  allowsAddressOf(use: { readonly address: string }): boolean {
    const list = this.#addresses
    if (list === undefined) return true
    return remembered(this.#checked, use.address, (address) =>
      list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6'),
    )
  }
}

export class MethodScope {
  readonly #names: ReadonlySet<string>
  readonly #beginnings: readonly string[]
  readonly #checked = new Map<string, boolean>()

  /** Entries of the scope, for comparison. */
  readonly text: string

  constructor(entries: readonly string[]) {
    this.text = entries.join(' ')
    this.#names = new Set(entries)
    this.#beginnings = entries.filter((entry) => entry.endsWith('*')).map((entry) => entry.slice(0, -1))
  }

  allows(name: string): boolean {
    // No method has a longer name, and clients can invent many.
    return name.length > rememberedCharsMax
      ? this.#fits(name)
      : remembered(this.#checked, name, () => this.#fits(name))
  }

  #fits(name: string): boolean {
    return this.#names.has(name) || this.#beginnings.some((beginning) => name.startsWith(beginning))
  }
}

function remembered(known: Map<string, boolean>, name: string, check: (name: string) => boolean): boolean {
  const found = known.get(name)
  if (found !== undefined) return found
  if (known.size === rememberedMax) known.clear()
  const fits = check(name)
  known.set(name, fits)
  return fits
}

/** Addresses and networks, such as `10.0.0.0/8`. */
export function blockListOf(addresses: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of addresses) {
    const [address = '', bits] = entry.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
