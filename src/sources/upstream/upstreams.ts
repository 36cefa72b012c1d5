/**
 * Several nodes of one chain, asked as one. Owns which node is asked next, when a second one is asked the same, and
 * that identical running requests are sent once.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { smallest } from '../../primitives/extremes.js'
import { OperatorError } from '../../primitives/faults.js'
import { setTimeout } from '../../primitives/timers.js'
import { type ChainName, checkChain } from './askChain.js'
import { type ChosenHead, HeadChoice, type HeadListener } from './headChoice.js'
import { HeadClaimer } from './headClaimer.js'
import { type HeadClaim, HeadWatch } from './headWatch.js'
import { UpstreamFailure } from './line.js'
import { bestFirst, type LastError, type NodePolicy } from './nodePolicy.js'
import { Retry } from './retry.js'
import { type Ask, NodeError, namesOf, Upstream, type UpstreamOptions } from './upstream.js'

/** Maximum pause to wait for if there are other nodes, so that those get their turn. */
const briefMs = 1_000
/** Maximum wait for the end of a pause before the nodes are looked at again: another one may be back. */
const pauseMsMax = 2_000

/** Methods that may be asked twice. A transaction's hash makes sending it again harmless. */
const repeatable =
  /^(eth_(get|call$|estimateGas$|createAccessList$|blockNumber$|chainId$|feeHistory$|gasPrice$|maxPriorityFeePerGas$|blobBaseFee$|baseFee$|syncing$|config$|sendRawTransaction$)|net_|web3_|debug_(get|trace|executionWitness|accountRange|storageRangeAt)|trace_|rpc_)/
/** Methods whose answer may change while a request runs; each caller gets an answer of its own time. */
const answersInTime = /^eth_(getFilter|newFilter|newBlockFilter|uninstallFilter)/

interface UpstreamsOptions {
  readonly chain: ChainName
  /** Time between two polls of a node without a WebSocket for its head. */
  readonly pollMs: number
  /** The number of nodes that must have a head before it is followed; if absent, see {@link HeadChoice.quorum}. */
  readonly quorum?: number | undefined
  /** Whether {@link HeadChoice.sign} sets the head instead of the nodes. */
  readonly isSigned?: boolean
  /** Called with sentences for the operator. They contain names of nodes, never URLs. */
  readonly log: (text: string) => void
}

export interface AskOptions {
  /** In the time of `performance.now()`. */
  readonly deadline: number
  /** Nodes to leave out, for example because their answer was wrong. */
  readonly not?: readonly Upstream[]
  /** Asked first if possible, to spread many requests. */
  readonly first?: Upstream | undefined
  /** The only node to ask, once, for example because it answered the request before. */
  readonly only?: Upstream
  /** Whether each node is asked at most once, because there is an alternative. */
  readonly once?: boolean
}

/** An answer and the node that gave it. Unproved. */
export interface Asked {
  readonly result: unknown
  readonly upstream: Upstream
}

/** No node answered in time. The message gives the reason for each, for the operator; `brief` is for callers. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  constructor(
    message: string,
    readonly brief = message,
  ) {
    super(message)
  }
}

/** A node's entry in `/health`. */
export interface UpstreamState {
  readonly name: string
  readonly isAnswering: boolean
  /** Whether the node is not asked because it lied, or has another chain. */
  readonly isQuarantined: boolean
  /** Number of the head it claims; undefined before the first answer. */
  readonly head: number | undefined
  readonly lies: readonly string[]
  /** Undefined before the first failure. */
  readonly lastError?: LastError | undefined
}

/** The requests to a node since the start, and its state. */
export interface UpstreamFigures extends Omit<UpstreamState, 'lies' | 'lastError'> {
  /** Answered exchanges; a batch is one. */
  readonly answered: number
  readonly seconds: number
  readonly failed: number
  readonly hedges: number
  readonly lies: number
}

interface Question {
  readonly method: string
  readonly params: readonly unknown[]
  readonly deadline: number
  /** Name of the node → its failure in words. */
  readonly failures: Map<string, string>
  readonly refusals: Map<Upstream, NodeError>
}

interface Watched {
  readonly upstream: Upstream
  readonly policy: NodePolicy
  readonly claimer: HeadClaimer
  readonly watch: HeadWatch
}

/** The best node is asked first, others when it fails or is slow, and all again until the deadline. */
export class Upstreams {
  readonly choice: HeadChoice
  readonly #nodes: readonly Watched[]
  readonly #options: UpstreamsOptions
  /** Running requests, by method and parameters. */
  readonly #flights = new Map<string, Promise<Asked>>()
  readonly #ending = new AbortController()

  constructor(nodes: readonly UpstreamOptions[], options: UpstreamsOptions) {
    this.#options = options
    // Each request that waits for a retry listens to it.
    setMaxListeners(0, this.#ending.signal)
    const check = (ask: Ask) => checkChain(ask, options.chain)
    this.#nodes = namesOf(nodes).map(([node, name]) =>
      this.#watch(new Upstream(node, name, options.log, { check })),
    )
    const claimers = this.#nodes.map(({ claimer }) => claimer)
    this.choice = new HeadChoice(claimers, options.quorum, options.isSigned)
  }

  /** The followed head as its node claims it: the highest that {@link quorum} nodes have. Unproved. */
  get head(): ChosenHead | undefined {
    return this.choice.head
  }

  /** See {@link HeadChoice.quorum}. */
  get quorum(): number {
    return this.choice.quorum
  }

  /** Nodes that may be asked, best first; those without an answer the last time come last. */
  get candidates(): readonly Upstream[] {
    return this.#ranked()
  }

  /** Nodes that answer, best first. */
  get answering(): readonly Upstream[] {
    return this.candidates.filter(({ policy }) => policy.isAnswering !== false)
  }

  get count(): number {
    return this.#nodes.length
  }

  states(): UpstreamState[] {
    return this.#nodes.map(({ upstream, policy, claimer }) => ({
      name: upstream.name,
      isAnswering: policy.isAnswering === true,
      isQuarantined: policy.isQuarantined || policy.chainFault !== undefined,
      head: claimer.claim?.number,
      lies: policy.lies,
      lastError: policy.lastError,
    }))
  }

  figures(): UpstreamFigures[] {
    return this.states().map((state, index) => {
      const { totals, hedges } = (this.#nodes[index] as Watched).policy
      return { ...state, ...totals, hedges }
    })
  }

  /**
   * Compares the chain of every node that answers within `ms`. Throws OperatorError that names a node of another chain.
   * Resolves to whether any node answered.
   */
  async check(ms: number): Promise<boolean> {
    const deadline = performance.now() + ms
    const checks = await Promise.allSettled(this.#nodes.map(({ upstream }) => upstream.chainFault(deadline)))
    const faults = checks.flatMap((check) => (check.status === 'fulfilled' ? [check.value] : []))
    const fault = faults.find((each) => each !== undefined)
    if (fault !== undefined) throw new OperatorError(fault)
    return faults.length > 0
  }

  /**
   * Asks a node, and others if it fails, is slow or lacks the method. Rejects with {@link NodeError}, the first from a
   * node, or with {@link NoAnswerError}.
   */
  async ask(method: string, params: readonly unknown[], options: AskOptions): Promise<Asked> {
    const { deadline, first, only, once = only !== undefined } = options
    const not = only === undefined ? (options.not ?? []) : this.candidates.filter((each) => each !== only)
    if (!repeatable.test(method) || answersInTime.test(method)) {
      return this.#search(method, params, { deadline, not }, 1, 1)
    }
    const key = `${method} ${JSON.stringify(params)} ${once} ${not.map(({ name }) => name).join()}`
    for (;;) {
      const flight = this.#flights.get(key)
      if (flight === undefined) break
      try {
        return await within(flight, deadline)
      } catch (error) {
        // The first caller may have had less time.
        if (!(error instanceof NoAnswerError) || performance.now() >= deadline) throw error
      }
    }
    const rounds = once ? 1 : Infinity
    const flight = this.#search(method, params, { deadline, not, first }, rounds).finally(() =>
      this.#flights.delete(key),
    )
    this.#flights.set(key, flight)
    return flight
  }

  /** Asks every answering node once, best first. Each answer rejects as {@link Upstream.ask} does. */
  askEach(method: string, params: readonly unknown[], deadline: number) {
    return this.answering.map((upstream) => ({
      upstream,
      answer: upstream.ask(method, params, deadline),
    }))
  }

  /**
   * Calls `listener` whenever the followed head changes, also backwards; returns a function that stops the calls. The
   * first call starts watching the heads.
   */
  onHead(listener: HeadListener): () => void {
    for (const { watch } of this.#nodes) watch.start()
    return this.choice.listen(listener)
  }

  /** Polls every node for its head now; resolves when all have answered or failed. */
  async poll(): Promise<void> {
    await Promise.all(this.#nodes.map(({ watch }) => watch.poll()))
  }

  /** Ends every running request and every watch. */
  close(): void {
    this.#ending.abort()
    this.choice.close()
    for (const { upstream, watch } of this.#nodes) {
      watch.close()
      upstream.close()
    }
  }

  #watch(upstream: Upstream): Watched {
    const { log, pollMs } = this.#options
    const claimer = new HeadClaimer(upstream, pollMs)
    const onHead = async (claim: HeadClaim, blockMs: number | undefined) => {
      const deadline = performance.now() + upstream.options.timeoutMs
      const isOfChain = await upstream.chainFault(deadline).then(
        (fault) => fault === undefined,
        () => false,
      )
      if (!isOfChain) return
      claimer.take(claim, blockMs)
      await this.choice.claimed(claimer)
    }
    return {
      upstream,
      policy: upstream.policy,
      claimer,
      watch: new HeadWatch(upstream, { pollMs, onHead, log }),
    }
  }

  #ranked(method?: string): Upstream[] {
    // Not the highest claim: its block may not exist, and its node would be asked first.
    const head = this.head?.claim.number ?? 0
    const blocksBehind = ({ claimer }: Watched) => Math.max(0, head - (claimer.claim?.number ?? head))
    return bestFirst(this.#nodes, blocksBehind, method).map(({ upstream }) => upstream)
  }

  async #search(
    method: string,
    params: readonly unknown[],
    { deadline, not, first }: AskOptions & { readonly not: readonly Upstream[] },
    roundsMax: number,
    nodesMax = Infinity,
  ): Promise<Asked> {
    const refusals = new Map<Upstream, NodeError>()
    const question = { method, params, deadline, failures: new Map<string, string>(), refusals }
    const retry = new Retry(deadline, this.#ending.signal)
    for (let round = 0; ; ) {
      const ranked = this.#ranked(method)
        .filter((upstream) => !not.includes(upstream) && !refusals.has(upstream))
        .sort((a, b) => Number(b === first) - Number(a === first))
      const ready = ranked.filter(({ policy }) => policy.waitMs() === 0).slice(0, nodesMax)
      if (ready.length > 0) round++
      const asked = await this.#race(ready, question)
      if (asked !== undefined) return asked
      const [refusal] = refusals.values()
      if (refusal && ranked.every((upstream) => refusals.has(upstream))) throw refusal
      // After a pause all its waiting requests are sent at once, so in one batch; pauses get longer by themselves.
      const pauses = ranked.map(({ policy }) => policy.waitMs())
      const pauseMs = ranked.length > 0 ? smallest([...pauses, pauseMsMax]) : 0
      const isNobody = ranked.length === 0 || (this.#nodes.length > 1 && pauseMs > briefMs)
      const isOver = round >= roundsMax || (isNobody && roundsMax < Infinity)
      if (isOver || !(await retry.wait(pauseMs))) {
        const brief = `no upstream answered ${method}`
        throw new NoAnswerError(`${brief} (${this.#explain(not, question.failures)})`, brief)
      }
    }
  }

  /**
   * Asks the first node; each further one when all before it failed or are slow: two may be silent. The wait for a slow
   * node doubles each time. Resolves to the first answer, or to undefined if there was none: `failures` then has the
   * reasons, `refusals` the errors of nodes without the method. Any other error of a node is an answer.
   */
  #race(upstreams: readonly Upstream[], question: Question): Promise<Asked | undefined> {
    const { method, params, deadline, failures, refusals } = question
    return new Promise((resolve, reject) => {
      let next = 0
      let running = 0
      let hedge: NodeJS.Timeout | undefined
      const finish = (settle: () => void) => {
        clearTimeout(hedge)
        next = upstreams.length
        settle()
      }
      const startNext = (isHedge = false) => {
        clearTimeout(hedge)
        const upstream = upstreams[next++]
        if (upstream === undefined) {
          if (running === 0) resolve(undefined)
          return
        }
        running++
        if (isHedge) upstream.policy.hedges++
        upstream.ask(method, params, deadline).then(
          (result) => finish(() => resolve({ result, upstream })),
          (error) => {
            running--
            const isRefusal = error instanceof NodeError && !upstream.policy.mayHave(method)
            if (!(error instanceof UpstreamFailure || isRefusal)) return finish(() => reject(error))
            if (isRefusal) refusals.set(upstream, error)
            failures.set(upstream.name, error.message)
            startNext()
          },
        )
        if (next < upstreams.length)
          hedge = setTimeout(startNext, upstream.policy.hedgeMs * 2 ** (next - 1), true)
      }
      startNext()
    })
  }

  #explain(not: readonly Upstream[], failures: ReadonlyMap<string, string>): string {
    const reasons = this.#nodes.map(({ upstream, policy }) => {
      const { name } = upstream
      if (not.includes(upstream)) return `${name}: not asked again`
      if (policy.isQuarantined) return `${name}: quarantined, because it lied`
      if (policy.isRefused) return `${name}: of another chain`
      return `${name}: ${failures.get(name) ?? 'it asked for a pause, or its budget is spent'}`
    })
    return reasons.join('; ')
  }
}

/** Rejects with NoAnswerError at the deadline. */
async function within<T>(promise: Promise<T>, deadline: number): Promise<T> {
  const timer = new AbortController()
  try {
    return await Promise.race([
      promise,
      sleep(Math.max(deadline - performance.now(), 0), undefined, { signal: timer.signal }).then(() => {
        throw new NoAnswerError('no answer in time')
      }),
    ])
  } finally {
    timer.abort()
  }
}
