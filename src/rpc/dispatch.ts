/**
 * From a request body to its answer: looks methods up, decodes their parameters, charges for them, runs them, keeps
 * what may be repeated, holds deadlines and size limits, and turns everything thrown into a wire error.
 *
 * Where every method of a request answers at once, so does dispatch: no promise is made and nothing is awaited.
 * A request that takes longer is still answered from the one block that was the head when it arrived, or that it is
 * pinned to (requestBasis.ts).
 */
import { bytesToHex } from '../primitives/bytes.js'
import { type Fault, FaultError } from '../primitives/faults.js'
import type { Answer } from './answer.js'
import { AnswerMemo, type Remembered } from './answerMemo.js'
import { BatchAnswer } from './batchAnswer.js'
import { Caller } from './caller.js'
import { Deadline } from './deadline.js'
import { type Call, type Lookup, type Question, RequestReader, readUsualCall } from './envelope.js'
import { decodeParams, type Json, type Method, type NetworkViews, type RpcNetwork } from './method.js'
import { Failure, type Outcome, renderOutcome, repeatedAnswer, singleAnswer } from './outcome.js'
import { priceOf, unitsMin } from './price.js'
import { RequestBasis } from './requestBasis.js'
import { type DefectLog, renderErrorAnswer, thrownToWireError } from './wireErrors.js'

export interface DispatchLimits {
  /** Calls of one batch. go-ethereum's default: 1,000. */
  readonly batchCallsMax: number
  /** Bytes of one call, however long the message in which it comes. */
  readonly callBytesMax: number
  /** Bytes of the answer to one batch. go-ethereum's default: 25,000,000. */
  readonly batchBytesMax: number
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
   * Answers a request body. `body` is read before the call returns and not kept. Never throws and never rejects.
   * Whoever sends the answer calls `caller.leave()` then, or before when the client goes away: jobs that nobody
   * waits for end.
   *
   * `at` is the block that the whole request is pinned to, as the client wrote it: `latest` or a hash. All tags in it
   * then stand for that block, and for calls with a member `at` of their own for the block that this names.
   */
  handle(body: Uint8Array, caller?: Caller, at?: string): Answer | Promise<Answer>
  /**
   * Answers each call of a request body with `fault` and runs none. Otherwise as {@link handle}. A body of more than
   * a MiB is not read: `fault` is the one answer to it, with no id.
   */
  refuse(body: Uint8Array, fault: Fault): Answer
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

/** A member of a request; `known` where its answer is remembered. */
type Member = Call<Remembered>
type MethodCall = Extract<Member, { kind: 'call' }>

/** Calls of one batch that wait for a job at the same time: enough to keep the pool busy, too few to fill its queue. */
const batchJobsMax = 8

/** A request that is refused is read for its ids alone; what a longer one costs is what refusing is to save. */
const refusedBytesMax = 2 ** 20

class NetworkEndpoint<N extends RpcNetwork> implements Endpoint {
  readonly #views: NetworkViews<N>
  readonly #methods: ReadonlyMap<string, Method<N>>
  readonly #limits: DispatchLimits
  readonly #log: DefectLog
  readonly #memo: AnswerMemo
  readonly #lookup: Lookup<Remembered>
  /** The head's {@link #blockText}, made once for each head. */
  #named: N | undefined
  #name: string | undefined

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
    this.#memo = new AnswerMemo(limits.memoBytesMax, views.current.head.generation)
    this.#lookup = (bytes, start, idStart, idEnd, end) =>
      this.#memo.read(bytes, start, idStart, idEnd, end, views.current.head.generation)
  }

  handle(body: Uint8Array, caller: Caller = new Caller(), at?: string): Answer | Promise<Answer> {
    try {
      const basis = new RequestBasis(this.#views, at)
      // What is remembered holds for the head and its tags, and not for a block that a request is pinned to.
      const lookup = at === undefined ? this.#lookup : knowsNothing
      const usual = readUsualCall(body, lookup)
      if (usual !== undefined) return this.#single(usual, basis, caller)
      const { isBatch, calls } = this.#readCalls(body, lookup)
      return isBatch ? this.#batch(calls, basis, caller) : this.#single(calls[0] as Member, basis, caller)
    } catch (thrown) {
      const failure = this.#failure(thrown, 'request', caller.keyId)
      return singleAnswer('null', undefined, unpaid(caller, unitsMin) ?? failure, this.#headText())
    }
  }

  refuse(body: Uint8Array, fault: Fault): Answer {
    try {
      const refused = Failure.of(fault)
      if (body.length > refusedBytesMax) return singleAnswer('null', undefined, refused, this.#headText())
      const { isBatch, calls } = this.#readCalls(body, knowsNothing)
      const outcomeOf = ({ kind }: Member) => (kind === 'invalid' ? invalidRequest : refused)
      if (!isBatch) {
        const call = calls[0] as Member
        return singleAnswer(call.id, undefined, outcomeOf(call), this.#headText())
      }
      const answer = new BatchAnswer(calls.length, this.#limits.batchBytesMax)
      for (const [place, call] of calls.entries()) {
        if (call.id !== undefined) {
          answer.putError(place, renderErrorAnswer(call.id, outcomeOf(call).error))
        }
      }
      return batchAnswer(answer, calls, this.#headText())
    } catch (thrown) {
      return singleAnswer('null', undefined, this.#failure(thrown, 'request'), this.#headText())
    }
  }

  #readCalls(body: Uint8Array, lookup: Lookup<Remembered>): { isBatch: boolean; calls: Member[] } {
    const reader = new RequestReader<Remembered>(body, this.#limits)
    while (!reader.pass());
    const calls: Member[] = []
    while (reader.left > 0) calls.push(reader.read(lookup))
    return { isBatch: reader.isBatch, calls }
  }

  #single(call: Member, basis: RequestBasis<N>, caller: Caller): Answer | Promise<Answer> {
    if (call.kind === 'known') {
      const { known, id } = call
      const refusal = unpaid(caller, known.price)
      const block = this.#blockText(basis.arrived)
      return refusal === undefined
        ? repeatedAnswer(id, known.tail, block)
        : singleAnswer(id, undefined, refusal, block)
    }
    const outcome = this.#start(call, basis, caller)
    const finish = (settled: Outcome): Answer => {
      const at = pinOf(call)
      return singleAnswer(call.id, basis.hashOf(at), settled, this.#blockText(basis.used(at)))
    }
    if (!(outcome instanceof Promise)) return finish(outcome)
    const deadline = new Deadline<Outcome>(this.#limits.requestMsMax, timedOut)
    return deadline.race(outcome).then((settled) => {
      deadline.clear()
      return finish(settled)
    })
  }

  #batch(calls: readonly Member[], basis: RequestBasis<N>, caller: Caller): Answer | Promise<Answer> {
    const answer = new BatchAnswer(calls.length, this.#limits.batchBytesMax)
    for (const [place, call] of calls.entries()) {
      const outcome = answer.isFull ? tooLarge : this.#start(call, basis, caller)
      if (outcome instanceof Promise) return this.#awaitBatch(calls, place, outcome, answer, basis, caller)
      putOutcome(answer, place, call, basis, outcome)
    }
    return batchAnswer(answer, calls, this.#blockText(basis.used(undefined)))
  }

  /**
   * Goes on with a batch at the call `first`, whose outcome is under way. The next call is begun as soon as fewer
   * than {@link batchJobsMax} wait, so that a long job holds up nothing but the end of the batch.
   */
  async #awaitBatch(
    calls: readonly Member[],
    first: number,
    begun: Promise<Outcome>,
    answer: BatchAnswer,
    basis: RequestBasis<N>,
    caller: Caller,
  ): Promise<Answer> {
    const deadline = new Deadline<Outcome>(this.#limits.requestMsMax, timedOut)
    const waiting = new Set<Promise<void>>()
    let outcome: Outcome | Promise<Outcome> = begun
    for (let place = first; ; ) {
      const call = calls[place] as Member
      if (outcome instanceof Promise) {
        const here = place
        const done = deadline.race(outcome).then((settled) => {
          waiting.delete(done)
          putOutcome(answer, here, call, basis, settled)
        })
        waiting.add(done)
        if (waiting.size === batchJobsMax) await Promise.race(waiting)
      } else putOutcome(answer, place, call, basis, outcome)
      // A batch whose client went away starts no further jobs; what it comes to is not sent.
      if (++place === calls.length || caller.isGone) break
      if (answer.isFull) outcome = tooLarge
      else outcome = deadline.hasPassed ? timedOut : this.#start(calls[place] as Member, basis, caller)
    }
    await Promise.all(waiting)
    deadline.clear()
    return batchAnswer(answer, calls, this.#blockText(basis.used(undefined)))
  }

  /** Charges for a call and runs it. Never throws; the promise never rejects. */
  #start(call: Member, basis: RequestBasis<N>, caller: Caller): Outcome | Promise<Outcome> {
    if (call.kind === 'known') return repeat(call.known, caller)
    if (call.kind === 'invalid') return unpaid(caller, unitsMin) ?? invalidRequest
    const method = this.#methods.get(call.method)
    if (method === undefined) {
      return unpaid(caller, unitsMin) ?? Failure.of({ kind: 'MethodNotFound', method: call.method })
    }
    if (method.cost === 'inline') return this.#run(method, call, basis, caller)
    if (!caller.admit()) return busy
    const outcome = this.#run(method, call, basis, caller)
    if (outcome instanceof Promise) void outcome.then(() => caller.release())
    else caller.release()
    return outcome
  }

  #run(
    method: Method<N>,
    call: MethodCall,
    basis: RequestBasis<N>,
    caller: Caller,
  ): Outcome | Promise<Outcome> {
    let isPaid = false
    try {
      const network = basis.find(call.at)
      if (network instanceof Failure) return unpaid(caller, unitsMin) ?? network
      const args = decodeParams(method, call.params)
      const price = priceOf(method.price, args)
      const refusal = unpaid(caller, price)
      if (refusal !== undefined) return refusal
      isPaid = true
      const result = method.run(network, args, caller)
      if (result instanceof Promise) {
        return result.then(
          (json) => {
            this.#remember(method, call.question, json, price, network)
            return json
          },
          (thrown) => this.#failure(thrown, method.name, caller.keyId),
        )
      }
      this.#remember(method, call.question, result, price, network)
      return result
    } catch (thrown) {
      const failure = this.#failure(thrown, method.name, caller.keyId)
      return isPaid ? failure : (unpaid(caller, unitsMin) ?? failure)
    }
  }

  #remember(method: Method<N>, question: Question | undefined, json: Json, price: number, network: N): void {
    if (method.memo === 'never' || question === undefined) return
    // What does not exist now may exist in a moment without a new head (a block that arrives by its hash).
    if (isNull(json)) return
    // A former head and a pinned block are views of their own.
    if (network === this.#views.current) this.#memo.write(question, json, price, network.head.generation)
  }

  #failure(thrown: unknown, where: string, keyId?: string): Failure {
    return new Failure(
      thrownToWireError(thrown, where, this.#log, keyId),
      thrown instanceof FaultError ? thrown.fault : undefined,
    )
  }

  #headText(): string | undefined {
    return this.#blockText(this.#views.current)
  }

  /** What an answer says of the block it was made from: `<number> <hash>`. Undefined on a network without blocks. */
  #blockText(network: N): string | undefined {
    if (network === this.#named) return this.#name
    const { number, hash } = network.head
    const text = hash && `${number} ${bytesToHex(hash)}`
    if (network === this.#views.current) {
      this.#named = network
      this.#name = text
    }
    return text
  }
}

const invalidRequest = Failure.of({ kind: 'InvalidRequest' })
const tooLarge = Failure.of({ kind: 'ResponseTooLarge' })
const timedOut = Failure.of({ kind: 'RequestTimedOut' })
/** After a second most of what waits now is done: the pool's full queues hold about as much. */
const busy = Failure.of({ kind: 'ServerBusy', retryAfterMs: 1000 })

const knowsNothing = (): Remembered | undefined => undefined

/** Charges for a call: undefined where it is paid or nothing is counted, else why it is not begun. */
function unpaid(caller: Caller, units: number): Failure | undefined {
  const retryAfterMs = caller.charge(units)
  if (retryAfterMs === 0) return undefined
  const limit = caller.identity.allowance?.unitsPerSecond ?? 0
  const what = `this call costs ${units} compute units, and ${limit} may be spent a second`
  return Failure.of({ kind: 'LimitExceeded', what, limit, retryAfterMs })
}

/** A remembered answer costs what it did when it was made. */
function repeat({ json, price }: Remembered, caller: Caller): Outcome {
  return unpaid(caller, price) ?? json
}

function isNull(result: Json): boolean {
  if (result.length !== 4) return false
  return typeof result === 'string' ? result === 'null' : result[0] === 0x6e
}

/** The block that a call itself is pinned to, as it was written; undefined where it names none. */
function pinOf(call: Member): unknown {
  return call.kind === 'call' ? call.at : undefined
}

/** `call.id` is undefined for a notification, which gets no answer whatever came of it. */
function putOutcome<N extends RpcNetwork>(
  answer: BatchAnswer,
  place: number,
  call: Member,
  basis: RequestBasis<N>,
  outcome: Outcome,
): void {
  if (call.id === undefined) {
    if (!(outcome instanceof Failure)) answer.countUnsent(place, outcome.length)
    return
  }
  const at = basis.hashOf(pinOf(call))
  if (outcome instanceof Failure) answer.putError(place, renderErrorAnswer(call.id, outcome.error, at))
  else answer.putResult(place, renderOutcome(call.id, at, outcome))
}

function batchAnswer(answer: BatchAnswer, calls: readonly Member[], block: string | undefined): Answer {
  const body = answer.finish((place) => renderErrorAnswer(calls[place]?.id ?? 'null', tooLarge.error))
  return { status: 200, body, retryAfterMs: undefined, block }
}
