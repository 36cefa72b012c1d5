/**
 * Runs one call: finds its method, decodes and charges for it, runs it on this thread or in the pool, and stores a
 * repeatable answer. Owns the failures of a call. Does not own its request, nor its place in a batch (dispatch.ts).
 */
import { nearest } from '../../../primitives/nearest.js'
import type { AnswerMemo, CachedAnswer } from '../answers/answerMemo.js'
import { JsonStream } from '../answers/jsonStream.js'
import { Failure, isNull, type Outcome, type Streamed } from '../answers/outcome.js'
import { type DefectLog, thrownToFault, thrownToWireError } from '../answers/wireErrors.js'
import { priceOf, unitsMin } from '../contexts/price.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { countLongAnswer, inOneSlice, isSliceOver, RequestSlices } from '../contexts/requestSlices.js'
import {
  decodeParams,
  type Json,
  type Method,
  type ReportedAnswers,
  type RpcNetwork,
  readOnce,
  UncacheableResult,
  type WhenStored,
} from '../method.js'
import { type Member, noRoom } from './batch.js'
import type { CallCounter } from './callCounter.js'
import { invalidRequest } from './refuseRequest.js'
import { atHead, passOn } from './relay.js'
import { fetchesMax, type RpcRequest } from './rpcRequest.js'

type MethodCall = Extract<Member, { kind: 'call' }>

/** A call that is paid for and runs. */
interface Running<N extends RpcNetwork> {
  readonly method: Method<N>
  readonly call: MethodCall
  readonly request: RpcRequest<N>
  readonly network: N
  readonly price: number
}

/** Maximum edits between an unknown method name and the suggested one. */
const misspellingsMax = 3

/** A call with a higher price is long (0.2 ms) and waits if the turn is over. */
const shortUnitsMax = 20

/**
 * The failure of every call of this method while the caller's queue in the pool is full; undefined if calls may run.
 */
export function refuseUnread(
  { jobClass }: Method<never>,
  network: RpcNetwork,
  context: RequestContext,
): Failure | undefined {
  const fault = jobClass && network.refusal?.(jobClass, context)
  return fault && Failure.of(fault).chargedTo(context)
}

/** Charges the price of the first call for a stored answer. */
function repeat({ json, price, method }: CachedAnswer, context: RequestContext): Outcome {
  const refused = context.pay(price, method)
  if (refused !== undefined) return Failure.of(refused)
  context.answered(json.length)
  return json
}

export class CallRunner<N extends RpcNetwork> {
  readonly #methods: ReadonlyMap<string, Method<N>>
  readonly #turnMsMax: number
  readonly #log: DefectLog
  readonly #counter: CallCounter | undefined
  readonly #memo: AnswerMemo
  /** The method found last: it is looked up several times for each call. */
  #last: Method<N> | undefined

  constructor(
    methods: ReadonlyMap<string, Method<N>>,
    turnMsMax: number,
    log: DefectLog,
    counter: CallCounter | undefined,
    memo: AnswerMemo,
  ) {
    this.#methods = methods
    this.#turnMsMax = turnMsMax
    this.#log = log
    this.#counter = counter
    this.#memo = memo
  }

  /** The method of a call, if the pool may run it. */
  jobOf(call: Member): Method<N> | undefined {
    const method = call.kind === 'call' ? this.#methodOf(call.method) : undefined
    return method?.cost === 'job' ? method : undefined
  }

  #methodOf(name: string): Method<N> | undefined {
    if (name !== this.#last?.name) this.#last = this.#methods.get(name)
    return this.#last
  }

  /** Charges for a call, runs it and counts it. Never throws or rejects. */
  run(call: Member, request: RpcRequest<N>): Outcome | Promise<Streamed> {
    const { context } = request
    const counter = this.#counter
    const begun = counter?.begin(call, this.jobOf(call) !== undefined, context)
    const outcome = this.#orReported(this.#start(call, request), call, request)
    if (counter === undefined || begun === undefined) return outcome
    if (outcome instanceof Promise) counter.endLater(begun, request, outcome)
    else counter.end(begun, request, outcome)
    return outcome
  }

  /** Charges the price of a refused call for a call that is not started, and counts it. */
  refuse(call: Member, why: Failure, context: RequestContext): Failure {
    const failure = why.chargedTo(context)
    if (call.kind === 'known') this.#counter?.failedAt(call.known.slot, failure, context)
    else this.#counter?.failed(call.kind === 'call' ? call.method : '', failure, context)
    return failure
  }

  #start(call: Member, request: RpcRequest<N>): Outcome | Promise<Streamed> {
    const { context, views } = request
    if (call.kind === 'known') return repeat(call.known, context)
    if (call.kind === 'invalid') return invalidRequest(call.why).chargedTo(context)
    const method = this.#methodOf(call.method)
    if (method === undefined || method.isRelayed) {
      const passed = this.#pass(call, request)
      if (passed !== undefined || method === undefined) return passed ?? this.#unknown(call, context)
    }
    const { reported } = views
    if (reported?.asks(method.name)) return this.#askUpstreams(reported, method, call, request)
    const notAllowed = context.notAllowed(method.name)
    if (notAllowed !== undefined) return Failure.of(notAllowed)
    const refused = refuseUnread(method, views.current, context)
    if (refused !== undefined) return refused
    // On a network that may have to fetch data, every call may wait.
    if (method.cost === 'inline' && views.fetchMissing === undefined) {
      return this.#run(method, call, request)
    }
    const crowded = noRoom(context)
    if (crowded !== undefined) return crowded
    const outcome = this.#run(method, call, request)
    if (outcome instanceof Promise) void outcome.then(() => context.release())
    else context.release()
    return outcome
  }

  /** If the outcome is that this node can neither prove nor execute the call, asks upstreams instead. */
  #orReported(
    outcome: Outcome | Promise<Streamed>,
    call: Member,
    request: RpcRequest<N>,
  ): Outcome | Promise<Streamed> {
    const { reported } = request.views
    if (reported === undefined || call.kind !== 'call') return outcome
    const method = this.#methods.get(call.method)
    if (method === undefined || method.effect || !reported.mayAsk(method.name)) return outcome
    const again = (settled: Streamed): Streamed | Promise<Streamed> =>
      settled instanceof Failure && settled.fault?.kind === 'NotProved'
        ? this.#askUpstreams(reported, method, call, request)
        : settled
    return outcome instanceof Promise ? outcome.then(again) : (again(outcome) as Outcome | Promise<Streamed>)
  }

  /** Asks upstreams instead of running the method. */
  #askUpstreams(
    reported: ReportedAnswers,
    method: Method<N>,
    call: MethodCall,
    request: RpcRequest<N>,
  ): Failure | Promise<Streamed> {
    const { number, generation } = request.arrived.head
    const { params: sent, block } = atHead(method, call.params, number)
    const asking = { ...call, params: sent }
    const ask = async (name: string, params: string) => {
      const { json, trust } = await reported.ask(generation, name, params, block)
      request.noteTrust(trust)
      return json
    }
    const answer = passOn({ passes: () => true, ask }, asking, request)
    return answer instanceof Failure ? answer : this.#awaited(answer, call.method, request.context)
  }

  /** Passes a call on to upstreams; returns undefined if the network does not pass on its method. */
  #pass(call: MethodCall, request: RpcRequest<N>): Failure | Promise<Streamed> | undefined {
    const { relay } = request.views
    if (relay?.passes(call.method) !== true) return undefined
    const answer = passOn(relay, call, request)
    if (answer instanceof Failure) return answer
    request.noteTrust('none')
    return this.#awaited(answer, call.method, request.context)
  }

  #unknown({ method }: MethodCall, context: RequestContext): Failure {
    const unpaid = context.pay(unitsMin)
    if (unpaid !== undefined) return Failure.of(unpaid)
    const meant = nearest(method, this.#methods.keys(), misspellingsMax)
    return Failure.of({ kind: 'MethodNotFound', method, meant })
  }

  #run(
    method: Method<N>,
    call: MethodCall,
    request: RpcRequest<N>,
    fetches = 0,
  ): Outcome | Promise<Streamed> {
    const { context } = request
    let isPaid = false
    try {
      const network = request.viewAt(call.at)
      if (network instanceof Failure) return network.chargedTo(context)
      const args = call.args ?? decodeParams(method, call.params)
      const price = priceOf(method.price, args)
      const unpaid = context.pay(price)
      if (unpaid !== undefined) return Failure.of(unpaid)
      isPaid = true
      const isLong = request.turns === undefined && this.#isLong(method, price)
      const { fetchMissing, readEvidence } = request.views
      // Most calls: the code below creates no closure per call, which would be garbage.
      const isShort = !isLong && fetchMissing === undefined && readEvidence === undefined
      const running = { method, call, request, network, price }
      const result = isShort
        ? method.run(network, args, context, this.#turnMsMax, readOnce)
        : this.#runFetching(running, args, isLong)
      if (result instanceof Promise) return this.#keptLater(running, result)
      // A stream only comes from a job.
      const json = result as Json
      if (method.mayBeLong) countLongAnswer(json)
      context.answered(json.length)
      this.#remember(running, json)
      return json
    } catch (thrown) {
      const isFinal = isPaid || fetches === fetchesMax
      const again = isFinal ? undefined : this.#afterFetch(thrown, method, call, request, fetches)
      if (again !== undefined) return again
      const failure = this.#failed(thrown, method.name, context)
      return isPaid ? failure : failure.chargedTo(context)
    }
  }

  #isLong({ cost, mayBeLong }: Method<N>, price: number): boolean {
    return cost === 'inline' && (price > shortUnitsMax || (mayBeLong && isSliceOver(this.#turnMsMax)))
  }

  /** Fetches the missing data of a call's arguments, and runs the call again. Undefined if no data was missing. */
  #afterFetch(
    thrown: unknown,
    method: Method<N>,
    call: MethodCall,
    request: RpcRequest<N>,
    fetches: number,
  ): Promise<Streamed> | undefined {
    return request.fetch(thrown)?.then(
      () => this.#run(method, call, request, fetches + 1),
      (refused) => this.failure(refused, method.name, request.context.keyId),
    )
  }

  /**
   * Runs a long call in a slice of its own, and runs it again each time missing data was fetched. For a method with an
   * effect, only the reading parts run again. Notes whether the call read data that is not proved.
   */
  #runFetching({ method, call, request, network }: Running<N>, args: readonly unknown[], isLong: boolean) {
    const { context } = request
    const wanting = { method: method.name, params: call.params }
    const whenStored: WhenStored = (read) => request.withFetches(wanting, read)
    const runOnce = request.noting(() => method.run(network, args, context, this.#turnMsMax, whenStored))
    const run = isLong ? () => inOneSlice(new RequestSlices(this.#turnMsMax, context, 0), runOnce) : runOnce
    return method.effect ? run() : whenStored(run)
  }

  #keptLater(running: Running<N>, result: Promise<Json | JsonStream | UncacheableResult>): Promise<Streamed> {
    return this.#awaited(result, running.method.name, running.request.context, (json) =>
      this.#remember(running, json),
    )
  }

  #awaited(
    result: Promise<Json | JsonStream | UncacheableResult>,
    name: string,
    context: RequestContext,
    keepAnswer?: (json: Json) => void,
  ): Promise<Streamed> {
    const settle = (result: Json | JsonStream | UncacheableResult) => {
      if (result instanceof JsonStream) return result
      const json = result instanceof UncacheableResult ? result.json : result
      if (json === result) keepAnswer?.(json)
      context.answered(json.length)
      return json
    }
    return result.then(settle, (thrown) => this.#failed(thrown, name, context))
  }

  #remember({ method, call: { asked }, request, network, price }: Running<N>, json: Json): void {
    if (method.memo === 'never' || asked === undefined || request.trust !== undefined) return
    // A null is not stored: the result may change without a new head, for example when a block arrives by its hash.
    if (isNull(json)) return
    // Results from earlier heads and pinned blocks are not stored.
    if (network !== request.views.current) return
    const slot = this.#counter?.slotOf(method.name) ?? 0
    this.#memo.write(asked, json, { method: method.name, price, slot })
  }

  /** The failure of a call that ran. The call pays for the bytes of its error data, as for those of a result. */
  #failed(thrown: unknown, name: string, context: RequestContext): Failure {
    const failure = this.failure(thrown, name, context.keyId)
    const { data } = failure.error
    if (data instanceof Uint8Array) context.answered(data.length)
    return failure
  }

  failure(thrown: unknown, where: string, keyId?: string): Failure {
    return new Failure(thrownToWireError(thrown, where, this.#log, keyId), thrownToFault(thrown))
  }
}
