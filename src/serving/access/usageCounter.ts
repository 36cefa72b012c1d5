/** Counts the usage of each key on one edge, until the process's ledger takes the counts. */
import { redactText } from './keyText.js'

export interface UsedAmounts {
  readonly calls: number
  readonly errors: number
  readonly units: number
  readonly bytes: number
}

/** Usage by one key of one method on one network since the counts were taken last. */
export interface UsedCalls extends UsedAmounts {
  readonly keyId: string
  readonly network: string
  readonly method: string
}

export interface SlowCall {
  /** Milliseconds since 1970 at which it ended. */
  readonly atMs: number
  readonly keyId: string
  readonly network: string
  readonly method: string
  readonly isError: boolean
  readonly ms: number
  /** JSON, or its beginning, without secrets. */
  readonly params: string
}

export interface UsageReport {
  readonly used: readonly UsedCalls[]
  readonly slow: readonly SlowCall[]
}

/** Time between two reports of an edge to the ledger. */
export const reportMs = 1_000

/** Slow calls kept between two reports, the first ones; more would displace each other in the list shown. */
const slowMax = 50

type Cell = { -readonly [N in keyof UsedAmounts]: number }

export class UsageCounter {
  readonly #methodAt: (slot: number) => string
  readonly #networks: NetworkUsage[] = []
  #slow: SlowCall[] = []

  /** `methodAt` gives the name of the method with a slot; see {@link NetworkUsage.count}. */
  constructor(methodAt: (slot: number) => string) {
    this.#methodAt = methodAt
  }

  /** The counts of calls to a network. Call it once for each. */
  ofNetwork(network: string): NetworkUsage {
    const counts = new NetworkUsage(network, this.#methodAt, (call) => {
      if (this.#slow.length < slowMax) this.#slow.push(call)
    })
    this.#networks.push(counts)
    return counts
  }

  /** The counts since the last call of this; undefined if there are none. */
  take(): UsageReport | undefined {
    const used = this.#networks.flatMap((network) => network.take())
    const slow = this.#slow
    if (slow.length > 0) this.#slow = []
    return used.length > 0 || slow.length > 0 ? { used, slow } : undefined
  }
}

class NetworkUsage {
  readonly #network: string
  readonly #methodAt: (slot: number) => string
  readonly #keep: (call: SlowCall) => void
  /** Key id → slot of the method → counts. */
  #cells = new Map<string, Map<number, Cell>>()
  // The same key often repeats a call, and comparing takes less time than looking up.
  #lastKey = ''
  #lastSlot = -1
  #last: Cell = noCalls()

  constructor(network: string, methodAt: (slot: number) => string, keep: (call: SlowCall) => void) {
    this.#network = network
    this.#methodAt = methodAt
    this.#keep = keep
  }

  /** Counts one call; with `calls` 0, adds the later usage of a call that was counted before. */
  count(keyId: string, slot: number, calls: 0 | 1, isError: boolean, units: number, bytes: number): void {
    const cell = slot === this.#lastSlot && keyId === this.#lastKey ? this.#last : this.#find(keyId, slot)
    cell.calls += calls
    cell.units += units
    cell.bytes += bytes
    if (isError) cell.errors++
  }

  note(keyId: string, slot: number, isError: boolean, ms: number, params: string): void {
    const method = this.#methodAt(slot)
    // Callers sometimes send a key in place of another parameter.
    const shown = redactText(params)
    this.#keep({ atMs: Date.now(), keyId, network: this.#network, method, isError, ms, params: shown })
  }

  take(): UsedCalls[] {
    const cells = this.#cells
    if (cells.size === 0) return []
    this.#cells = new Map()
    this.#lastSlot = -1
    const network = this.#network
    return [...cells].flatMap(([keyId, methods]) =>
      [...methods].map(([slot, cell]) => ({ keyId, network, method: this.#methodAt(slot), ...cell })),
    )
  }

  #find(keyId: string, slot: number): Cell {
    const methods = this.#cells.get(keyId) ?? new Map<number, Cell>()
    const cell = methods.get(slot) ?? noCalls()
    this.#cells.set(keyId, methods)
    methods.set(slot, cell)
    this.#lastKey = keyId
    this.#lastSlot = slot
    this.#last = cell
    return cell
  }
}

function noCalls(): Cell {
  return { calls: 0, errors: 0, units: 0, bytes: 0 }
}
