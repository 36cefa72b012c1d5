/**
 * Counting the calls to one network: by method, time, size and error code (`metrics/edgeCounts.ts`), and by key, for
 * whom it spends (`access/usageCounter.ts`).
 */
import type { EdgeCounts } from '../../metrics/edgeCounts.js'
import { JsonStream } from '../answers/jsonStream.js'
import { Failure, type Outcome, type Streamed } from '../answers/outcome.js'
import type { RequestContext } from '../contexts/requestContext.js'
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
  repeated(slot: number, bytes: number, context: RequestContext, startedMs: number | undefined): void {
    this.#repeated(slot, bytes, context.takeSpent(), context, startedMs)
  }

  /** Counts a call that failed before it was begun; '' where its method is not known. */
  failed(method: string, failure: Failure, context: RequestContext): void {
    this.failedAt(this.#counts.slotOf(method), failure, context)
  }

  failedAt(slot: number, { error }: Failure, context: RequestContext): void {
    this.#counts.ended(slot, false, 0, undefined, error.code)
    this.#usage?.count(context.keyId, slot, 1, true, context.takeSpent(), 0)
  }

  /**
   * Runs a call and counts it when its outcome is there; of a stream that is its first part, and its bytes are only
   * counted for its key, at its end. `isJob`: whether the pool does its work.
   */
  run(
    call: Member,
    isJob: boolean,
    context: RequestContext,
    run: () => Outcome | Promise<Streamed>,
  ): Outcome | Promise<Streamed> {
    const known = call.kind === 'known' ? call.known : undefined
    const slot = known?.slot ?? this.#counts.slotOf(call.kind === 'call' ? call.method : '')
    const startedMs = known === undefined ? this.#counts.begin(isJob) : 0
    // What was spent before was for reading the request. Other calls of it may begin before this one ends.
    let units = context.takeSpent()
    const count = (outcome: Streamed): void => {
      units += context.takeSpent()
      if (known === undefined || outcome instanceof Failure) {
        this.#ended({ slot, isJob, startedMs, units }, context, outcome)
      } else this.#repeated(slot, known.json.length, units, context, undefined)
    }
    const outcome = run()
    if (outcome instanceof Promise) {
      units += context.takeSpent()
      void outcome.then(count)
    } else count(outcome)
    return outcome
  }

  #repeated(
    slot: number,
    bytes: number,
    units: number,
    context: RequestContext,
    startedMs: number | undefined,
  ): void {
    this.#counts.repeated(slot, bytes, startedMs)
    this.#usage?.count(context.keyId, slot, 1, false, units, bytes)
  }

  #ended({ slot, isJob, startedMs, units }: Begun, context: RequestContext, outcome: Streamed): void {
    const isError = outcome instanceof Failure
    const bytes = isError || outcome instanceof JsonStream ? undefined : outcome.length
    const code = isError ? outcome.error.code : undefined
    const ms = this.#counts.ended(slot, isJob, startedMs, bytes, code)
    const usage = this.#usage
    if (usage === undefined) return
    usage.count(context.keyId, slot, 1, isError, units, bytes ?? 0)
    if (ms >= slowMs) usage.note(context.keyId, slot, isError, ms)
    if (outcome instanceof JsonStream) {
      context.onFinished(() => usage.count(context.keyId, slot, 0, false, context.takeSpent(), outcome.bytes))
    }
  }
}
