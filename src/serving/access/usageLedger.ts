/**
 * Usage by key of the whole process: takes the reports of all edges and stores them every few seconds. Answers for the
 * last minute and for any stored time. A process that dies loses the unstored part.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hourMs, type KeyUsage, type UsageStore } from '../../data/store/node/usage.js'
import { setInterval } from '../../primitives/timers.js'
import { type KeyRefusal, KeyRefusals } from './keyRefusals.js'
import { type KeyTotal, KeyTotalsCounter } from './keyTotals.js'
import {
  type NotedCall,
  reportMs,
  type UsageCounter,
  type UsageReport,
  type UsedAmounts,
  type UsedCalls,
} from './usageCounter.js'

/** Reports between two flushes: at most five seconds are lost, and a transaction every five seconds costs nothing. */
const reportsPerFlush = 5

/** Recent usage is kept by tenths of a minute, because each part may contain every key. */
const partMs = 10_000
const partsMax = 6

/** Slow calls kept, and as many failed ones: as many as a person looks through. */
const slowCallsMax = 50

/** Keys in the list of recent usage. */
const topKeysMax = 10

/** Keys and reasons in the list of refusals. */
const refusalsMax = 50

interface KeyTotals extends UsedAmounts {
  readonly keyId: string
}

interface UsageLedgerOptions {
  /** Milliseconds since 1970; `Date.now` if absent. */
  readonly nowMs?: () => number
  /** Called when usage could not be stored; it is stored with the next attempt. */
  readonly onFailure: (error: Error) => void
  /** Called with the calls that took long or failed, as many as edges report. */
  readonly onNoted?: (call: NotedCall, what: 'slow call' | 'failed call') => void
}

export class UsageLedger {
  readonly #store: UsageStore
  readonly #counter: UsageCounter
  readonly #nowMs: () => number
  readonly #onFailure: (error: Error) => void
  readonly #onNoted: UsageLedgerOptions['onNoted']
  readonly #timer: NodeJS.Timeout
  /** Usage not stored yet, by key, network, method and hour. */
  #pending = new Map<string, KeyUsage>()
  #parts: { readonly sinceMs: number; readonly totals: Map<string, KeyTotals> }[] = []
  #slow: NotedCall[] = []
  /** The newest of each failure, by its key, network, method and error; the newest last. */
  readonly #failed = new Map<string, NotedCall>()
  readonly #refusals = new KeyRefusals()
  readonly #totals = new KeyTotalsCounter()
  #listener: ((used: readonly UsedCalls[]) => void) | undefined
  #ticks = 0
  #packedDay = -1
  #flushing = Promise.resolve()
  /** Packing and reading exclude each other: rows must not move while they are read. */
  #reading = Promise.resolve()

  /** `counter` is that of this thread's edge; other edges report through {@link take}. */
  constructor(store: UsageStore, counter: UsageCounter, options: UsageLedgerOptions) {
    this.#store = store
    this.#counter = counter
    this.#nowMs = options.nowMs ?? Date.now
    this.#onFailure = options.onFailure
    this.#onNoted = options.onNoted
    this.#timer = setInterval(() => this.#tick(), reportMs)
    this.#timer.unref()
  }

  /** Takes the report of an edge. Its calls count for the current hour. */
  take({ used, slow, failed, refused }: UsageReport): void {
    const nowMs = this.#nowMs()
    const hour = Math.floor(nowMs / hourMs)
    const recent = this.#partAt(nowMs)
    for (const calls of used) {
      const { keyId, network, method } = calls
      const name = `${keyId} ${hour} ${network} ${method}`
      this.#pending.set(name, { ...sum(this.#pending.get(name), calls), keyId, network, method, hour })
      recent.set(keyId, { ...sum(recent.get(keyId), calls), keyId })
    }
    this.#slow = [...this.#slow, ...slow].slice(-slowCallsMax)
    for (const call of failed) this.#keepFailed(call)
    for (const call of slow) this.#onNoted?.(call, 'slow call')
    for (const call of failed) this.#onNoted?.(call, 'failed call')
    this.#refusals.take(refused, nowMs)
    this.#totals.take(used, refused, nowMs)
    this.#listener?.(used)
  }

  /** Calls `listener` with all usage from now on, some times a second. */
  listen(listener: (used: readonly UsedCalls[]) => void): void {
    this.#listener = listener
  }

  /** The keys that spent most units in the last minute, in descending order. */
  readTopKeys(): KeyTotals[] {
    this.#collect()
    const totals = new Map<string, KeyTotals>()
    for (const part of this.#recentParts(this.#nowMs())) {
      for (const [keyId, found] of part.totals) {
        totals.set(keyId, { ...sum(totals.get(keyId), found), keyId })
      }
    }
    return [...totals.values()].sort((a, b) => b.units - a.units).slice(0, topKeysMax)
  }

  /** Calls that took long, newest first. */
  readSlowCalls(): NotedCall[] {
    this.#collect()
    return this.#slow.toReversed()
  }

  /** The newest call of each failure, newest first. */
  readFailedCalls(): NotedCall[] {
    this.#collect()
    return [...this.#failed.values()].toReversed()
  }

  /** Refusals of keys in the last hour by key and reason, most first. */
  readRefusals(): KeyRefusal[] {
    this.#collect()
    return this.#refusals.read(this.#nowMs(), refusalsMax)
  }

  /** Since the start, for metrics. */
  readKeyTotals(): KeyTotal[] {
    this.#collect()
    return this.#totals.read()
  }

  /** Calls `take` with all usage of the hours `from` to `to` (exclusive), of one key or all, a part at a time. */
  async read(
    from: number,
    to: number,
    keyId: string | undefined,
    take: (cells: readonly KeyUsage[]) => void,
  ): Promise<void> {
    await this.flush()
    const reading = this.#reading.then(async () => {
      for (const cells of this.#store.read(from, to, keyId)) {
        take(cells)
        await nextTurn()
      }
    })
    this.#reading = reading.catch(() => undefined)
    await reading
  }

  /** Stores pending usage; keeps it for the next time if that fails. Never rejects. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      this.#collect()
      const pending = this.#pending
      if (pending.size === 0) return
      this.#pending = new Map()
      try {
        await this.#store.add([...pending.values()])
      } catch (error) {
        for (const [name, cell] of pending) {
          this.#pending.set(name, { ...cell, ...sum(this.#pending.get(name), cell) })
        }
        this.#onFailure(error as Error)
      }
    })
    return this.#flushing
  }

  /** Stores pending usage. Call it after the last report of an edge. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
    await this.#reading
  }

  #keepFailed(call: NotedCall): void {
    const name = `${call.keyId} ${call.network} ${call.method} ${call.error}`
    this.#failed.delete(name)
    this.#failed.set(name, call)
    const [oldest] = this.#failed.keys()
    if (this.#failed.size > slowCallsMax && oldest !== undefined) this.#failed.delete(oldest)
  }

  #tick(): void {
    this.#collect()
    if (++this.#ticks % reportsPerFlush !== 0) return
    void this.flush()
    const day = Math.floor(this.#nowMs() / (24 * hourMs))
    if (day === this.#packedDay) return
    this.#packedDay = day
    this.#reading = this.#reading
      .then(() => this.#store.pack(this.#nowMs()))
      .catch((error: Error) => {
        this.#packedDay = -1
        this.#onFailure(error)
      })
  }

  #collect(): void {
    const report = this.#counter.take()
    if (report !== undefined) this.take(report)
  }

  #partAt(nowMs: number): Map<string, KeyTotals> {
    const last = this.#parts.at(-1)
    if (last !== undefined && nowMs - last.sinceMs < partMs) return last.totals
    const totals = new Map<string, KeyTotals>()
    this.#parts = [...this.#recentParts(nowMs), { sinceMs: nowMs, totals }].slice(-partsMax)
    return totals
  }

  #recentParts(nowMs: number) {
    return this.#parts.filter(({ sinceMs }) => nowMs - sinceMs < partsMax * partMs)
  }
}

function sum(a: UsedAmounts | undefined, b: UsedAmounts): UsedAmounts {
  return {
    calls: (a?.calls ?? 0) + b.calls,
    errors: (a?.errors ?? 0) + b.errors,
    units: (a?.units ?? 0) + b.units,
    bytes: (a?.bytes ?? 0) + b.bytes,
  }
}
