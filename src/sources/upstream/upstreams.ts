import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { smallest } from '../../primitives/extremes.js'
import { OperatorError } from '../../primitives/faults.js'
import { pause } from '../../primitives/pause.js'
import { setTimeout } from '../../primitives/timers.js'
import { type ChosenHead, HeadChoice, type HeadListener } from './headChoice.js'
import { HeadClaimer } from './headClaimer.js'
import { type HeadClaim, HeadWatch } from './headWatch.js'
import { UpstreamFailure } from './line.js'
import { namesOf } from './namesOf.js'
import { NodeError, Upstream, type UpstreamOptions } from './upstream.js'
import { type ChainName, VettedNode } from './vettedNode.js'

/** Wait before nodes that all failed are asked again, at first; doubled each time up to the longest, with jitter. */
const retryMs = 50
const retryMsMax = 2_000
/** Longest pause of a node that is waited for where there are others: they are to get their turn. */
const briefMs = 1_000
/** Shortest wait before a second node is asked the same: below it, two answers cost more than one late one. */
const hedgeMsMin = 10
/** Wait before a second node is asked where latencies are not known yet. */
const hedgeMsDefault = 250

/** Methods that may be asked twice. A transaction's hash makes sending it again harmless. */
const repeatable =
  /^(eth_(get|call$|estimateGas$|createAccessList$|blockNumber$|chainId$|feeHistory$|gasPrice$|maxPriorityFeePerGas$|blobBaseFee$|baseFee$|syncing$|config$|sendRawTransaction$)|net_|web3_|debug_(get|trace|executionWitness|accountRange|storageRangeAt)|trace_|rpc_)/
/** Questions about what changes while an answer is under way; each asker is to get an answer of its own time. */
const answersInTime = /^eth_(getFilter|newFilter|newBlockFilter|uninstallFilter)/

interface UpstreamsOptions {
  readonly chain: ChainName
  /** Time between two polls for the head of a node without a WebSocket. */
  readonly pollMs: number
  /** How many nodes must have a head before it is followed; see {@link HeadChoice.quorum} where absent. */
  readonly quorum?: number | undefined
  /** Whether {@link HeadChoice.sign} says what the head is, and no node. */
  readonly isSigned?: boolean
  /** Called with sentences for the operator. They contain names of nodes, never URLs. */
  readonly log: (text: string) => void
}

export interface AskOptions {
  /** In the time of `performance.now()`. */
  readonly deadline: number
  /** Nodes that are not to be asked, for instance because their answer was wrong. */
  readonly not?: readonly Upstream[]
  /** Asked before all others if it may be, so that many questions are spread. */
  readonly first?: Upstream | undefined
  /** The one node that is to be asked, once, for instance because it answered the question before. */
  readonly only?: Upstream
  /** Whether each node is asked at most once, because there is another way. */
  readonly once?: boolean
}

/** An answer and who gave it. Unproved. */
export interface Asked {
  readonly result: unknown
  readonly upstream: Upstream
}

/** No node answered in time. The message names each and why, for the operator; `brief` is for callers. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  constructor(
    message: string,
    readonly brief = message,
  ) {
    super(message)
  }
}

/** What a node's `/health` entry says. */
export interface UpstreamState {
  readonly name: string
  readonly isAnswering: boolean
  /** Because it lied, or is of another chain. */
  readonly isQuarantined: boolean
  /** Number of the head it claims; undefined before the first answer. */
  readonly head: number | undefined
  readonly lies: readonly string[]
}

/** What was asked of a node since the start, and how it stands. */
export interface UpstreamFigures extends Omit<UpstreamState, 'lies'> {
  /** Exchanges; a batch is one. */
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
  /** By name of the node, in words. */
  readonly failures: Map<string, string>
  readonly refusals: Map<Upstream, NodeError>
}

interface Watched {
  readonly upstream: Upstream
  readonly claimer: HeadClaimer
  readonly watch: HeadWatch
}

/**
 * Several nodes of one chain, asked as one: whoever answers best is asked first, others when it fails or is slow, all
 * again until the deadline. Identical questions under way are one.
 */
export class Upstreams {
  /** Which head is followed. */
  readonly choice: HeadChoice
  readonly #nodes: readonly Watched[]
  readonly #options: UpstreamsOptions
  /** Questions under way, by method and parameters. */
  readonly #flights = new Map<string, Promise<Asked>>()
  readonly #ending = new AbortController()

  constructor(nodes: readonly UpstreamOptions[], options: UpstreamsOptions) {
    this.#options = options
    // Each question that is to be asked again waits for it.
    setMaxListeners(0, this.#ending.signal)
    this.#nodes = namesOf(nodes).map(([node, name]) => this.#watch(new Upstream(node, name, options.log)))
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

  /** Nodes that may be asked, best first; those that did not answer the last time come last. */
  get candidates(): readonly Upstream[] {
    return this.#ranked([])
  }

  /** Nodes that answer, best first. */
  get answering(): readonly Upstream[] {
    return this.candidates.filter(({ isAnswering }) => isAnswering !== false)
  }

  /** How many there are. */
  get count(): number {
    return this.#nodes.length
  }

  states(): UpstreamState[] {
    return this.#nodes.map(({ upstream, claimer }) => ({
      name: upstream.name,
      isAnswering: upstream.isAnswering === true,
      isQuarantined: upstream.isQuarantined || claimer.vetted.isOfOtherChain,
      head: claimer.claim?.number,
      lies: upstream.score.lies,
    }))
  }

  figures(): UpstreamFigures[] {
    return this.states().map((state, index) => {
      const { score: standing, hedges } = (this.#nodes[index] as Watched).upstream
      return { ...state, ...standing.totals, hedges }
    })
  }

  /**
   * Compares the chain of every node that answers within `ms`. Throws OperatorError that names a node of another
   * chain. Resolves to whether any answered.
   */
  async check(ms: number): Promise<boolean> {
    const deadline = performance.now() + ms
    const verdicts = await Promise.all(this.#nodes.map(({ claimer }) => claimer.vetted.verdict(deadline)))
    const wrong = verdicts.find((verdict) => verdict !== undefined && verdict !== '')
    if (wrong !== undefined) throw new OperatorError(wrong)
    return verdicts.includes('')
  }

  /**
   * Asks a node, and others where it fails, is slow or does not have the method. Rejects with {@link NodeError}, the first
   * that a node answers, or with {@link NoAnswerError}.
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
        // Whoever asked first may have had less time.
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

  /** Asks every node that answers once, each its own; best first. The answers reject as those of {@link Upstream.ask}. */
  askEach(method: string, params: readonly unknown[], deadline: number) {
    return this.answering.map((upstream) => ({
      upstream,
      answer: this.#askVetted(upstream, method, params, deadline),
    }))
  }

  /**
   * Calls `listener` whenever the followed head changes, also backwards; returns a function that stops this. The first
   * call begins to watch the heads.
   */
  onHead(listener: HeadListener): () => void {
    for (const { watch } of this.#nodes) watch.start()
    return this.choice.listen(listener)
  }

  /** Asks every node for its head now; resolves when all have answered or failed. */
  async poll(): Promise<void> {
    await Promise.all(this.#nodes.map(({ watch }) => watch.poll()))
  }

  /** Ends every question under way and every watch. */
  close(): void {
    this.#ending.abort()
    this.choice.close()
    for (const { upstream, watch } of this.#nodes) {
      watch.close()
      upstream.close()
    }
  }

  #watch(upstream: Upstream): Watched {
    const { chain, log, pollMs } = this.#options
    const vetted = new VettedNode(upstream, chain, log)
    const claimer = new HeadClaimer(upstream, vetted, pollMs)
    const onHead = async (claim: HeadClaim, blockMs: number | undefined) => {
      if ((await vetted.verdict(performance.now() + upstream.options.timeoutMs)) !== '') return
      claimer.take(claim, blockMs)
      this.choice.claimed(claimer)
    }
    return {
      upstream,
      claimer,
      watch: new HeadWatch(upstream, { pollMs, onHead: (...told) => void onHead(...told), log }),
    }
  }

  /** Nodes that may be asked, best first; then those that did not answer the last time, and those without the method. */
  #ranked(not: readonly Upstream[], method?: string): Upstream[] {
    // Not the highest claim: that may be of a block that is nowhere, and its node would be asked first.
    const head = this.head?.claim.number ?? 0
    return this.#nodes
      .filter(({ upstream, claimer }) => {
        return !not.includes(upstream) && !upstream.isQuarantined && !claimer.vetted.isRefused
      })
      .map(({ upstream, claimer }) => ({
        upstream,
        lacks: Number(method !== undefined && !upstream.mayHave(method)),
        isSilent: Number(upstream.isAnswering === false),
        // Who lied not long ago is asked where the others do not help.
        cost:
          upstream.score.cost(Math.max(0, head - (claimer.claim?.number ?? head))) * 10 ** upstream.offences,
      }))
      .sort((a, b) => a.lacks - b.lacks || a.isSilent - b.isSilent || a.cost - b.cost)
      .map(({ upstream }) => upstream)
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
    let failed = 0
    for (let round = 0; ; ) {
      const ranked = this.#ranked([...not, ...refusals.keys()], method).sort(
        (a, b) => Number(b === first) - Number(a === first),
      )
      const ready = ranked.filter((upstream) => upstream.waitMs() === 0).slice(0, nodesMax)
      if (ready.length > 0) round++
      const asked = await this.#race(ready, question)
      if (asked !== undefined) return asked
      const [refusal] = refusals.values()
      if (refusal && ranked.every((upstream) => refusals.has(upstream))) throw refusal
      const pauses = ranked.map((upstream) => upstream.waitMs())
      // Whoever waits for the end of a pause is asked then; pauses get longer by themselves.
      const pauseMs = ranked.length > 0 ? smallest([...pauses, retryMsMax]) : 0
      // All that waits for the end of a pause is asked at once then, and so in one batch.
      const waitMs = pauseMs > 0 ? pauseMs : backOffMs(++failed)
      const isNobody = ranked.length === 0 || (this.#nodes.length > 1 && waitMs > briefMs)
      const isOver = round >= roundsMax || (isNobody && roundsMax < Infinity)
      if (this.#ending.signal.aborted || isOver || performance.now() + waitMs >= deadline) {
        const brief = `no upstream answered ${method}`
        throw new NoAnswerError(`${brief} (${this.#explain(not, question.failures)})`, brief)
      }
      await pause(waitMs, this.#ending.signal)
    }
  }

  /**
   * Asks the first node; each further one when all before it failed, or are slow: two may be silent. The wait for that
   * doubles with each. Resolves to the first answer, or to undefined where there was none: `failures` then has the
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
        if (isHedge) upstream.hedges++
        this.#askVetted(upstream, method, params, deadline).then(
          (result) => finish(() => resolve({ result, upstream })),
          (error) => {
            running--
            const isRefusal = error instanceof NodeError && !upstream.mayHave(method)
            if (!(error instanceof UpstreamFailure || isRefusal)) return finish(() => reject(error))
            if (isRefusal) refusals.set(upstream, error)
            failures.set(upstream.name, error.message)
            startNext()
          },
        )
        if (next < upstreams.length) hedge = setTimeout(startNext, hedgeMs(upstream) * 2 ** (next - 1), true)
      }
      startNext()
    })
  }

  #askVetted(upstream: Upstream, method: string, params: readonly unknown[], deadline: number) {
    const { claimer } = this.#nodes.find((each) => each.upstream === upstream) as Watched
    return claimer.vetted.ask(method, params, deadline)
  }

  #explain(not: readonly Upstream[], failures: ReadonlyMap<string, string>): string {
    const reasons = this.#nodes.map(({ upstream, claimer }) => {
      const { name, isQuarantined } = upstream
      if (not.includes(upstream)) return `${name}: not asked again`
      if (isQuarantined) return `${name}: quarantined, because it lied`
      if (claimer.vetted.isRefused) return `${name}: of another chain`
      return `${name}: ${failures.get(name) ?? 'it asked for a pause, or its budget is spent'}`
    })
    return reasons.join('; ')
  }
}

function hedgeMs({ score: standing }: Upstream): number {
  return Math.max(standing.quantile(0.95) ?? hedgeMsDefault, hedgeMsMin)
}

/**
 * Ms before the next round, after so many rounds in which every node that was asked failed. One address may stand for
 * several nodes, of which another one may answer: so each second round follows at once.
 */
export function backOffMs(failed: number): number {
  if (failed % 2 === 1) return 0
  return Math.min(retryMs * 2 ** (failed / 2 - 1), retryMsMax) * (0.5 + Math.random())
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
