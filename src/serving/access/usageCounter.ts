/** Counts the usage of each key on one edge, until the process's ledger takes the counts. */
import type { RefusedCalls } from './keyRefusals.js'
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

/** A call that took long, or failed. */
export interface NotedCall {
  /** Milliseconds since 1970 at which it ended. */
  readonly atMs: number
  readonly keyId: string
  readonly network: string
  readonly method: string
  /** Code and message; undefined for a result. */
  readonly error: string | undefined
  /** 0 if it was not timed. */
  readonly ms: number
  /** The requested blocks, for example `latest (271)`; undefined if it named none. */
  readonly block: string | undefined
  /** JSON, or its beginning, without secrets. */
  readonly params: string
}

/** A call as its edge notes it. */
type EndedCall = Pick<NotedCall, 'error' | 'ms' | 'block' | 'params'>

export interface UsageReport {
  readonly used: readonly UsedCalls[]
  readonly slow: readonly NotedCall[]
  readonly failed: readonly NotedCall[]
  readonly refused: readonly RefusedCalls[]
}

/** Time between two reports of an edge to the ledger. */
export const reportMs = 1_000

/** Slow calls kept between two reports, the first ones; more would displace each other in the list shown. */
const slowMax = 50

/** Like {@link slowMax}, but for different failures: each takes some microseconds to note, and a flood may fail. */
const failedMax = 10

/** Keys and reasons of refusals between two reports: 1,000 keys that are refused in one second are a flood. */
const refusedMax = 1_000

/** Characters kept of the text of a refusal or an error. */
const whyMax = 300

type Cell = { -readonly [N in keyof UsedAmounts]: number }

export class UsageCounter {
  readonly #methodAt: (slot: number) => string
  readonly #networks: NetworkUsage[] = []
  #slow: NotedCall[] = []
  /** Different failures: by network, key, method and error, so that many equal ones displace no others. */
  #failed = new Map<string, NotedCall>()
  #refused = new Map<string, RefusedCalls>()
  #isPaused = false

  /** `methodAt` gives the name of the method with a slot; see {@link NetworkUsage.count}. */
  constructor(methodAt: (slot: number) => string) {
    this.#methodAt = methodAt
  }

  /** The counts of calls to a network. Call it once for each. */
  ofNetwork(network: string): NetworkUsage {
    const counts = new NetworkUsage(network, this.#methodAt, this)
    this.#networks.push(counts)
    return counts
  }

  /** Counts a call or a request of a key that was refused. */
  refused(keyId: string, reason: string, why: string): void {
    const name = `${keyId} ${reason}`
    const known = this.#refused.get(name)
    if (known === undefined && this.#refused.size >= refusedMax) return
    const count = (known?.count ?? 0) + 1
    this.#refused.set(name, { keyId, reason, count, why: why.slice(0, whyMax) })
  }

  keepSlow(call: NotedCall): void {
    if (this.#slow.length < slowMax) this.#slow.push(call)
  }

  /** Keeps the first call with this name until the next report. */
  keepFailed(name: string, make: () => NotedCall): void {
    if (this.#failed.size < failedMax && !this.#failed.has(name)) this.#failed.set(name, make())
  }

  /** Reports nothing until {@link resume}, which drops the counts of the meantime. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.take()
  }

  /** The counts since the last call of this function; undefined if there are none. */
  take(): UsageReport | undefined {
    if (this.#isPaused) return undefined
    const used = this.#networks.flatMap((network) => network.take())
    const slow = this.#slow
    if (slow.length > 0) this.#slow = []
    const failed = [...this.#failed.values()]
    if (failed.length > 0) this.#failed = new Map()
    const refused = [...this.#refused.values()]
    if (refused.length > 0) this.#refused = new Map()
    const isEmpty = [used, slow, failed, refused].every(({ length }) => length === 0)
    return isEmpty ? undefined : { used, slow, failed, refused }
  }
}

class NetworkUsage {
  readonly #network: string
  readonly #methodAt: (slot: number) => string
  readonly #kept: Pick<UsageCounter, 'keepSlow' | 'keepFailed' | 'refused'>
  /** Key id → slot of the method → counts. */
  #cells = new Map<string, Map<number, Cell>>()
  // The same key often repeats a call, and comparing takes less time than looking up.
  #lastKey = ''
  #lastSlot = -1
  #last: Cell = noCalls()

  constructor(network: string, methodAt: (slot: number) => string, kept: UsageCounter) {
    this.#network = network
    this.#methodAt = methodAt
    this.#kept = kept
  }

  /** Counts one call; with `calls` 0, adds the later usage of a call that was counted before. */
  count(keyId: string, slot: number, calls: 0 | 1, isError: boolean, units: number, bytes: number): void {
    const cell = slot === this.#lastSlot && keyId === this.#lastKey ? this.#last : this.#find(keyId, slot)
    cell.calls += calls
    cell.units += units
    cell.bytes += bytes
    if (isError) cell.errors++
  }

  noteSlow(keyId: string, slot: number, call: EndedCall): void {
    this.#kept.keepSlow(this.#noted(keyId, slot, call))
  }

  /** `call` makes the texts, which takes time. */
  noteFailed(keyId: string, slot: number, error: string, call: () => EndedCall): void {
    const name = `${this.#network} ${keyId} ${slot} ${error}`
    this.#kept.keepFailed(name, () => this.#noted(keyId, slot, call()))
  }

  refused(keyId: string, reason: string, why: string): void {
    this.#kept.refused(keyId, reason, why)
  }

  #noted(keyId: string, slot: number, { error, ms, block, params }: EndedCall): NotedCall {
    // Callers sometimes send a key in place of another parameter.
    const shown = { error: error && redactText(error).slice(0, whyMax), params: redactText(params) }
    const method = this.#methodAt(slot)
    return { atMs: Date.now(), keyId, network: this.#network, method, ms, block, ...shown }
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
