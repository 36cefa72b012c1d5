/**
 * From a request body to its answer: looks methods up, decodes their parameters, runs them, keeps what may be
 * repeated, holds deadlines and size limits, and turns everything thrown into a wire error.
 *
 * Where every method of a request answers at once, so does dispatch: no promise is made and nothing is awaited.
 */
import { type Fault, FaultError } from '../primitives/faults.js'
import type { Answer, AnswerBody } from './answer.js'
import { AnswerMemo } from './answerMemo.js'
import { BatchAnswer } from './batchAnswer.js'
import { Caller } from './caller.js'
import { type Call, parseRequest } from './envelope.js'
import { decodeParams, type Json, type Method, type RpcNetwork } from './method.js'
import {
  type DefectLog,
  faultToHttpStatus,
  faultToWireError,
  renderErrorAnswer,
  thrownToWireError,
  type WireError,
} from './wireErrors.js'

export interface DispatchLimits {
  /** Calls of one batch. go-ethereum's default: 1,000. */
  readonly batchCallsMax: number
  /** Bytes of the answer to one batch. go-ethereum's default: 25,000,000. */
  readonly batchBytesMax: number
  /** From the arrival of a request to the last answer of a job it waits for. */
  readonly requestMsMax: number
  /** Bytes of remembered results of one network. */
  readonly memoBytesMax: number
}

/**
 * - `memoBytesMax`: 32 MiB hold a head's worth of questions: 80,000 answers of 100 bytes, or a block of 200 full
 *   transactions and its receipts (503 KB) as 60 clients word them.
 */
export const defaultDispatchLimits: DispatchLimits = {
  batchCallsMax: 1_000,
  batchBytesMax: 25_000_000,
  requestMsMax: 30_000,
  memoBytesMax: 32 * 1024 * 1024,
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
   */
  handle(body: Uint8Array, caller?: Caller): Answer | Promise<Answer>
}

/** Builds endpoints that share one table of methods. Throws RangeError when two methods have one name. */
export function createDispatcher<N extends RpcNetwork>(options: DispatcherOptions<N>) {
  const methods = new Map<string, Method<N>>()
  for (const method of options.methods) {
    if (methods.has(method.name)) throw new RangeError(`two methods are named ${method.name}`)
    methods.set(method.name, method)
  }
  return {
    endpoint: (network: N): Endpoint => new NetworkEndpoint(network, methods, options.limits, options.log),
  }
}

/** A call that failed. `fault` is undefined for a defect. */
interface Failure {
  readonly error: WireError
  readonly fault: Fault | undefined
}

type Outcome = Json | Failure

/** Calls of one batch that wait for a job at the same time: enough to keep the pool busy, too few to fill its queue. */
const batchJobsMax = 8

class NetworkEndpoint<N extends RpcNetwork> implements Endpoint {
  readonly #network: N
  readonly #methods: ReadonlyMap<string, Method<N>>
  readonly #limits: DispatchLimits
  readonly #log: DefectLog
  readonly #memo: AnswerMemo
  readonly #lookup: (key: string) => Json | undefined

  constructor(network: N, methods: ReadonlyMap<string, Method<N>>, limits: DispatchLimits, log: DefectLog) {
    this.#network = network
    this.#methods = methods
    this.#limits = limits
    this.#log = log
    this.#memo = new AnswerMemo(limits.memoBytesMax, network.head.generation)
    this.#lookup = (key) => this.#memo.read(key, network.head.generation)
  }

  handle(body: Uint8Array, caller: Caller = new Caller()): Answer | Promise<Answer> {
    try {
      const request = parseRequest(body, this.#limits.batchCallsMax, this.#lookup)
      return request.kind === 'single'
        ? this.#single(request.call, caller)
        : this.#batch(request.calls, caller)
    } catch (thrown) {
      return failureAnswer('null', this.#failure(thrown, 'request'))
    }
  }

  #single(call: Call<Json>, caller: Caller): Answer | Promise<Answer> {
    if (call.kind === 'known') return resultAnswer(call.id, call.known)
    const outcome = this.#start(call, caller)
    if (!(outcome instanceof Promise)) return singleAnswer(call.id, outcome)
    const deadline = new Deadline(this.#limits.requestMsMax)
    return deadline.race(outcome).then((settled) => {
      deadline.clear()
      return singleAnswer(call.id, settled)
    })
  }

  #batch(calls: readonly Call<Json>[], caller: Caller): Answer | Promise<Answer> {
    const answer = new BatchAnswer(this.#limits.batchBytesMax)
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as Call<Json>
      const outcome = answer.isFull ? tooLarge : this.#start(call, caller)
      if (outcome instanceof Promise) return this.#awaitBatch(calls, i, outcome, answer, caller)
      addToBatch(answer, call.id, outcome)
    }
    return batchAnswer(answer)
  }

  /** Goes on with a batch at the call `first`, whose outcome is under way, a few jobs at a time. */
  async #awaitBatch(
    calls: readonly Call<Json>[],
    first: number,
    outcome: Promise<Outcome>,
    answer: BatchAnswer,
    caller: Caller,
  ): Promise<Answer> {
    const deadline = new Deadline(this.#limits.requestMsMax)
    let started: (Outcome | Promise<Outcome>)[] = [outcome]
    let answered = first
    for (;;) {
      for (let i = answered + started.length; i < calls.length && started.length < batchJobsMax; i++) {
        if (answer.isFull) started.push(tooLarge)
        else started.push(deadline.hasPassed ? timedOut : this.#start(calls[i] as Call<Json>, caller))
      }
      const settled = await Promise.all(started.map((each) => deadline.race(each)))
      for (const each of settled) addToBatch(answer, calls[answered++]?.id, each)
      // A batch whose client went away starts no further jobs; what it comes to is not sent.
      if (answered === calls.length || caller.isGone) break
      started = []
    }
    deadline.clear()
    return batchAnswer(answer)
  }

  /** Runs a call. Never throws; the promise never rejects. */
  #start(call: Call<Json>, caller: Caller): Outcome | Promise<Outcome> {
    if (call.kind === 'known') return call.known
    if (call.kind === 'invalid') return invalidRequest
    const method = this.#methods.get(call.method)
    if (method === undefined) return faultOutcome({ kind: 'MethodNotFound', method: call.method })
    const { generation } = this.#network.head
    try {
      const result = method.run(this.#network, decodeParams(method, call.params), caller)
      if (result instanceof Promise) {
        return result.then(
          (json) => {
            this.#remember(method, call.key, json, generation)
            return json
          },
          (thrown) => this.#failure(thrown, method.name),
        )
      }
      this.#remember(method, call.key, result, generation)
      return result
    } catch (thrown) {
      return this.#failure(thrown, method.name)
    }
  }

  #remember(method: Method<N>, key: string | undefined, result: Json, generation: number): void {
    if (method.memo === 'never' || key === undefined) return
    // What does not exist now may exist in a moment without a new head (a block that arrives by its hash).
    if (isNull(result)) return
    if (generation === this.#network.head.generation) this.#memo.write(key, result, generation)
  }

  #failure(thrown: unknown, where: string): Failure {
    return {
      error: thrownToWireError(thrown, where, this.#log),
      fault: thrown instanceof FaultError ? thrown.fault : undefined,
    }
  }
}

function faultOutcome(fault: Fault): Failure {
  return { error: faultToWireError(fault), fault }
}

const invalidRequest = faultOutcome({ kind: 'InvalidRequest' })
const tooLarge = faultOutcome({ kind: 'ResponseTooLarge' })
const timedOut = faultOutcome({ kind: 'RequestTimedOut' })

function isNull(result: Json): boolean {
  if (result.length !== 4) return false
  return typeof result === 'string' ? result === 'null' : result[0] === 0x6e
}

function isFailure(outcome: Outcome): outcome is Failure {
  return typeof outcome === 'object' && !(outcome instanceof Uint8Array)
}

function resultBody(id: string, result: Json): AnswerBody {
  return typeof result === 'string'
    ? `{"jsonrpc":"2.0","id":${id},"result":${result}}`
    : [`{"jsonrpc":"2.0","id":${id},"result":`, result, '}']
}

function resultAnswer(id: string, result: Json): Answer {
  return { status: 200, body: resultBody(id, result), retryAfterMs: undefined }
}

function failureAnswer(id: string, failure: Failure): Answer {
  const body = renderErrorAnswer(id, failure.error)
  if (failure.fault === undefined) return { status: 200, body, retryAfterMs: undefined }
  return { ...faultToHttpStatus(failure.fault), body }
}

/** `id` is undefined for a notification, which gets no answer whatever came of it. */
function singleAnswer(id: string | undefined, outcome: Outcome): Answer {
  if (id === undefined) return { status: 200, body: '', retryAfterMs: undefined }
  return isFailure(outcome) ? failureAnswer(id, outcome) : resultAnswer(id, outcome)
}

function addToBatch(answer: BatchAnswer, id: string | undefined, outcome: Outcome): void {
  if (id === undefined) return
  if (!isFailure(outcome)) {
    const body = resultBody(id, outcome)
    if (answer.add(body)) return
    answer.addError(renderErrorAnswer(id, tooLarge.error))
  } else answer.addError(renderErrorAnswer(id, outcome.error))
}

function batchAnswer(answer: BatchAnswer): Answer {
  return { status: 200, body: answer.finish(), retryAfterMs: undefined }
}

/** The time that all waiting of one request shares, with one timer however many outcomes are raced against it. */
class Deadline {
  readonly #expired: Promise<Outcome>
  readonly #timer: NodeJS.Timeout
  #hasPassed = false

  constructor(ms: number) {
    let expire: (outcome: Outcome) => void = () => {}
    this.#expired = new Promise((resolve) => {
      expire = resolve
    })
    this.#timer = setTimeout(() => {
      this.#hasPassed = true
      expire(timedOut)
    }, ms)
  }

  get hasPassed(): boolean {
    return this.#hasPassed
  }

  /** The outcome, or a failure once the time is over. What comes later is dropped. */
  race(outcome: Outcome | Promise<Outcome>): Promise<Outcome> {
    return outcome instanceof Promise ? Promise.race([outcome, this.#expired]) : Promise.resolve(outcome)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
