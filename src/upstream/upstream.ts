/**
 * Talking to other nodes, which are asked and not believed. Owns connections, deadlines, batches, retries, hedging,
 * how well each node behaves, and what each says its head is. Does not own what is true: whoever asks checks the
 * answers, and tells who lied ({@link Upstream.accuse}).
 */
import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
  isBrokenCircuitError,
} from 'cockatiel'
import { type Deferred, defer } from '../primitives/deferred.js'
import { textOf } from '../primitives/excerpt.js'
import { setTimeout } from '../primitives/timers.js'
import { Budget } from './budget.js'
import { HttpLine } from './httpLine.js'
import { type Call, type FailureKind, type Line, UpstreamFailure } from './line.js'
import { NodeScore } from './nodeScore.js'
import { SocketLine } from './socketLine.js'

/** Calls in one batch: what go-ethereum takes. Of a node that refuses so many, what most hosted nodes take. */
const batchMax = 1_000
const smallBatchMax = 100
/** Failures in a row after which a node is left alone for a while, so that it can recover. */
const failuresMax = 5
/** How long it is left alone, at first and at most; doubled, with jitter, by each failure of the probe that ends it. */
const restMs = 200
const restMsMax = 5_000
/** Wait after status 429 or 503 without `Retry-After`. */
const busyMs = 1_000
/** How long a liar is not asked after its first lie, and at most; doubled by each further lie. */
const quarantineMs = 5_000
const quarantineMsMax = 3_600_000
/** How long it has to be asked again without a lie for one doubling to be forgiven. Ten of them make an hour. */
const forgiveMs = 60_000

export interface UpstreamOptions {
  /** `http:`, `https:`, `ws:` or `wss:`. May contain secrets, so it is never shown; {@link Upstream.name} is. */
  readonly url: string
  /** Where heads are subscribed to, for a URL of HTTP; absent: looked for at the same address. */
  readonly socketUrl?: string | undefined
  /** Headers of every request, for instance with a key. Never shown. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Longest time of one attempt, in ms. */
  readonly timeoutMs: number
  /** Most bytes of one answer; of a batch, of all its answers together. */
  readonly answerBytesMax: number
  /** Most questions per second; absent: no limit. */
  readonly requestsPerSecond?: number | undefined
}

/** A node's own JSON-RPC error. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  constructor(
    readonly upstream: Upstream,
    readonly code: number,
    message: string,
    readonly data: unknown,
  ) {
    super(message)
  }
}

interface Waiting extends Call {
  readonly answer: Deferred<unknown>
  readonly timer: NodeJS.Timeout
  isSettled: boolean
}

/** JSON-RPC codes for "too many questions": EIP-1474's, and Alchemy's, which is the HTTP status. */
const busyCodes: ReadonlySet<unknown> = new Set([-32005, 429])

/** One node. */
export class Upstream {
  readonly score = new NodeScore()
  /** Questions that it got because another node was slow. */
  hedges = 0
  /** Host and port, which are no secret. */
  readonly name: string
  readonly options: UpstreamOptions
  readonly #line: Line
  readonly #budget: Budget
  readonly #breaker: CircuitBreakerPolicy
  readonly #notice: (text: string) => void
  #waiting: Waiting[] = []
  #restsUntil = 0
  #quarantinedUntil = 0
  /** Lies that were not forgiven when it was accused last, that one among them. */
  #offences = 0
  /** Calls that it takes in one batch. */
  #batchMax = batchMax
  #nextId = 1
  #isAnswering: boolean | undefined
  #outages = 0
  #outagesEnded = 0

  /** `notice` is called with a sentence when the node stops answering, and when it answers again. */
  constructor(
    options: UpstreamOptions,
    name = hostOf(options.url),
    notice = (_text: string) => {},
    line = lineTo(options),
  ) {
    this.options = options
    this.name = name
    this.#notice = notice
    this.#budget = new Budget(options.requestsPerSecond ?? Infinity)
    this.#line = line
    this.#breaker = circuitBreaker(handleWhen(isOutage), {
      breaker: new ConsecutiveBreaker(failuresMax),
      halfOpenAfter: new ExponentialBackoff({ initialDelay: restMs, maxDelay: restMsMax }),
    })
  }

  /** Whether the last question was answered; undefined before the first. */
  get isAnswering(): boolean | undefined {
    return this.#isAnswering
  }

  /** How often it stopped answering. */
  get outages(): number {
    return this.#outages
  }

  get isQuarantined(): boolean {
    return performance.now() < this.#quarantinedUntil
  }

  /** Lies that are not forgiven yet. */
  get offences(): number {
    const cleanMs = Math.max(performance.now() - this.#quarantinedUntil, 0)
    return Math.max(this.#offences - Math.floor(cleanMs / forgiveMs), 0)
  }

  /** Whether it is not asked for the moment, because it failed several times in a row. */
  get isResting(): boolean {
    return this.#breaker.state === CircuitState.Open
  }

  /** Time in ms until it may be asked; 0 for now. */
  waitMs(): number {
    return Math.max(this.#restsUntil - performance.now(), this.#budget.waitMs(), 0)
  }

  /**
   * Asks once; questions of the same turn of the event loop become one batch. `deadline` is in the time of
   * `performance.now()`. Rejects with {@link NodeError}, or with {@link UpstreamFailure} where there is no answer.
   */
  ask(method: string, params: readonly unknown[], deadline: number): Promise<unknown> {
    if (this.isQuarantined) return Promise.reject(new UpstreamFailure('quarantined', 'it lied'))
    const waitMs = this.waitMs()
    if (waitMs > 0 || !this.#budget.take()) {
      return Promise.reject(
        new UpstreamFailure('busy', 'it asked for a pause, or its budget is spent', waitMs),
      )
    }
    const answer = defer<unknown>()
    const ms = Math.min(deadline - performance.now(), this.options.timeoutMs)
    const call: Waiting = {
      id: this.#nextId++,
      method,
      params,
      answer,
      timer: setTimeout(() => this.#late(call), Math.max(ms, 0)),
      isSettled: false,
    }
    if (this.#waiting.length === 0) setImmediate(() => this.#flush())
    this.#waiting.push(call)
    return answer.promise
  }

  /**
   * Records that an answer was proved wrong; the node is not asked for a time that doubles with each lie, and halves
   * again for each minute without one. `what` names the lie.
   */
  accuse(what: string): void {
    if (this.isQuarantined) return
    const { offences } = this
    const ms = Math.min(quarantineMs * 2 ** offences, quarantineMsMax)
    this.#offences = offences + 1
    this.score.lied(what)
    this.#quarantinedUntil = performance.now() + ms
    this.#notice(`${this.name} lied: ${what}; it is not asked for ${ms / 1_000} s`)
  }

  close(): void {
    this.#line.close()
    for (const call of this.#waiting) {
      this.#settle(call, () => call.answer.reject(new UpstreamFailure('unreachable', 'closed')))
    }
  }

  #flush(): void {
    const calls = this.#waiting
    this.#waiting = []
    this.#sendParts(calls)
  }

  #sendParts(calls: readonly Waiting[]): void {
    const size = this.#batchMax
    for (let start = 0; start < calls.length; start += size) void this.#send(calls.slice(start, start + size))
  }

  /** Sends calls and settles each. Never rejects. */
  async #send(calls: readonly Waiting[]): Promise<void> {
    const open = calls.filter(({ isSettled }) => !isSettled)
    if (open.length === 0) return
    const start = performance.now()
    const ending = new AbortController()
    this.#abortWhenSettled(open, ending)
    try {
      const answer = refusalOf(open, await this.#breaker.execute(() => this.#exchange(open, ending.signal)))
      this.#isAnswering = true
      if (this.#outages > this.#outagesEnded) this.#notice(`${this.name} answers again`)
      this.#outagesEnded = this.#outages
      this.score.answered(performance.now() - start)
      if (open.length > 1 && !Array.isArray(answer) && !isBusy(answer)) return this.#sendSmaller(open)
      const answers = new Map((Array.isArray(answer) ? answer : []).map((each) => [each?.id, each]))
      for (const call of open) this.#take(call, Array.isArray(answer) ? answers.get(call.id) : answer)
    } catch (error) {
      const failure = asFailure(error)
      if (failure.kind === 'tooLong' && open.length > 1) return this.#sendHalves(open)
      if (failure.kind === 'unreadable' && open.length > smallBatchMax) return this.#sendSmaller(open)
      if (failure.kind === 'busy') this.#pause(failure.retryAfterMs)
      else if (failure.kind !== 'resting') this.score.failed()
      if (isOutage(failure) && this.#isAnswering !== false) {
        this.#isAnswering = false
        this.#outages++
        this.#notice(`${this.name} does not answer (${failure.message}); trying again`)
      }
      for (const call of open) this.#settle(call, () => call.answer.reject(failure))
    }
  }

  /** An exchange that is given up early says nothing against the node. */
  async #exchange(calls: readonly Call[], signal: AbortSignal): Promise<unknown> {
    const start = performance.now()
    try {
      return await this.#line.exchange(calls, signal)
    } catch (error) {
      // Timers may fire up to 1 ms early.
      if (!signal.aborted || performance.now() - start >= this.options.timeoutMs - 1) throw error
      throw new UpstreamFailure('abandoned', 'no answer in time')
    }
  }

  /** A node that answers a batch with one object takes none so long, or none at all. */
  #sendSmaller(calls: readonly Waiting[]): void {
    this.#batchMax = calls.length > smallBatchMax ? smallBatchMax : 1
    this.#sendParts(calls)
  }

  #sendHalves(calls: readonly Waiting[]): void {
    const middle = Math.ceil(calls.length / 2)
    void this.#send(calls.slice(0, middle))
    void this.#send(calls.slice(middle))
  }

  #abortWhenSettled(calls: readonly Waiting[], ending: AbortController): void {
    let open = calls.length
    const close = () => {
      if (--open === 0) ending.abort()
    }
    for (const { answer } of calls) answer.promise.then(close, close)
  }

  #take(call: Waiting, answer: unknown): void {
    this.#settle(call, () => {
      const { result, error } = (answer ?? {}) as {
        result?: unknown
        error?: { code?: unknown; message?: unknown; data?: unknown }
      }
      if (typeof error === 'object' && error !== null) {
        const { code, message, data } = error
        const text = textOf(message)
        if (isBusy(answer)) {
          this.#pause(undefined)
          call.answer.reject(new UpstreamFailure('busy', `error ${textOf(code)}: ${text}`))
        } else call.answer.reject(new NodeError(this, Number(textOf(code)), text, data))
      } else if (result === undefined) {
        this.score.failed()
        call.answer.reject(new UpstreamFailure('unreadable', 'an answer with neither result nor error'))
      } else call.answer.resolve(result)
    })
  }

  #pause(retryAfterMs = busyMs): void {
    this.score.failed()
    this.#restsUntil = Math.max(this.#restsUntil, performance.now() + retryAfterMs)
  }

  #late(call: Waiting): void {
    this.#settle(call, () => call.answer.reject(new UpstreamFailure('late', 'no answer in time')))
  }

  #settle(call: Waiting, settle: () => void): void {
    if (call.isSettled) return
    call.isSettled = true
    clearTimeout(call.timer)
    settle()
  }
}

/** JSON-RPC as the URL says. */
function lineTo({ url, headers = {}, answerBytesMax }: UpstreamOptions): Line {
  const options = { url: new URL(url), headers, answerBytesMax }
  return options.url.protocol.startsWith('http')
    ? new HttpLine(options)
    : new SocketLine({ ...options, onNotification: () => {}, onLost: () => {} })
}

/** What a batch was answered; the error alone where a node refuses it in a list of one, as go-ethereum and Erigon do. */
function refusalOf(calls: readonly Call[], answer: unknown): unknown {
  const [first] = Array.isArray(answer) && answer.length === 1 && calls.length > 1 ? answer : []
  return typeof first?.error === 'object' ? first : answer
}

/** Whether a JSON-RPC answer asks for fewer questions. */
function isBusy(answer: unknown): boolean {
  return busyCodes.has((answer as { readonly error?: { readonly code?: unknown } } | null)?.error?.code)
}

/** Host and port of a URL. */
function hostOf(url: string): string {
  return new URL(url).host
}

/** Whether a failure says that the node is out of service. */
function isOutage(error: unknown): boolean {
  return error instanceof UpstreamFailure && outages.has(error.kind)
}

const outages: ReadonlySet<FailureKind> = new Set(['unreachable', 'late', 'unreadable'])

function asFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error
  if (isBrokenCircuitError(error)) {
    return new UpstreamFailure('resting', 'it failed several times in a row and is left alone for a moment')
  }
  return new UpstreamFailure('unreachable', error instanceof Error ? error.message : String(error))
}
