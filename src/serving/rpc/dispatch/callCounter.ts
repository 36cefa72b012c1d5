/**
 * Counts the calls to one network: by method, time, size and error code (`metrics/edgeCounts.ts`), and by key, with the
 * units spent (`access/usageCounter.ts`).
 */
import { bytesToHex, toQuantity } from '../../../primitives/bytes.js'
import type { Fault } from '../../../primitives/faults.js'
import type { EdgeCounts } from '../../metrics/edgeCounts.js'
import type { CachedAnswer } from '../answers/answerMemo.js'
import { JsonStream } from '../answers/jsonStream.js'
import { Failure, type Streamed } from '../answers/outcome.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { Member } from './batch.js'

/** Counts the calls to one network by key. `slot` is that of {@link EdgeCounts.slotOf}. */
export interface UsageCounts {
  /** Counts one call. `calls` is 0 for units and bytes that a counted call used later. */
  count(keyId: string, slot: number, calls: 0 | 1, isError: boolean, units: number, bytes: number): void
  noteSlow(keyId: string, slot: number, error: string | undefined, ms: number, params: string): void
  noteFailed(keyId: string, slot: number, error: string, ms: number, params: () => string): void
  /** Counts a call that was refused because of its key. */
  refused(keyId: string, reason: string, why: string): void
}

/** A call that takes longer is noted as slow: its user notices the delay. */
export const slowMs = 100

/** Characters kept of the parameters of a slow call; fifty such calls are kept. */
const paramsMax = 1_000

/** A call that has started and is counted at its end. */
export interface Begun {
  readonly call: Member
  /** The stored answer, if the call repeats one. */
  readonly known: CachedAnswer | undefined
  readonly slot: number
  readonly isJob: boolean
  /** See {@link EdgeCounts.begin}. */
  readonly startedMs: number
  /** Units spent until now. */
  units: number
}

export class CallCounter {
  readonly #counts: EdgeCounts
  readonly #usage: UsageCounts | undefined
  /** See {@link EdgeCounts.slotsFrom}. */
  readonly #slotsFrom: number

  constructor(counts: EdgeCounts, network: string, usage: UsageCounts | undefined) {
    this.#counts = counts
    this.#slotsFrom = counts.slotsFrom(network)
    this.#usage = usage
  }

  slotOf(method: string): number {
    return this.#slotsFrom + this.#counts.slotOf(method)
  }

  beginStored(): number {
    return this.#counts.beginStored()
  }

  /** Counts a call that a stored answer of `bytes` bytes answered; `startedMs` is from {@link beginStored}. */
  repeated(slot: number, bytes: number, context: RequestContext, startedMs: number | undefined): void {
    this.#repeated(slot, bytes, context.takeSpent(), context, startedMs)
  }

  /** Counts a call that failed before it started; `method` is '' if it is unknown. */
  failed(method: string, failure: Failure, context: RequestContext): void {
    this.failedAt(this.slotOf(method), failure, context)
  }

  failedAt(slot: number, failure: Failure, context: RequestContext): void {
    const { error } = failure
    this.#counts.ended(slot, false, 0, undefined, error.code)
    this.#refusedOf(failure, context)
    this.#usage?.count(context.keyId, slot, 1, true, context.takeSpent(), 0)
  }

  /** Registers a call that starts; `isJob`: whether the pool does its work. */
  begin(call: Member, isJob: boolean, context: RequestContext): Begun {
    const known = call.kind === 'known' ? call.known : undefined
    return {
      call,
      known,
      slot: known?.slot ?? this.slotOf(call.kind === 'call' ? call.method : ''),
      isJob,
      startedMs: known === undefined ? this.#counts.begin(isJob) : 0,
      // Units spent before were for reading the request. Other calls of the request may start before this one ends.
      units: context.takeSpent(),
    }
  }

  /** Counts a call with its outcome. A stream's outcome is its first part; its bytes are counted at its end. */
  end(begun: Begun, context: RequestContext, outcome: Streamed): void {
    begun.units += context.takeSpent()
    const { known, slot, units } = begun
    if (known === undefined || outcome instanceof Failure) this.#ended(begun, context, outcome)
    else this.#repeated(slot, known.json.length, units, context, undefined)
  }

  endLater(begun: Begun, context: RequestContext, outcome: Promise<Streamed>): void {
    begun.units += context.takeSpent()
    void outcome.then((settled) => this.end(begun, context, settled))
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

  /** Counts a refusal because of the key; returns whether it was one. */
  #refusedOf({ fault, error }: Failure, { keyId }: RequestContext): boolean {
    const reason = refusalOfKey(fault)
    if (reason === undefined) return false
    this.#usage?.refused(keyId, reason, error.message)
    return true
  }

  #ended({ call, slot, isJob, startedMs, units }: Begun, context: RequestContext, outcome: Streamed): void {
    const isError = outcome instanceof Failure
    const bytes = isError || outcome instanceof JsonStream ? undefined : outcome.length
    const code = isError ? outcome.error.code : undefined
    const ms = this.#counts.ended(slot, isJob, startedMs, bytes, code)
    const usage = this.#usage
    if (usage === undefined) return
    usage.count(context.keyId, slot, 1, isError, units, bytes ?? 0)
    const error = isError ? `${outcome.error.code}: ${outcome.error.message}` : undefined
    if (ms >= slowMs) usage.noteSlow(context.keyId, slot, error, ms, paramsOf(call))
    if (isError && !this.#refusedOf(outcome, context))
      usage.noteFailed(context.keyId, slot, error as string, ms, () => paramsOf(call))
    if (outcome instanceof JsonStream) {
      context.onFinished(() => usage.count(context.keyId, slot, 0, false, context.takeSpent(), outcome.bytes))
    }
  }
}

/** The reason under which a refusal because of the key is counted; undefined for another fault. */
function refusalOfKey(fault: Fault | undefined): string | undefined {
  if (fault?.kind === 'LimitExceeded') return fault.isOfDay === true ? 'quota' : 'limit'
  return fault?.kind === 'MethodNotAllowed' ? 'method' : undefined
}

function paramsOf(call: Member): string {
  if (call.kind !== 'call') return ''
  // A usual call has only the arguments, which were read from its bytes.
  const text = JSON.stringify(call.params ?? call.args ?? [], (_name, value: unknown) => {
    if (value instanceof Uint8Array) return bytesToHex(value)
    return typeof value === 'bigint' ? toQuantity(value) : value
  })
  return text.length > paramsMax ? `${text.slice(0, paramsMax - 1)}…` : text
}
