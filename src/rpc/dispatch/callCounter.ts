/**
 * Counting the calls to one network: by method, time, size and error code (`metrics/edgeCounts.ts`), and by key, for
 * whom it spends (`access/usageCounter.ts`).
 */
import type { EdgeCounts } from '../../metrics/edgeCounts.js'
import { JsonStream } from '../answers/jsonStream.js'
import { Failure, type Outcome, type Streamed } from '../answers/outcome.js'
import type { Caller } from '../callers/caller.js'
import type { Member } from './batch.js'

/** Counts by key what is asked of one network. `slot` is that of {@link EdgeCounts.slotOf}. */
export interface UsageCounts {
  /** Counts one call; with `calls` 0 only what a call that was counted before used later. */
  count(keyId: string, slot: number, calls: 0 | 1, isError: boolean, units: number, bytes: number): void
  note(keyId: string, slot: number, isError: boolean, ms: number): void
}

/** Time above which a call is noted as slow: one that its user notices. */
export const slowMs = 100

interface Begun {
  readonly slot: number
  readonly isJob: boolean
  /** See {@link EdgeCounts.begin}. */
  readonly startedMs: number
  readonly units: number
}

export class CallCounter {
  readonly #counts: EdgeCounts
  readonly #usage: UsageCounts | undefined

  constructor(counts: EdgeCounts, usage: UsageCounts | undefined) {
    this.#counts = counts
    this.#usage = usage
  }

  slotOf(method: string): number {
    return this.#counts.slotOf(method)
  }

  beginStored(): number {
    return this.#counts.beginStored()
  }

  /** Counts a call that was answered by a stored answer of so many bytes; `startedMs` is of {@link beginStored}. */
  repeated(slot: number, bytes: number, caller: Caller, startedMs: number | undefined): void {
    this.#repeated(slot, bytes, caller.takeSpent(), caller, startedMs)
  }

  /** Counts a call that failed before it was begun; '' where its method is not known. */
  failed(method: string, failure: Failure, caller: Caller): void {
    this.failedAt(this.#counts.slotOf(method), failure, caller)
  }

  failedAt(slot: number, { error }: Failure, caller: Caller): void {
    this.#counts.ended(slot, false, 0, undefined, error.code)
    this.#usage?.count(caller.keyId, slot, 1, true, caller.takeSpent(), 0)
  }

  /**
   * Runs a call and counts it when its outcome is there; of a stream that is its first part, and its bytes are only
   * counted for its key, at its end. `isJob`: whether the pool does its work.
   */
  run(
    call: Member,
    isJob: boolean,
    caller: Caller,
    run: () => Outcome | Promise<Streamed>,
  ): Outcome | Promise<Streamed> {
    const known = call.kind === 'known' ? call.known : undefined
    const slot = known?.slot ?? this.#counts.slotOf(call.kind === 'call' ? call.method : '')
    const startedMs = known === undefined ? this.#counts.begin(isJob) : 0
    // What was spent before was for reading the request. Other calls of it may begin before this one ends.
    let units = caller.takeSpent()
    const count = (outcome: Streamed): void => {
      units += caller.takeSpent()
      if (known === undefined || outcome instanceof Failure) {
        this.#ended({ slot, isJob, startedMs, units }, caller, outcome)
      } else this.#repeated(slot, known.json.length, units, caller, undefined)
    }
    const outcome = run()
    if (outcome instanceof Promise) {
      units += caller.takeSpent()
      void outcome.then(count)
    } else count(outcome)
    return outcome
  }

  #repeated(slot: number, bytes: number, units: number, caller: Caller, startedMs: number | undefined): void {
    this.#counts.repeated(slot, bytes, startedMs)
    this.#usage?.count(caller.keyId, slot, 1, false, units, bytes)
  }

  #ended({ slot, isJob, startedMs, units }: Begun, caller: Caller, outcome: Streamed): void {
    const isError = outcome instanceof Failure
    const bytes = isError || outcome instanceof JsonStream ? undefined : outcome.length
    const code = isError ? outcome.error.code : undefined
    const ms = this.#counts.ended(slot, isJob, startedMs, bytes, code)
    const usage = this.#usage
    if (usage === undefined) return
    usage.count(caller.keyId, slot, 1, isError, units, bytes ?? 0)
    if (ms >= slowMs) usage.note(caller.keyId, slot, isError, ms)
    if (outcome instanceof JsonStream) {
      caller.onGone(() => usage.count(caller.keyId, slot, 0, false, caller.takeSpent(), outcome.bytes))
    }
  }
}
