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
import type { Method, RpcNetwork } from '../method.js'
import type { Member } from './batch.js'
import { blocksOfCall } from './blocksOfCall.js'
import type { RpcRequest } from './rpcRequest.js'

/** The parts of a request that its count needs. */
type CountedRequest = Pick<RpcRequest<RpcNetwork>, 'context' | 'usedAt'>

/** Counts the calls to one network by key. `slot` is that of {@link EdgeCounts.slotOf}. */
export interface UsageCounts {
  /** Counts one call. `calls` is 0 for units and bytes that a counted call used later. */
  count(keyId: string, slot: number, calls: 0 | 1, isError: boolean, units: number, bytes: number): void
  noteSlow(keyId: string, slot: number, call: EndedCall): void
  /** `call` makes the texts, which takes time. */
  noteFailed(keyId: string, slot: number, error: string, call: () => EndedCall): void
  /** Counts a call that was refused because of its key. */
  refused(keyId: string, reason: string, why: string): void
}

/** A call that took long, or failed, as operators see it. */
export interface EndedCall {
  /** Code and message; undefined for a result. */
  readonly error: string | undefined
  /** 0 if it was not timed. */
  readonly ms: number
  /** See {@link blocksOfCall}. */
  readonly block: string | undefined
  /** JSON, or its beginning. */
  readonly params: string
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
  readonly #methods: ReadonlyMap<string, Pick<Method<never>, 'params'>>

  constructor(
    counts: EdgeCounts,
    network: string,
    usage: UsageCounts | undefined,
    methods: ReadonlyMap<string, Pick<Method<never>, 'params'>>,
  ) {
    this.#counts = counts
    this.#methods = methods
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
  end(begun: Begun, request: CountedRequest, outcome: Streamed): void {
    const { context } = request
    begun.units += context.takeSpent()
    const { known, slot, units } = begun
    if (known === undefined || outcome instanceof Failure) this.#ended(begun, request, outcome)
    else this.#repeated(slot, known.json.length, units, context, undefined)
  }

  endLater(begun: Begun, request: CountedRequest, outcome: Promise<Streamed>): void {
    begun.units += request.context.takeSpent()
    void outcome.then((settled) => this.end(begun, request, settled))
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

  /** Counts a failure if it is a refusal because of the key, and returns whether it is one. */
  #refusedOf({ fault, error }: Failure, { keyId }: RequestContext): boolean {
    const reason = refusalOfKey(fault)
    if (reason === undefined) return false
    this.#usage?.refused(keyId, reason, error.message)
    return true
  }

  #ended({ call, slot, isJob, startedMs, units }: Begun, request: CountedRequest, outcome: Streamed): void {
    const { context } = request
    const isError = outcome instanceof Failure
    const bytes = isError || outcome instanceof JsonStream ? undefined : outcome.length
    const code = isError ? outcome.error.code : undefined
    const ms = this.#counts.ended(slot, isJob, startedMs, bytes, code)
    const usage = this.#usage
    if (usage === undefined) return
    usage.count(context.keyId, slot, 1, isError, units, bytes ?? 0)
    const error = isError ? `${outcome.error.code}: ${outcome.error.message}` : undefined
    const note = () => ({ error, ms, block: this.#blocksOf(call, request), params: paramsOf(call) })
    if (ms >= slowMs) usage.noteSlow(context.keyId, slot, note())
    if (isError && !this.#refusedOf(outcome, context))
      usage.noteFailed(context.keyId, slot, error as string, note)
    if (outcome instanceof JsonStream) {
      context.onFinished(() => usage.count(context.keyId, slot, 0, false, context.takeSpent(), outcome.bytes))
    }
  }

  #blocksOf(call: Member, request: CountedRequest): string | undefined {
    const method = call.kind === 'call' ? this.#methods.get(call.method) : undefined
    if (call.kind !== 'call' || method === undefined) return undefined
    return blocksOfCall(method.params, call, request.usedAt(call.at).head.number)
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
