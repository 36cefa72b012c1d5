/**
 * Asks one node, without trusting it. Owns its connection, the batches of a turn, and whether a failed call is sent
 * again in another form. {@link NodePolicy} owns the state of the node. Callers check the answers and report lies
 * ({@link NodePolicy.accuse}).
 */
import { type Deferred, defer } from '../../primitives/deferred.js'
import { textOf } from '../../primitives/jsonType.js'
import { setTimeout } from '../../primitives/timers.js'
import { type Answer, isBusy, type RpcError, readAnswers, refusesMethod } from './answers.js'
import { HttpLine } from './httpLine.js'
import { type Call, type FailureKind, type Line, UpstreamFailure } from './line.js'
import { NodePolicy } from './nodePolicy.js'
import { SocketLine } from './socketLine.js'

export interface UpstreamOptions extends LineOptions {
  /** WebSocket for head subscriptions of a node with an HTTP URL; if absent, the same address is tried. */
  readonly socketUrl?: string | undefined
  /** Maximum time of one attempt, in ms. */
  readonly timeoutMs: number
  /** Maximum requests per second; if absent, no limit. */
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

/** Reads, which may be asked again after an error that is not about the question. */
const askedAgain =
  /^(eth_(get(?!Filter)|blockNumber$|chainId$|config$|createAccessList$)|(admin|anvil)_nodeInfo$|net_|web3_|debug_(get|chainConfig$|executionWitness|accountRange|storageRangeAt))/
/** JSON-RPC codes of such errors: the server's own, and an internal error. */
const vagueCodes: ReadonlySet<number> = new Set([-32000, -32603])
/** Words of answers under these codes: about data that a node lacks, and about failed calls. */
const answerWords = /not found|unknown|missing|pruned|unavailable|no state|revert|gas\b|funds/i

interface Waiting extends Call {
  /** Id of the request; differs each time that the call is sent. */
  id: number
  readonly answer: Deferred<unknown>
  readonly timer: NodeJS.Timeout
  /** Whether this call checks if the node refuses everything. */
  readonly isProbe: boolean
  /** Whether the call was sent again after such an error. */
  isRepeated: boolean
  isSettled: boolean
}

/** Maximum attempts to ask for its chain if a front answers with an HTTP status of 5xx, or HTML. */
const chainTriesMax = 3

export type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>

/** The result of a comparison of chains; the node is the subject of both texts. */
export interface ChainCheck {
  /** Undefined if the chain is correct. */
  readonly fault?: string | undefined
  /** The part that the node does not report, and the part that identifies its chain instead. */
  readonly notice?: string
}

interface UpstreamParts {
  /** Compares the chain of the node with the required one; if absent, the node may have any chain. */
  readonly check?: (ask: Ask) => Promise<ChainCheck>
  /** The connection; if absent, it is JSON-RPC over the protocol of the URL. */
  readonly line?: Line
}

export class Upstream {
  /** Host and port, which are not secret. */
  readonly name: string
  readonly options: UpstreamOptions
  readonly policy: NodePolicy
  readonly #line: Line
  readonly #notice: (text: string) => void
  readonly #check: UpstreamParts['check']
  #checking: Promise<string | undefined> | undefined
  /** The last notice about parts that the node does not report of its chain. */
  #chainNotice = ''
  readonly #waiting: Waiting[] = []
  #hasRepeated = false
  #nextId = 1
  #probing: Promise<UpstreamFailure | undefined> | undefined

  /** `notice` gets sentences for the operator. */
  constructor(
    options: UpstreamOptions,
    name = new URL(options.url).host,
    notice = (_text: string) => {},
    { check, line = lineTo(options) }: UpstreamParts = {},
  ) {
    this.options = options
    this.name = name
    this.#notice = notice
    this.policy = new NodePolicy(name, notice, options.requestsPerSecond)
    this.#check = check
    this.#line = line
  }

  /**
   * Asks once, if the node has the right chain; requests of the same turn of the event loop become one batch.
   * `deadline` is in the time of `performance.now()`. Rejects with {@link NodeError}, or with {@link UpstreamFailure} if
   * there is no answer.
   */
  async ask(method: string, params: readonly unknown[], deadline: number): Promise<unknown> {
    if (this.#check !== undefined && !this.policy.hasChain) {
      const fault = await this.chainFault(deadline)
      if (fault !== undefined) throw new UpstreamFailure('otherChain', fault)
    }
    return this.askUnchecked(method, params, deadline)
  }

  /** Like {@link ask}, whatever its chain is. */
  askUnchecked(method: string, params: readonly unknown[], deadline: number): Promise<unknown> {
    const refusal = this.policy.admit()
    if (refusal !== undefined) return Promise.reject(refusal)
    const call = this.#call(method, params, deadline)
    this.#enqueue(call)
    return call.answer.promise
  }

  /**
   * The fault of its chain; undefined if it is correct. Checks it after each outage. Rejects with
   * {@link UpstreamFailure} if the node does not report its chain.
   */
  async chainFault(deadline: number): Promise<string | undefined> {
    if (this.#check === undefined || this.policy.hasChain) return undefined
    if (this.policy.isRefused) return this.policy.chainFault
    this.#checking ??= this.#compareChain(this.#check, deadline).finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #compareChain(
    check: NonNullable<UpstreamParts['check']>,
    deadline: number,
  ): Promise<string | undefined> {
    const who = `upstream ${this.name}`
    try {
      const { fault, notice } = await check((method, params) => this.#askForChain(method, params, deadline))
      if (notice !== undefined) this.#noteChain(`${who} ${notice}`)
      const text = fault && `${who} is of another chain: ${fault}`
      this.policy.chainChecked(text)
      return text
    } catch (error) {
      if (error instanceof UpstreamFailure) throw error
      // A front may answer every request with an error, for example for a wrong key.
      const { message } = error as Error
      this.#noteChain(`${who} does not say which chain it has: ${message}`)
      throw new UpstreamFailure('late', `it did not say which chain it has (${message})`)
    }
  }

  /** Retries if a front has no answer: all requests to the node wait for this. */
  async #askForChain(method: string, params: readonly unknown[], deadline: number): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.askUnchecked(method, params, deadline)
      } catch (error) {
        const isUnreadable = error instanceof UpstreamFailure && error.kind === 'unreadable'
        if (!isUnreadable || tries >= chainTriesMax) throw error
      }
    }
  }

  #noteChain(text: string): void {
    if (text !== this.#chainNotice) this.#notice(text)
    this.#chainNotice = text
  }

  #enqueue(call: Waiting): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#sendParts(this.#waiting.splice(0)))
    this.#waiting.push(call)
  }

  #call(method: string, params: readonly unknown[], deadline: number, isProbe = false): Waiting {
    const ms = Math.min(deadline - performance.now(), this.options.timeoutMs)
    const call: Waiting = {
      id: this.#nextId++,
      method,
      params,
      answer: defer<unknown>(),
      timer: setTimeout(() => this.#late(call), Math.max(ms, 0)),
      isProbe,
      isRepeated: false,
      isSettled: false,
    }
    return call
  }

  close(): void {
    this.#line.close()
    this.#reject(this.#waiting, new UpstreamFailure('unreachable', 'closed'))
  }

  #sendParts(calls: readonly Waiting[]): void {
    const size = this.policy.batchMax
    for (let start = 0; start < calls.length; start += size) void this.#send(calls.slice(start, start + size))
  }

  /** Sends one part, and the others once its outcome shows the accepted batch size. */
  async #sendInTurn(calls: readonly Waiting[]): Promise<void> {
    const size = this.policy.batchMax
    await this.#send(calls.slice(0, size))
    this.#sendParts(calls.slice(size))
  }

  /** Sends calls and settles each. Never rejects; resolves to the failure if there was no answer. */
  async #send(calls: readonly Waiting[]): Promise<UpstreamFailure | undefined> {
    const open = calls.filter(({ isSettled }) => !isSettled)
    if (open.length === 0) return undefined
    const start = performance.now()
    const ending = new AbortController()
    this.#abortWhenSettled(open, ending)
    try {
      if (this.policy.isResting) {
        throw new UpstreamFailure(
          'resting',
          'it failed several times in a row and is left alone for a moment',
        )
      }
      const answered = await this.#line.exchange(open, ending.signal)
      const { byId: answers, isRepeated } = readAnswers(open, answered)
      if (isRepeated) this.#noteRepeats()
      this.policy.answered(performance.now() - start, answers.size)
      const missing = open.filter((call) => !answers.has(String(call.id)))
      // A front that answers only some calls of a batch.
      if (missing.length > 0 || [...answers.values()].some(isBusy)) this.policy.batchRefused(open.length)
      for (const call of open) {
        if (!missing.includes(call)) this.#take(call, answers.get(String(call.id)) as Answer)
      }
      this.#sendParts(missing)
      return undefined
    } catch (error) {
      const failure = this.#failureOf(error, open.length, start, ending.signal)
      if (isOutage(failure)) this.policy.unanswered(start)
      return this.#fail(open, failure, start)
    }
  }

  /**
   * Why an exchange of this many calls, which began at `start`, had no answer. An exchange that the caller ends early
   * does not count against the node.
   */
  #failureOf(error: unknown, calls: number, start: number, { aborted }: AbortSignal): UpstreamFailure {
    const failure = asFailure(error)
    // Timers may fire up to 1 ms early.
    if (aborted && performance.now() - start < this.options.timeoutMs - 1)
      return new UpstreamFailure('abandoned', 'no answer in time')
    if (calls > 1 && maybeOfBatch.has(failure.kind))
      return new UpstreamFailure('batchRefused', failure.message)
    return failure
  }

  /** Logs once that it answers calls more than once. */
  #noteRepeats(): void {
    if (this.#hasRepeated) return
    this.#hasRepeated = true
    this.#notice(`${this.name} answers a call more than once; the first answer that is not null counts`)
  }

  /**
   * Handles calls without an answer to an exchange that began at `start`: retries if another form may work, or settles
   * them.
   */
  async #fail(
    calls: readonly Waiting[],
    failure: UpstreamFailure,
    start: number,
  ): Promise<UpstreamFailure | undefined> {
    const [first] = calls as readonly [Waiting]
    if (failure.kind === 'tooLong' && calls.length > 1) {
      const middle = Math.ceil(calls.length / 2)
      for (const half of [calls.slice(0, middle), calls.slice(middle)]) void this.#send(half)
      return failure
    }
    if (failure.kind === 'batchRefused') return this.#sendOneFirst(calls)
    if (failure.kind === 'refused' && !first.isProbe) return this.#refuse(first, failure)
    if (failure.kind === 'busy') this.policy.busy(calls.length, failure.retryAfterMs)
    else if (failure.kind !== 'resting') this.policy.failed()
    if (isOutage(failure)) void this.#noteOutage(calls, failure, start)
    this.#reject(calls, failure)
    return failure
  }

  /** A batch got no answer: sending the first call alone shows whether the batch was the reason. */
  async #sendOneFirst(calls: readonly Waiting[]): Promise<UpstreamFailure> {
    const [first, ...rest] = calls as readonly [Waiting, ...Waiting[]]
    const failure = await this.#send([first])
    if (failure === undefined) this.policy.batchRefused(calls.length)
    if (failure?.kind === 'refused') {
      // Only the first call's method is refused; the others are sent as before.
      const isSame = ({ method }: Call) => method === first.method
      this.#reject(rest.filter(isSame), refusedBy(this, failure))
      await this.#sendInTurn(rest.filter((call) => !isSame(call)))
    } else if (failure === undefined) await this.#sendInTurn(rest)
    else this.#reject(rest, failure)
    return failure ?? new UpstreamFailure('batchRefused', 'a batch is refused')
  }

  /**
   * A call was refused. That counts against its method, unless the node refuses everything. Asks again while the node
   * may have the method: another node behind the same front may have it.
   */
  async #refuse(call: Waiting, refusal: UpstreamFailure): Promise<UpstreamFailure | undefined> {
    const failure = await this.#outage()
    if (failure === undefined) {
      this.policy.methodFailed(call.method)
      if (this.policy.mayHave(call.method) && !call.isSettled) return this.#send([call])
    }
    this.#reject([call], failure ?? refusedBy(this, refusal))
    return failure ?? refusal
  }

  /** A failed call is no outage if another one is answered: then it counts against its method. */
  async #noteOutage(calls: readonly Waiting[], failure: UpstreamFailure, start: number): Promise<void> {
    const [{ method, isProbe }] = calls as readonly [Waiting]
    if (isProbe && this.policy.isAnswering === true) return
    const isSure = this.policy.isAnswering !== true || failure.kind === 'late'
    const isOut = isSure ? this.policy.outOfService(start, failure.message) : await this.#outage()
    if (!isOut && calls.length === 1) this.policy.methodFailed(method)
  }

  /**
   * Resolves to the failure of a node that is out of service: one that twice fails a call which every node answers.
   * Otherwise resolves to undefined.
   */
  async #outage(): Promise<UpstreamFailure | undefined> {
    const failure = (await this.#probe()) && (await this.#probe())
    // A pause that began meanwhile also stops the probes: the node did not answer several exchanges in a row.
    if (failure !== undefined && (failure.kind === 'resting' || isOutage(failure)))
      this.policy.outOfService(performance.now(), failure.message)
    return failure
  }

  /** Resolves to the failure if there was no answer. */
  #probe(): Promise<UpstreamFailure | undefined> {
    this.#probing ??= this.#askProbes().finally(() => {
      this.#probing = undefined
    })
    return this.#probing
  }

  async #askProbes(): Promise<UpstreamFailure | undefined> {
    const start = performance.now()
    let failure: UpstreamFailure | undefined
    for (const method of this.#line.probes) {
      const probe = this.#call(method, [], performance.now() + this.options.timeoutMs, true)
      probe.answer.promise.catch(() => undefined)
      failure = await this.#send([probe])
      if (failure?.kind !== 'refused') return failure
    }
    this.policy.unanswered(start)
    return failure && new UpstreamFailure('unreadable', failure.message)
  }

  #abortWhenSettled(calls: readonly Waiting[], ending: AbortController): void {
    let open = calls.length
    const close = () => {
      if (--open === 0) ending.abort()
    }
    for (const { answer } of calls) answer.promise.then(close, close)
  }

  #take(call: Waiting, answer: Answer): void {
    const { result, error } = answer
    const { code, message, data } =
      typeof error === 'object' ? ((error ?? {}) as RpcError) : { message: error }
    const text = textOf(message)
    const number = Number(textOf(code))
    if ((error ?? null) !== null && !isBusy(answer) && this.#isAskedAgain(call, number, text)) {
      call.isRepeated = true
      call.id = this.#nextId++
      return this.#enqueue(call)
    }
    this.#settle(call, () => {
      if (error === undefined || error === null) {
        if (result !== null) this.policy.methodAnswered(call.method)
        return call.answer.resolve(result)
      }
      if (isBusy(answer)) {
        this.policy.busy(1)
        return call.answer.reject(new UpstreamFailure('busy', `error ${textOf(code)}: ${text}`))
      }
      if (refusesMethod(number, text)) this.policy.lack(call.method)
      call.answer.reject(new NodeError(this, number, text, data))
    })
  }

  /** Whether an error may pass: callers of a network with one upstream would see it. Of others this node answers soonest. */
  #isAskedAgain({ method, isRepeated, isSettled }: Waiting, code: number, message: string): boolean {
    if (isRepeated || isSettled || !vagueCodes.has(code) || !askedAgain.test(method)) return false
    if (answerWords.test(message) || refusesMethod(code, message) || !this.policy.mayHave(method))
      return false
    return this.policy.admit() === undefined
  }

  #late(call: Waiting): void {
    this.#settle(call, () => call.answer.reject(new UpstreamFailure('late', 'no answer in time')))
  }

  #reject(calls: readonly Waiting[], error: Error): void {
    for (const call of calls) this.#settle(call, () => call.answer.reject(error))
  }

  #settle(call: Waiting, settle: () => void): void {
    if (call.isSettled) return
    call.isSettled = true
    clearTimeout(call.timer)
    settle()
  }
}

/** Nodes with unique names: host and port, plus a number if several share them. */
export function namesOf(nodes: readonly UpstreamOptions[]): [UpstreamOptions, string][] {
  const counts = new Map<string, number>()
  return nodes.map((node) => {
    const { host } = new URL(node.url)
    const count = (counts.get(host) ?? 0) + 1
    counts.set(host, count)
    return [node, count === 1 ? host : `${host} (${count})`]
  })
}

/** The error for a request that a node's front refused with an HTTP status. */
function refusedBy(upstream: Upstream, { status = Number.NaN, message }: UpstreamFailure): NodeError {
  return new NodeError(upstream, status, message, undefined)
}

/** Whether a failure means that the node is out of service. */
function isOutage(error: unknown): error is UpstreamFailure {
  return error instanceof UpstreamFailure && outages.has(error.kind)
}

const outages: ReadonlySet<FailureKind> = new Set(['unreachable', 'late', 'unreadable'])
/** Failures that a batch may have caused. */
const maybeOfBatch: ReadonlySet<FailureKind> = new Set([
  'unreachable',
  'unreadable',
  'refused',
  'batchRefused',
])

function asFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error
  return new UpstreamFailure('unreachable', error instanceof Error ? error.message : String(error))
}

interface LineOptions {
  /** `http:`, `https:`, `ws:` or `wss:`. May contain secrets, so only the node's name is ever shown. */
  readonly url: string
  /** Headers of every request, for example with a key. Never shown. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** URL of a proxy, which may contain secrets; if absent, the environment decides. */
  readonly proxy?: string | undefined
  /** Maximum bytes of one answer; of a batch, of all its answers together. */
  readonly answerBytesMax: number
}

/** JSON-RPC over the protocol of the URL. */
function lineTo({ url, headers = {}, answerBytesMax, proxy }: LineOptions): Line {
  const options = { url: new URL(url), headers, answerBytesMax, proxy }
  return options.url.protocol.startsWith('http')
    ? new HttpLine(options)
    : new SocketLine({ ...options, onNotification: () => {}, onLost: () => {} })
}
