/**
 * From a request body to its answer: reads the calls, repeats stored answers, passes other calls to callRunner.ts, and
 * applies deadlines and size limits.
 *
 * If every method of a request answers synchronously, so does dispatch, without a promise. A request is answered from
 * one block: the head at its arrival, or the block that it is pinned to (rpcRequest.ts).
 */

import { bytesToHex } from '../../../primitives/bytes.js'
import { type Fault, FaultError } from '../../../primitives/faults.js'
import type { Answer } from '../answers/answer.js'
import { AnswerMemo, type AskedCall, type CachedAnswer } from '../answers/answerMemo.js'
import { collected } from '../answers/jsonStream.js'
import { Failure, type Outcome, repeatedAnswer, type Streamed, singleAnswer } from '../answers/outcome.js'
import { Deadline } from '../contexts/deadline.js'
import { bodyBytesPerUnit } from '../contexts/price.js'
import { RequestContext } from '../contexts/requestContext.js'
import { countForSlice, inOneSlice, isSliceOver, RequestSlices } from '../contexts/requestSlices.js'
import { type Method, MethodNames, type NetworkViews, type RpcNetwork } from '../method.js'
import { CallReader, readUsualCall, usualBytesMax } from '../reading/envelope.js'
import { type Member, pinOfCall, runBatch, timedOut } from './batch.js'
import { CallCounter } from './callCounter.js'
import { CallRunner, refuseUnread } from './callRunner.js'
import type { DispatcherOptions, DispatchLimits, StoringEndpoint } from './endpoint.js'
import { refuseRequest } from './refuseRequest.js'
import { RpcRequest } from './rpcRequest.js'

/** The text by which answers name their block. */
class BlockLabels<N extends RpcNetwork> {
  readonly #views: NetworkViews<N>
  /** The view and text of the head, made once per head. */
  #named: N | undefined
  #name: string | undefined

  constructor(views: NetworkViews<N>) {
    this.#views = views
  }

  /** `<number> <hash>` of the last block of a view; undefined on a network without blocks. */
  of(network: N): string | undefined {
    if (network === this.#named) return this.#name
    const { number, hash } = network.head
    const text = hash && `${number} ${bytesToHex(hash)}`
    if (network === this.#views.current) {
      this.#named = network
      this.#name = text
    }
    return text
  }

  /** The text for the head; undefined if the store cannot be read. */
  ofHead(): string | undefined {
    try {
      return this.of(this.#views.current)
    } catch {
      return undefined
    }
  }
}

/** Creates endpoints that share one table of methods. Throws RangeError if two methods have the same name. */
export function createDispatcher<N extends RpcNetwork>(options: DispatcherOptions<N>) {
  const methods = new Map<string, Method<N>>()
  for (const method of options.methods) {
    if (methods.has(method.name)) throw new RangeError(`two methods are named ${method.name}`)
    methods.set(method.name, method)
  }
  return {
    /** `name` is required for a network that may have no view yet. */
    endpoint: (views: NetworkViews<N>, name = views.current.name): StoringEndpoint =>
      new NetworkEndpoint(views, name, methods, options),
  }
}

/** A shorter body, of a call or two, is read even if the turn of the event loop is over. Most bodies are shorter. */
const shortBytesMax = 1_024

class NetworkEndpoint<N extends RpcNetwork> implements StoringEndpoint {
  readonly #views: NetworkViews<N>
  readonly #limits: DispatchLimits
  readonly #counter: CallCounter | undefined
  readonly #runner: CallRunner<N>
  /** Undefined if no answers are stored. */
  readonly #lookup: AnswerMemo | undefined
  readonly #blockNames: BlockLabels<N>
  readonly #methods: ReadonlyMap<string, Method<N>>
  #names: MethodNames | undefined

  constructor(
    views: NetworkViews<N>,
    name: string,
    methods: ReadonlyMap<string, Method<N>>,
    { limits, log, counts, usageOf }: DispatcherOptions<N>,
  ) {
    this.#views = views
    this.#limits = limits
    this.#counter = counts && new CallCounter(counts, name, usageOf?.(name), methods)
    this.#blockNames = new BlockLabels(views)
    const memo = new AnswerMemo(limits.memoBytesMax, () => views.current.head.generation)
    this.#runner = new CallRunner(methods, limits.turnMsMax, log, this.#counter, memo)
    this.#methods = methods
    this.#lookup = limits.memoBytesMax === 0 ? undefined : memo
  }

  handle(
    body: Uint8Array,
    context: RequestContext = new RequestContext(),
    at?: string,
    ownsBody = false,
  ): Answer | Promise<Answer> {
    try {
      const unread = body.length < bodyBytesPerUnit ? undefined : context.payReading(body.length)
      if (unread !== undefined) {
        return singleAnswer('null', undefined, Failure.of(unread), this.#blockNames.ofHead())
      }
      const startedMs = this.#counter?.beginStored()
      // Stored answers belong to the head, not to a block that a request is pinned to.
      const lookup = at === undefined ? this.#lookup : undefined
      const mayWait = body.length > shortBytesMax && isSliceOver(this.#limits.turnMsMax)
      const names = this.#names ?? this.#nameMethods()
      const usual = mayWait ? undefined : readUsualCall(body, lookup, names)
      if (usual?.kind === 'known') return this.#repeated(usual, this.#views.current, context, startedMs)
      const request = new RpcRequest(this.#views, context, at)
      const answer =
        usual === undefined
          ? this.#general(body, request, lookup, ownsBody)
          : this.#usual(usual, body.length, request)
      return answer instanceof Promise ? this.#refusedLater(answer, context) : answer
    } catch (thrown) {
      const isNotOpen = thrown instanceof FaultError && thrown.fault.kind === 'NotOpen'
      if (isNotOpen) return this.refuse(body, thrown.fault, context)
      return this.#refusal(thrown, context)
    }
  }

  forgetAnswers(): void {
    this.#lookup?.forget()
  }

  /**
   * The table of methods, created by the first request to an open network. Before that it is unknown whether the
   * network fetches missing data, for which it needs the parameters as text. Throws FaultError `NotOpen`.
   */
  #nameMethods(): MethodNames {
    void this.#views.current
    this.#names = new MethodNames(this.#methods.values(), this.#views.fetchMissing === undefined)
    return this.#names
  }

  #refusedLater(answer: Promise<Answer>, context: RequestContext): Promise<Answer> {
    return answer.catch((thrown) => this.#refusal(thrown, context))
  }

  /** Answers a single call with its stored answer; `network` is the view of that answer. */
  #repeated(
    { known, id }: Extract<Member, { kind: 'known' }>,
    network: N,
    context: RequestContext,
    startedMs: number | undefined,
  ): Answer {
    const block = this.#blockNames.of(network)
    const refused = context.pay(known.price, known.method)
    if (refused !== undefined) {
      const refusal = Failure.of(refused)
      this.#counter?.failedAt(known.slot, refusal, context)
      return singleAnswer(id, undefined, refusal, block)
    }
    context.answered(known.json.length)
    this.#counter?.repeated(known.slot, known.json.length, context, startedMs)
    return repeatedAnswer(id, known.json, known.tail, block)
  }

  /** Answers a single short call of the usual form. */
  #usual(call: Member, bytes: number, request: RpcRequest<N>): Answer | Promise<Answer> {
    const job = this.#runner.jobOf(call)
    if (job === undefined) return this.#single(call, request)
    const refused = refuseUnread(job, this.#views.current, request.context)
    if (refused === undefined) return this.#job(call, bytes, request)
    this.#counter?.failed(job.name, refused, request.context)
    return this.#finish(call, request, refused)
  }

  /** Runs a call that may go to the pool; it takes long enough to count for the turn. */
  #job(call: Member, bytes: number, request: RpcRequest<N>): Answer | Promise<Answer> {
    const run = () => {
      const startedAtMs = performance.now()
      const answer = this.#single(call, request)
      countForSlice(startedAtMs, answer instanceof Promise)
      return answer
    }
    const { turnMsMax } = this.#limits
    return isSliceOver(turnMsMax)
      ? inOneSlice(new RequestSlices(turnMsMax, request.context, bytes), run)
      : run()
  }

  refuse(body: Uint8Array, fault: Fault, context: RequestContext = new RequestContext()): Answer {
    try {
      return refuseRequest(body, Failure.of(fault), context, this.#limits, this.#blockNames.ofHead())
    } catch (thrown) {
      return this.#refusal(thrown, context, true)
    }
  }

  /** Reads and answers a request of any form: at once, or in later turns. */
  #general(
    body: Uint8Array,
    request: RpcRequest<N>,
    lookup: AnswerMemo | undefined,
    ownsBody: boolean,
  ): Answer | Promise<Answer> {
    const turns = new RequestSlices(this.#limits.turnMsMax, request.context, body.length)
    request.turns = turns
    const mustWait = body.length > usualBytesMax ? turns.isOverOrAwaited : turns.isOver
    let kept = body
    const work = () => this.#answer(kept, request, turns, lookup, ownsBody || mustWait)
    const answer = turns.run(work, mustWait)
    if (mustWait && !ownsBody) kept = new Uint8Array(body)
    return answer
  }

  /** Like {@link #general}, in a turn that has begun. */
  #answer(
    body: Uint8Array,
    request: RpcRequest<N>,
    turns: RequestSlices,
    lookup: AnswerMemo | undefined,
    ownsBody: boolean,
  ): Answer | Promise<Answer> {
    const reader = new CallReader<CachedAnswer, AskedCall>(body, this.#limits, this.#names)
    const calls: Member[] = []
    const read = turns.repeat(() => {
      // Stored answers belong to the head, which may have changed since the last turn.
      const known = request.arrived === this.#views.current ? lookup : undefined
      while (reader.left > 0) {
        calls.push(reader.read(known))
        if (turns.isOverAfter(reader.bytesRead) && reader.left > 0) return undefined
      }
      return calls
    })
    const run = () => this.#run(calls, reader.isBatch, request, turns)
    if (!(read instanceof Promise)) return run()
    if (!ownsBody) reader.keep()
    return read.then(() => turns.later(run))
  }

  /** Runs the calls of a request that was read. */
  #run(
    calls: readonly Member[],
    isBatch: boolean,
    request: RpcRequest<N>,
    turns: RequestSlices,
  ): Answer | Promise<Answer> {
    if (isBatch) return this.#batch(calls, request, turns)
    const run = () => this.#single(calls[0] as Member, request)
    return turns.isOver ? turns.later(run) : run()
  }

  #batch(calls: readonly Member[], request: RpcRequest<N>, turns: RequestSlices): Answer | Promise<Answer> {
    const { context } = request
    const body = runBatch({
      calls,
      request,
      turns,
      limits: this.#limits,
      start: (call) => this.#whole(this.#runner.run(call, request), context),
      refuse: (call, why) => this.#runner.refuse(call, why, context),
      fail: (thrown) => this.#runner.failure(thrown, 'request', context.keyId),
    })
    const answer = (json: Answer['body']) => this.#batchAnswer(json, request)
    return body instanceof Promise ? body.then(answer) : answer(body)
  }

  #single(call: Member, request: RpcRequest<N>): Answer | Promise<Answer> {
    const { context } = request
    if (call.kind === 'known') return this.#repeated(call, request.arrived, context, undefined)
    const started = this.#runner.run(call, request)
    const outcome = context.takesStreams ? started : this.#whole(started, context)
    if (!(outcome instanceof Promise)) return this.#finish(call, request, outcome)
    return this.#finishLater(call, request, outcome)
  }

  #finishLater(call: Member, request: RpcRequest<N>, outcome: Promise<Streamed>): Promise<Answer> {
    const deadline = new Deadline<Streamed>(this.#limits.requestMsMax, timedOut)
    return deadline.race(outcome).then((settled) => {
      deadline.clear()
      return this.#finish(call, request, settled)
    })
  }

  /** The answer to a single call with this outcome. Never throws. */
  #finish(call: Member, request: RpcRequest<N>, outcome: Streamed): Answer {
    const at = pinOfCall(call)
    const { trust } = request
    // An upstream's answer was made from no block of this node.
    const block = trust === 'none' ? undefined : this.#blockNames.of(request.usedAt(at))
    try {
      const answer = singleAnswer(call.id, request.hashAt(at), outcome, block)
      return trust === undefined ? answer : { ...answer, trust }
    } catch (thrown) {
      // The answer may exceed the maximum string length.
      return singleAnswer(
        call.id,
        undefined,
        this.#runner.failure(thrown, 'answer', request.context.keyId),
        block,
      )
    }
  }

  /** Collects a stream, up to the size limit of a batch's answer, for a caller that takes no streams. */
  #whole(started: Outcome | Promise<Streamed>, { keyId }: RequestContext): Outcome | Promise<Outcome> {
    return collected(started, this.#limits.batchBytesMax, (thrown) =>
      this.#runner.failure(thrown, 'stream', keyId),
    )
  }

  #batchAnswer(body: Answer['body'], request: RpcRequest<N>): Answer {
    const block = this.#blockNames.of(request.usedAt(undefined))
    return { status: 200, body, retryAfterMs: undefined, block, trust: request.trust }
  }

  /** The answer to a request that failed as a whole. Never throws. */
  #refusal(thrown: unknown, context: RequestContext, isPaid = false): Answer {
    const failure = this.#runner.failure(thrown, 'request', context.keyId)
    const refusal = isPaid ? failure : failure.chargedTo(context)
    this.#counter?.failed('', refusal, context)
    const { fault } = refusal
    if (fault?.kind !== 'BatchTooLarge') {
      return singleAnswer('null', undefined, refusal, this.#blockNames.ofHead())
    }
    // A list, as in go-ethereum: its client accepts nothing else as the answer to a batch.
    const answer = singleAnswer(fault.id ?? 'null', undefined, refusal, this.#blockNames.ofHead())
    return { ...answer, body: `[${answer.body}]` }
  }
}
