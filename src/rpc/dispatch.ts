/**
 * From a request body to its answer: looks up methods, decodes their parameters, charges for them, runs them, stores
 * repeatable answers, applies deadlines and size limits, and turns exceptions into wire errors.
 *
 * If every method of a request answers synchronously, so does dispatch, without a promise. A request is answered from
 * one block: the head at its arrival, or the block that it is pinned to (requestBasis.ts).
 */
import type { Fault } from '../primitives/faults.js'
import { nearest } from '../primitives/nearest.js'
import type { Answer } from './answer.js'
import { AnswerMemo, type Remembered } from './answerMemo.js'
import { busy, isParseError, type Member, pinOf, runBatch, timedOut } from './batch.js'
import { BlockNames } from './blockName.js'
import { parseFault } from './bodyScan.js'
import { CallCounter } from './callCounter.js'
import { Caller } from './caller.js'
import { Deadline } from './deadline.js'
import type { DispatchLimits } from './dispatchLimits.js'
import type { DispatcherOptions, Endpoint } from './endpoint.js'
import { type Lookup, type Question, RequestReader, readUsualCall, usualBytesMax } from './envelope.js'
import { collected, JsonStream } from './jsonStream.js'
import {
  decodeParams,
  type Json,
  type Method,
  type NetworkViews,
  Passing,
  type RpcNetwork,
} from './method.js'
import { offload, refuseUnread, staysText } from './offload.js'
import { Failure, isNull, type Outcome, repeatedAnswer, type Streamed, singleAnswer } from './outcome.js'
import { countBytes, notAllowed, repeat, unpaid, unpaidReading } from './payment.js'
import { bodyBytesPerUnit, priceOf, unitsMin } from './price.js'
import { invalidRequest, refuseRequest } from './refuseRequest.js'
import { passOn } from './relay.js'
import { RequestBasis } from './requestBasis.js'
import { runSupplied, suppliesMax, supply } from './supplied.js'
import { countForTurn, doSteps, inOneTurn, isTurnOver, type Steps, Turns } from './turns.js'
import { type DefectLog, thrownToFault, thrownToWireError } from './wireErrors.js'

/** Makes endpoints that share one table of methods. Throws RangeError where two methods have the same name. */
export function createDispatcher<N extends RpcNetwork>(options: DispatcherOptions<N>) {
  const methods = new Map<string, Method<N>>()
  for (const method of options.methods) {
    if (methods.has(method.name)) throw new RangeError(`two methods are named ${method.name}`)
    methods.set(method.name, method)
  }
  return {
    endpoint: (views: NetworkViews<N>): Endpoint => new NetworkEndpoint(views, methods, options),
  }
}

type MethodCall = Extract<Member, { kind: 'call' }>

/** Most edits between an unknown method name and the suggested one; the search takes 20 µs. */
const misspellingsMax = 3

/** Price above which a call is long (0.2 ms) and waits if the turn is over. */
const shortUnitsMax = 20

/** Longest body, as most are, that is read even if the turn of the event loop is over: 50 µs. */
const shortBytesMax = 1_024

class NetworkEndpoint<N extends RpcNetwork> implements Endpoint {
  readonly #views: NetworkViews<N>
  readonly #methods: ReadonlyMap<string, Method<N>>
  readonly #limits: DispatchLimits
  readonly #log: DefectLog
  readonly #counter: CallCounter | undefined
  readonly #memo: AnswerMemo
  /** Undefined where no answers are stored. */
  readonly #lookup: Lookup<Remembered> | undefined
  readonly #blockNames: BlockNames<N>

  constructor(
    views: NetworkViews<N>,
    methods: ReadonlyMap<string, Method<N>>,
    { limits, log, counts, usageOf }: DispatcherOptions<N>,
  ) {
    this.#views = views
    this.#methods = methods
    this.#limits = limits
    this.#log = log
    this.#counter = counts && new CallCounter(counts, usageOf?.(views.current.name))
    this.#blockNames = new BlockNames(views)
    this.#memo = new AnswerMemo(limits.memoBytesMax, views.current.head.generation)
    this.#lookup =
      limits.memoBytesMax === 0
        ? undefined
        : (bytes, start, idStart, idEnd, end) =>
            this.#memo.read(bytes, start, idStart, idEnd, end, views.current.head.generation)
  }

  handle(
    body: Uint8Array,
    caller: Caller = new Caller(),
    at?: string,
    isGiven = false,
  ): Answer | Promise<Answer> {
    try {
      const unread = body.length < bodyBytesPerUnit ? undefined : unpaidReading(caller, body.length)
      if (unread !== undefined) return singleAnswer('null', undefined, unread, this.#blockNames.ofHead())
      const startedMs = this.#counter?.beginStored()
      // Stored answers are those of the head, not of a block that a request is pinned to.
      const lookup = at === undefined ? this.#lookup : undefined
      const mayWait = body.length > shortBytesMax && isTurnOver(this.#limits.turnMsMax)
      const usual = mayWait ? undefined : readUsualCall(body, lookup)
      if (usual?.kind === 'known') return this.#repeated(usual, this.#views.current, caller, startedMs)
      const basis = new RequestBasis(this.#views, at)
      const answer =
        usual === undefined
          ? doSteps(this.#answer(body, basis, caller, lookup, isGiven))
          : this.#usual(usual, body.length, basis, caller)
      return answer instanceof Promise ? answer.catch((thrown) => this.#refusal(thrown, caller)) : answer
    } catch (thrown) {
      return this.#refusal(thrown, caller)
    }
  }

  /** Answers a single call by its stored answer, of `network`. */
  #repeated(
    { known, id }: Extract<Member, { kind: 'known' }>,
    network: N,
    caller: Caller,
    startedMs: number | undefined,
  ): Answer {
    const block = this.#blockNames.of(network)
    const refusal = notAllowed(caller, known.method) ?? unpaid(caller, known.price)
    if (refusal !== undefined) {
      this.#counter?.failedAt(known.slot, refusal, caller)
      return singleAnswer(id, undefined, refusal, block)
    }
    countBytes(caller, known.json)
    this.#counter?.repeated(known.slot, known.json.length, caller, startedMs)
    return repeatedAnswer(id, known.json, known.tail, block)
  }

  /** Answers a single short call of the usual form. */
  #usual(call: Member, bytes: number, basis: RequestBasis<N>, caller: Caller): Answer | Promise<Answer> {
    const job = this.#jobOf(call)
    if (job === undefined) return this.#single(call, basis, caller, undefined)
    const refused = refuseUnread(job, this.#views.current, caller)
    if (refused === undefined) return this.#job(call, bytes, basis, caller)
    this.#counter?.failed(job.name, refused, caller)
    return this.#finish(call, basis, caller, refused)
  }

  #jobOf(call: Member): Method<N> | undefined {
    const method = call.kind === 'call' ? this.#methods.get(call.method) : undefined
    return method?.cost === 'job' ? method : undefined
  }

  /** Runs a call that may be passed to the pool, which takes long enough to count for the turn. */
  #job(call: Member, bytes: number, basis: RequestBasis<N>, caller: Caller): Answer | Promise<Answer> {
    const run = () => {
      const startedAtMs = performance.now()
      const answer = this.#single(call, basis, caller, undefined)
      countForTurn(startedAtMs, answer instanceof Promise)
      return answer
    }
    const { turnMsMax } = this.#limits
    return isTurnOver(turnMsMax) ? inOneTurn(new Turns(turnMsMax, caller, bytes), run) : run()
  }

  refuse(body: Uint8Array, fault: Fault, caller: Caller = new Caller()): Answer {
    try {
      return refuseRequest(body, Failure.of(fault), caller, this.#limits, this.#blockNames.ofHead())
    } catch (thrown) {
      return this.#refusal(thrown, caller, true)
    }
  }

  /** Reads and answers a request of any form; yields where it must wait. */
  *#answer(
    body: Uint8Array,
    basis: RequestBasis<N>,
    caller: Caller,
    lookup: Lookup<Remembered> | undefined,
    isGiven: boolean,
  ): Steps<Answer | Promise<Answer>> {
    const turns = new Turns(this.#limits.turnMsMax, caller, body.length)
    try {
      const isText = (name: string) => staysText(this.#methods.get(name), this.#views.current)
      const reader = new RequestReader<Remembered>(body, this.#limits, { isGiven, staysText: isText })
      const keep = () => reader.keep()
      if (body.length > usualBytesMax ? turns.isOverOrAwaited : turns.isOver) yield* turns.pause(keep)
      turns.begin()
      while (!reader.pass()) if (turns.isOver) yield* turns.pause(keep)
      const calls: Member[] = []
      while (reader.left > 0) {
        // Stored answers are those of the head, which may have changed since the last turn.
        const isHead = basis.arrived === this.#views.current
        calls.push(reader.read(isHead ? lookup : undefined))
        if (turns.isOverAfter(reader.bytesRead)) yield* turns.pause(keep)
      }
      if (!reader.isBatch) {
        if (turns.isOver) yield* turns.pause()
        return this.#single(calls[0] as Member, basis, caller, turns)
      }
      const answer = yield* runBatch({
        calls,
        basis,
        caller,
        turns,
        limits: this.#limits,
        start: (call) => this.#whole(this.#counted(call, basis, caller, turns), caller),
        fail: (thrown) => this.#failure(thrown, 'request', caller.keyId),
      })
      return { ...this.#batchAnswer(answer, basis.used(undefined)), trust: basis.trust }
    } finally {
      turns.end()
    }
  }

  /** `turns` is given where the request has already begun its turns. */
  #single(
    call: Member,
    basis: RequestBasis<N>,
    caller: Caller,
    turns: Turns | undefined,
  ): Answer | Promise<Answer> {
    if (call.kind === 'known') return this.#repeated(call, basis.arrived, caller, undefined)
    const started = this.#counted(call, basis, caller, turns)
    const outcome = caller.takesStreams ? started : this.#whole(started, caller)
    if (!(outcome instanceof Promise)) return this.#finish(call, basis, caller, outcome)
    const deadline = new Deadline<Streamed>(this.#limits.requestMsMax, timedOut)
    return deadline.race(outcome).then((settled) => {
      deadline.clear()
      if (isParseError(settled)) throw parseFault()
      return this.#finish(call, basis, caller, settled)
    })
  }

  /** The answer to a single call with this outcome. Never throws. */
  #finish(call: Member, basis: RequestBasis<N>, caller: Caller, outcome: Streamed): Answer {
    const at = pinOf(call)
    const { trust } = basis
    // No block here is one that an upstream's answer was made from.
    const block = trust === 'none' ? undefined : this.#blockNames.of(basis.used(at))
    try {
      const answer = singleAnswer(call.id, basis.hashOf(at), outcome, block)
      return trust === undefined ? answer : { ...answer, trust }
    } catch (thrown) {
      // The answer may be longer than a string can be.
      return singleAnswer(call.id, undefined, this.#failure(thrown, 'answer', caller.keyId), block)
    }
  }

  /** For a caller that takes no streams: collects one, up to the bytes of a batch's answer. */
  #whole(started: Outcome | Promise<Streamed>, { keyId }: Caller): Outcome | Promise<Outcome> {
    return collected(started, this.#limits.batchBytesMax, (thrown) => this.#failure(thrown, 'stream', keyId))
  }

  /** As {@link #start}, and counts the call. */
  #counted(
    call: Member,
    basis: RequestBasis<N>,
    caller: Caller,
    turns: Turns | undefined,
  ): Outcome | Promise<Streamed> {
    const start = () => this.#start(call, basis, caller, turns)
    return this.#counter?.run(call, this.#jobOf(call) !== undefined, caller, start) ?? start()
  }

  /** Charges for a call and runs it. Never throws or rejects. */
  #start(
    call: Member,
    basis: RequestBasis<N>,
    caller: Caller,
    turns: Turns | undefined,
  ): Outcome | Promise<Streamed> {
    if (call.kind === 'known') return repeat(call.known, caller)
    if (call.kind === 'invalid') return unpaid(caller, unitsMin) ?? invalidRequest
    const method = this.#methods.get(call.method)
    if (method === undefined) return this.#pass(call, basis, caller) ?? this.#unknown(call, caller)
    const refused = notAllowed(caller, method.name) ?? refuseUnread(method, this.#views.current, caller)
    if (refused !== undefined) return refused
    // Where data may have to be fetched first, every call may wait.
    if (method.cost === 'inline' && this.#views.supply === undefined) {
      return this.#run(method, call, basis, caller, turns)
    }
    if (!caller.admit()) return busy
    const outcome = this.#run(method, call, basis, caller, turns)
    if (outcome instanceof Promise) void outcome.then(() => caller.release())
    else caller.release()
    return outcome
  }

  /** Passes a call of an unknown method on; undefined where the network does not. */
  #pass(call: MethodCall, basis: RequestBasis<N>, caller: Caller): Failure | Promise<Streamed> | undefined {
    const { relay } = this.#views
    if (relay?.passes(call.method) !== true) return undefined
    const answer = passOn(relay, call, basis.isPinned(call.at), caller)
    if (answer instanceof Failure) return answer
    basis.distrust('none')
    return this.#awaited(answer, call.method, caller)
  }

  #unknown({ method }: MethodCall, caller: Caller): Failure {
    const refusal = unpaid(caller, unitsMin)
    if (refusal !== undefined) return refusal
    const meant = nearest(method, this.#methods.keys(), misspellingsMax)
    return Failure.of({ kind: 'MethodNotFound', method, meant })
  }

  #run(
    method: Method<N>,
    call: MethodCall,
    basis: RequestBasis<N>,
    caller: Caller,
    turns: Turns | undefined,
    supplies = 0,
  ): Outcome | Promise<Streamed> {
    let isPaid = false
    try {
      const network = basis.find(call.at)
      if (network instanceof Failure) return unpaid(caller, unitsMin) ?? network
      if (call.text !== undefined) {
        const answered = offload(method, call.text, network, caller)
        return answered instanceof Failure ? answered : this.#awaited(answered, method.name, caller)
      }
      const args = decodeParams(method, call.params)
      const price = priceOf(method.price, args)
      const refusal = unpaid(caller, price)
      if (refusal !== undefined) return refusal
      isPaid = true
      const { turnMsMax } = this.#limits
      const isLong = turns === undefined && method.cost === 'inline' && price > shortUnitsMax
      const runOnce = basis.noting(() => method.run(network, args, caller, turnMsMax))
      const remember = (json: Json) => {
        if (basis.trust === undefined) this.#remember(method, call.question, json, price, network)
      }
      const run = isLong ? () => inOneTurn(new Turns(turnMsMax, caller, 0), runOnce) : runOnce
      const result = runSupplied(this.#views, caller, { method: method.name, params: call.params }, run)
      if (result instanceof Promise) {
        return this.#awaited(result, method.name, caller, remember)
      }
      // A stream only comes from a job.
      const json = result as Json
      countBytes(caller, json)
      remember(json)
      return json
    } catch (thrown) {
      const supplied = isPaid || supplies === suppliesMax ? undefined : supply(this.#views, thrown, caller)
      if (supplied !== undefined) {
        return supplied.then(
          () => this.#run(method, call, basis, caller, turns, supplies + 1),
          (refused) => this.#failure(refused, method.name, caller.keyId),
        )
      }
      const failure = this.#failure(thrown, method.name, caller.keyId)
      return isPaid ? failure : (unpaid(caller, unitsMin) ?? failure)
    }
  }

  #awaited(
    result: Promise<Json | JsonStream | Passing>,
    name: string,
    caller: Caller,
    remember?: (json: Json) => void,
  ): Promise<Streamed> {
    const settle = (result: Json | JsonStream | Passing) => {
      if (result instanceof JsonStream) return result
      const json = result instanceof Passing ? result.json : result
      if (json === result) remember?.(json)
      countBytes(caller, json)
      return json
    }
    return result.then(settle, (thrown) => this.#failure(thrown, name, caller.keyId))
  }

  #remember(method: Method<N>, question: Question | undefined, json: Json, price: number, network: N): void {
    if (method.memo === 'never' || question === undefined) return
    // A null is not stored: without a new head the result may change (a block that arrives, by its hash).
    if (isNull(json)) return
    // Earlier heads and pinned blocks are other views, whose results are not stored.
    if (network !== this.#views.current) return
    const slot = this.#counter?.slotOf(method.name) ?? 0
    this.#memo.write(question, json, { method: method.name, price, slot }, network.head.generation)
  }

  #failure(thrown: unknown, where: string, keyId?: string): Failure {
    return new Failure(thrownToWireError(thrown, where, this.#log, keyId), thrownToFault(thrown))
  }

  #batchAnswer(body: Answer['body'], network: N = this.#views.current): Answer {
    return { status: 200, body, retryAfterMs: undefined, block: this.#blockNames.of(network) }
  }

  /** The answer to a request that failed as a whole. Never throws. */
  #refusal(thrown: unknown, caller: Caller, isPaid = false): Answer {
    const failure = this.#failure(thrown, 'request', caller.keyId)
    const refusal = (isPaid ? undefined : unpaid(caller, unitsMin)) ?? failure
    this.#counter?.failed('', refusal, caller)
    return singleAnswer('null', undefined, refusal, this.#blockNames.ofHead())
  }
}
