/**
 * From a request body to its answer: looks methods up, decodes their parameters, charges for them, runs them, keeps
 * what may be repeated, holds deadlines and size limits, and turns everything thrown into a wire error.
 *
 * Where every method of a request answers at once, so does dispatch: no promise is made and nothing is awaited.
 * A request that takes longer is still answered from the one block that was the head when it arrived, or that it is
 * pinned to (requestBasis.ts).
 */
import type { Fault } from '../primitives/faults.js'
import { nearest } from '../primitives/nearest.js'
import type { Answer } from './answer.js'
import { AnswerMemo, type Remembered } from './answerMemo.js'
import { answerAll, busy, isParseError, type Member, pinOf, runBatch, timedOut } from './batch.js'
import { BlockNames } from './blockName.js'
import { parseFault } from './bodyScan.js'
import { Caller } from './caller.js'
import { Deadline } from './deadline.js'
import { type Lookup, type Question, RequestReader, readUsualCall, usualBytesMax } from './envelope.js'
import { handOver, staysText } from './handOver.js'
import { decodeParams, type Json, type Method, type NetworkViews, type RpcNetwork } from './method.js'
import { Failure, isNull, type Outcome, repeatedAnswer, singleAnswer } from './outcome.js'
import { countBytes, limitExceeded, repeat, unpaid } from './payment.js'
import { bodyBytesPerUnit, bodyUnits, priceOf, unitsMin } from './price.js'
import { RequestBasis } from './requestBasis.js'
import { runSupplied, suppliesMax, supply } from './supplied.js'
import { doSteps, inOneTurn, isTurnOver, type Steps, Turns } from './turns.js'
import { type DefectLog, thrownToFault, thrownToWireError } from './wireErrors.js'

export interface DispatchLimits {
  /** Calls of one batch. go-ethereum's default: 1,000. */
  readonly batchCallsMax: number
  /** Bytes of one call, however long the message in which it comes. */
  readonly callBytesMax: number
  /** Bytes of the answer to one batch. go-ethereum's default: 25,000,000. */
  readonly batchBytesMax: number
  /** How long one request may hold the thread before others come in between; see turns.ts. */
  readonly turnMsMax: number
  /** From the arrival of a request to the last answer of a job it waits for. */
  readonly requestMsMax: number
  /** Bytes of remembered results of one network. */
  readonly memoBytesMax: number
}

export interface DispatcherOptions<N extends RpcNetwork> {
  readonly methods: readonly Method<N>[]
  readonly limits: DispatchLimits
  readonly log: DefectLog
}

/** The methods over one network. */
export interface Endpoint {
  /**
   * Answers a request body. `body` is read before the call returns and not kept, unless it is given away: then its
   * memory is the endpoint's from now on and was nobody else's. Never throws and never rejects. Whoever sends the
   * answer calls `caller.leave()` then, or before when the client goes away: jobs that nobody waits for end.
   *
   * `at` is the block that the whole request is pinned to, as the client wrote it: `latest` or a hash. All tags in it
   * then stand for that block, and for calls with a member `at` of their own for the block that this names.
   */
  handle(body: Uint8Array, caller?: Caller, at?: string, isGiven?: boolean): Answer | Promise<Answer>
  /**
   * Answers each call of a request body with `fault` and runs none. Otherwise as {@link handle}. A long body is not
   * read where it cannot be paid or others wait for their turn: `fault` is the one answer to it, with no id.
   */
  refuse(body: Uint8Array, fault: Fault, caller?: Caller): Answer
}

/** Builds endpoints that share one table of methods. Throws RangeError when two methods have one name. */
export function createDispatcher<N extends RpcNetwork>(options: DispatcherOptions<N>) {
  const methods = new Map<string, Method<N>>()
  for (const method of options.methods) {
    if (methods.has(method.name)) throw new RangeError(`two methods are named ${method.name}`)
    methods.set(method.name, method)
  }
  return {
    endpoint: (views: NetworkViews<N>): Endpoint =>
      new NetworkEndpoint(views, methods, options.limits, options.log),
  }
}

type MethodCall = Extract<Member, { kind: 'call' }>

/** What is not longer is read although it cannot be paid, in 0.3 ms at most, so that its calls are refused by their ids. */
const unpaidBytesMax = 64 * 1024

/** Letters in which an unknown method may differ from the one that it is taken for; to find that takes 20 µs. */
const misspellingsMax = 3

/** A call that costs more units is long work, which waits where its turn of the event loop is over: 0.2 ms. */
const shortUnitsMax = 20

/** What is not longer is read in 50 µs, although the turn of the event loop is over: most calls are. */
const shortBytesMax = 1_024

/** A request that is refused is read for its ids alone; what a longer one costs is what refusing is to save. */
const refusedBytesMax = 2 ** 20

class NetworkEndpoint<N extends RpcNetwork> implements Endpoint {
  readonly #views: NetworkViews<N>
  readonly #methods: ReadonlyMap<string, Method<N>>
  readonly #limits: DispatchLimits
  readonly #log: DefectLog
  readonly #memo: AnswerMemo
  readonly #lookup: Lookup<Remembered>
  readonly #blockNames: BlockNames<N>

  constructor(
    views: NetworkViews<N>,
    methods: ReadonlyMap<string, Method<N>>,
    limits: DispatchLimits,
    log: DefectLog,
  ) {
    this.#views = views
    this.#methods = methods
    this.#limits = limits
    this.#log = log
    this.#blockNames = new BlockNames(views)
    this.#memo = new AnswerMemo(limits.memoBytesMax, views.current.head.generation)
    this.#lookup = (bytes, start, idStart, idEnd, end) =>
      this.#memo.read(bytes, start, idStart, idEnd, end, views.current.head.generation)
  }

  handle(
    body: Uint8Array,
    caller: Caller = new Caller(),
    at?: string,
    isGiven = false,
  ): Answer | Promise<Answer> {
    try {
      const unread = this.#payReading(body.length, caller)
      if (unread !== undefined) return unread
      const basis = new RequestBasis(this.#views, at)
      // What is remembered holds for the head and its tags, and not for a block that a request is pinned to.
      const lookup = at === undefined ? this.#lookup : knowsNothing
      const { turnMsMax } = this.#limits
      const mayWait = body.length > shortBytesMax && isTurnOver(turnMsMax)
      const usual = mayWait ? undefined : readUsualCall(body, lookup)
      if (usual !== undefined && !this.#isJob(usual)) return this.#single(usual, basis, caller, undefined)
      const steps =
        usual === undefined
          ? this.#answer(body, basis, caller, lookup, isGiven)
          : this.#job(usual, body.length, basis, caller)
      const answer = doSteps(steps)
      return answer instanceof Promise ? answer.catch((thrown) => this.#refusal(thrown, caller)) : answer
    } catch (thrown) {
      return this.#refusal(thrown, caller)
    }
  }

  #isJob(call: Member): boolean {
    return call.kind === 'call' && this.#methods.get(call.method)?.cost === 'job'
  }

  /** Begins a call whose work is done by the pool. To hand it over takes long enough to share the turn. */
  *#job(
    call: Member,
    bytes: number,
    basis: RequestBasis<N>,
    caller: Caller,
  ): Steps<Answer | Promise<Answer>> {
    const turns = new Turns(this.#limits.turnMsMax, caller, bytes)
    try {
      if (turns.isOver) yield* turns.pause()
      turns.begin()
      return this.#single(call, basis, caller, turns)
    } finally {
      turns.end()
    }
  }

  /** Charges for reading a request; the answer to one that is too long to be read for nothing. */
  #payReading(bytes: number, caller: Caller): Answer | undefined {
    if (bytes < bodyBytesPerUnit) return undefined
    const units = bodyUnits(bytes)
    const waitMs = caller.chargeReading(units)
    if (waitMs === 0 || bytes <= unpaidBytesMax) return undefined
    const refusal = limitExceeded(caller, `this request costs ${units}`, waitMs)
    return singleAnswer('null', undefined, refusal, this.#blockNames.ofHead())
  }

  refuse(body: Uint8Array, fault: Fault, caller: Caller = new Caller()): Answer {
    try {
      const refused = Failure.of(fault)
      const isPaid = caller.chargeReading(Math.max(bodyUnits(body.length), unitsMin)) === 0
      const turns = new Turns(this.#limits.turnMsMax, caller, 0)
      const isLong = body.length > usualBytesMax
      if (isLong && (!isPaid || body.length > refusedBytesMax || turns.isOverOrAwaited)) {
        return singleAnswer('null', undefined, refused, this.#blockNames.ofHead())
      }
      turns.begin()
      const reader = new RequestReader<Remembered>(body, this.#limits)
      while (!reader.pass());
      const calls: Member[] = []
      while (reader.left > 0) calls.push(reader.read(knowsNothing))
      const outcomeOf = ({ kind }: Member) => (kind === 'invalid' ? invalidRequest : refused)
      if (reader.isBatch) return this.#batchAnswer(answerAll(calls, this.#limits.batchBytesMax, outcomeOf))
      const call = calls[0] as Member
      return singleAnswer(call.id, undefined, outcomeOf(call), this.#blockNames.ofHead())
    } catch (thrown) {
      return this.#refusal(thrown)
    }
  }

  /** Reads a request of whatever form and answers it; yields where it has to wait. */
  *#answer(
    body: Uint8Array,
    basis: RequestBasis<N>,
    caller: Caller,
    lookup: Lookup<Remembered>,
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
        // What is remembered belongs to the head, which may have moved since the last turn.
        const isHead = basis.arrived === this.#views.current
        calls.push(reader.read(isHead ? lookup : knowsNothing))
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
        start: (call) => this.#start(call, basis, caller, turns),
        fail: (thrown) => this.#failure(thrown, 'request', caller.keyId),
      })
      return this.#batchAnswer(answer, basis.used(undefined))
    } finally {
      turns.end()
    }
  }

  /** `turns` are those of a request that has begun its own. */
  #single(
    call: Member,
    basis: RequestBasis<N>,
    caller: Caller,
    turns: Turns | undefined,
  ): Answer | Promise<Answer> {
    if (call.kind === 'known') {
      const { known, id } = call
      const refusal = unpaid(caller, known.price)
      if (refusal === undefined) countBytes(caller, known.json)
      const block = this.#blockNames.of(basis.arrived)
      return refusal === undefined
        ? repeatedAnswer(id, known.tail, block)
        : singleAnswer(id, undefined, refusal, block)
    }
    const outcome = this.#start(call, basis, caller, turns)
    if (!(outcome instanceof Promise)) return this.#finish(call, basis, caller, outcome)
    const deadline = new Deadline<Outcome>(this.#limits.requestMsMax, timedOut)
    return deadline.race(outcome).then((settled) => {
      deadline.clear()
      if (isParseError(settled)) throw parseFault()
      return this.#finish(call, basis, caller, settled)
    })
  }

  /** Never throws. */
  #finish(call: Member, basis: RequestBasis<N>, caller: Caller, outcome: Outcome): Answer {
    const at = pinOf(call)
    const block = this.#blockNames.of(basis.used(at))
    try {
      return singleAnswer(call.id, basis.hashOf(at), outcome, block)
    } catch (thrown) {
      // An answer may be longer than a text can be.
      return singleAnswer(call.id, undefined, this.#failure(thrown, 'answer', caller.keyId), block)
    }
  }

  /** Charges for a call and runs it. Never throws; the promise never rejects. */
  #start(
    call: Member,
    basis: RequestBasis<N>,
    caller: Caller,
    turns: Turns | undefined,
  ): Outcome | Promise<Outcome> {
    if (call.kind === 'known') return repeat(call.known, caller)
    if (call.kind === 'invalid') return unpaid(caller, unitsMin) ?? invalidRequest
    const method = this.#methods.get(call.method)
    if (method === undefined) {
      const refusal = unpaid(caller, unitsMin)
      if (refusal !== undefined) return refusal
      const meant = nearest(call.method, this.#methods.keys(), misspellingsMax)
      return Failure.of({ kind: 'MethodNotFound', method: call.method, meant })
    }
    // Where data may have to be got first, every call may wait.
    if (method.cost === 'inline' && this.#views.supply === undefined) {
      return this.#run(method, call, basis, caller, turns)
    }
    if (!caller.admit()) return busy
    const outcome = this.#run(method, call, basis, caller, turns)
    if (outcome instanceof Promise) void outcome.then(() => caller.release())
    else caller.release()
    return outcome
  }

  #run(
    method: Method<N>,
    call: MethodCall,
    basis: RequestBasis<N>,
    caller: Caller,
    turns: Turns | undefined,
    supplies = 0,
  ): Outcome | Promise<Outcome> {
    let isPaid = false
    try {
      const network = basis.find(call.at)
      if (network instanceof Failure) return unpaid(caller, unitsMin) ?? network
      if (call.text !== undefined) {
        const answered = handOver(method, call.text, network, caller)
        return answered instanceof Failure ? answered : this.#awaited(answered, method, caller)
      }
      const args = decodeParams(method, call.params)
      const price = priceOf(method.price, args)
      const refusal = unpaid(caller, price)
      if (refusal !== undefined) return refusal
      isPaid = true
      const { turnMsMax } = this.#limits
      const isLong = turns === undefined && method.cost === 'inline' && price > shortUnitsMax
      const runOnce = () => method.run(network, args, caller, turnMsMax)
      const run = isLong ? () => inOneTurn(new Turns(turnMsMax, caller, 0), runOnce) : runOnce
      const result = runSupplied(this.#views, caller, run)
      if (result instanceof Promise) {
        const remembered = result.then((json) => {
          this.#remember(method, call.question, json, price, network)
          return json
        })
        return this.#awaited(remembered, method, caller)
      }
      countBytes(caller, result)
      this.#remember(method, call.question, result, price, network)
      return result
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

  #awaited(result: Promise<Json>, { name }: Method<N>, caller: Caller): Promise<Outcome> {
    return result.then(
      (json) => {
        countBytes(caller, json)
        return json
      },
      (thrown) => this.#failure(thrown, name, caller.keyId),
    )
  }

  #remember(method: Method<N>, question: Question | undefined, json: Json, price: number, network: N): void {
    if (method.memo === 'never' || question === undefined) return
    // What does not exist now may exist in a moment without a new head (a block that arrives by its hash).
    if (isNull(json)) return
    // A former head and a pinned block are views of their own.
    if (network === this.#views.current) this.#memo.write(question, json, price, network.head.generation)
  }

  #failure(thrown: unknown, where: string, keyId?: string): Failure {
    return new Failure(thrownToWireError(thrown, where, this.#log, keyId), thrownToFault(thrown))
  }

  #batchAnswer(body: Answer['body'], network: N = this.#views.current): Answer {
    return { status: 200, body, retryAfterMs: undefined, block: this.#blockNames.of(network) }
  }

  /** The answer to a request that came to nothing. Never throws. */
  #refusal(thrown: unknown, caller?: Caller): Answer {
    const failure = this.#failure(thrown, 'request', caller?.keyId)
    const refusal = caller && unpaid(caller, unitsMin)
    return singleAnswer('null', undefined, refusal ?? failure, this.#blockNames.ofHead())
  }
}

const invalidRequest = Failure.of({ kind: 'InvalidRequest' })

const knowsNothing = (): Remembered | undefined => undefined
