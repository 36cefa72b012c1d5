import { type BlockList, isIP } from 'node:net'
import { blockListOf } from '../access/keyScope.js'

/**
 * Finds the client of a request behind proxies. Each proxy appends the address that it got the request from to
 * X-Forwarded-For, so only the entries of trusted proxies are used. The client is the rightmost address that is not a
 * trusted proxy. The client itself may write anything to the left of it.
 */
export class TrustedProxies {
  readonly #list: BlockList
  readonly #isEmpty: boolean

  /** Addresses and networks, such as `10.0.0.0/8`. */
  constructor(networks: readonly string[]) {
    this.#isEmpty = networks.length === 0
    this.#list = blockListOf(networks)
  }

  /** The client of a connection from `peer` whose request has this X-Forwarded-For; empty if it has none. */
  clientOf(peer: string, forwardedFor: string): string {
    if (this.#isEmpty || forwardedFor === '' || !this.#has(peer)) return peer
    const hops = forwardedFor.split(',')
    let client = peer
    while (hops.length > 0) {
      const hop = addressOf((hops.pop() as string).trim())
      // A proxy without the address writes `unknown`, or a text of its own; the client is behind it.
      if (hop === undefined) return client
      client = hop
      if (!this.#has(hop)) return hop
    }
    return client
  }

  #has(address: string): boolean {
    const family = isIP(address)
    return family !== 0 && this.#list.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
}

/** An entry of X-Forwarded-For without its port, which some proxies add; undefined if it is no address. */
function addressOf(hop: string): string | undefined {
  const [, bracketed, , bare] = /^(?:\[([^\]]+)\](:\d+)?|([^[\]]+))$/.exec(hop) ?? []
  const address = bracketed ?? (bare?.split(':').length === 2 ? bare.split(':')[0] : bare) ?? ''
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  return isIP(mapped) === 0 ? undefined : mapped
}
