/**
 * The state and policy of one node. Is it in service, when may it be asked again, and how large are batches? Which
 * methods does it lack, what are its budget, lies and rank? Callers report outcomes. Owns neither connections nor
 * retries.
 */
import { putNewest } from '../../primitives/putNewest.js'
import { Budget } from './budget.js'
import { UpstreamFailure } from './line.js'

/** Unanswered exchanges in a row after which a node rests for a while, so that it can recover. */
const unansweredMax = 5
/** Length of that rest; doubled, less some jitter, while the first exchange after it fails. */
const restMs = { first: 200, max: 5_000 }
/** Pause after a node asks for fewer requests without a time; doubled by each in a row. */
const pauseMs = { first: 250, max: 4_000 }
/**
 * Longest accepted pause when a node reports a time: `first` for its first such report in a row. Each further report in
 * a row may have four times as long. Some fronts give the time until the end of their daily quota, and yet answer the
 * next request.
 */
const reportedPauseMs = { first: 1_000, max: 30_000 }
/** Time for which a node is not asked after a lie; doubled by each further lie. */
const quarantineMs = { first: 5_000, max: 3_600_000 }
/** Time without a lie, after the quarantine, that forgives one doubling. Ten doublings make an hour. */
const forgiveMs = 60_000
/** Maximum descriptions of lies in memory. */
const liesMax = 8
/** Time for which a node of another chain is not asked; its operator may then have corrected it. */
const otherChainMs = 5_000

/** Latencies stored per node: five of them are above the p95. */
const latenciesMax = 100
/** With fewer latencies the p95 means little. */
const latenciesMin = 5
/** Weight of the newest outcome in the error share: about the last twenty count. */
const newestShare = 0.1
/** Assumed latency of a node that was never asked. */
const unknownLatencyMs = 50
/** Minimum wait before a second node is asked the same: below it, two answers cost more than one late one. */
const hedgeMsMin = 10
/** Wait before a second node is asked while latencies are unknown. */
const hedgeMsDefault = 250

/**
 * Batch sizes that nodes and their fronts accept: some only one call, free tiers a few, most hosted nodes a hundred,
 * go-ethereum a thousand.
 */
const batchSizes = [1, 3, 10, 100, 1_000] as const
/**
 * Time after which a refused batch size or method is tried again. The node's operator may have changed the limit, or
 * upgraded the node.
 */
const refusedMs = 600_000
/**
 * Time after which a refused method is tried again that the node answered before. One of several nodes behind a front
 * may lack it, or a firewall may fail.
 */
const refusedAgainMs = 2_000
/** Failures in a row of one method, while the node answers others, after which the method counts as refused. */
const methodFailuresMax = 3
/** Maximum methods in the record: more than this program uses, and a bound for methods that callers name. */
const methodsMax = 256

/** The newest failure of a node. */
export interface LastError {
  /** In milliseconds since 1970. */
  readonly atMs: number
  readonly why: string
}

interface KnownMethod {
  readonly failures: number
  /** The method counts as refused until then, in the time of `performance.now()`. */
  readonly lackedUntil: number
  /** Whether it was answered, and was not refused since. */
  readonly isAnswered: boolean
}

/** Bounds of a wait that grows. */
interface Growth {
  readonly first: number
  readonly max: number
}

function grown({ first, max }: Growth, times: number, factor = 2): number {
  return Math.min(first * factor ** times, max)
}

export class NodePolicy {
  /**
   * Whether the node is in service: false after several failed requests in a row; undefined before the first outcome.
   */
  isAnswering: boolean | undefined
  /** How often it stopped answering. */
  outages = 0
  /** Undefined before the first failure. */
  lastError: LastError | undefined
  /** Requests that it got because another node was slow. */
  hedges = 0
  /** Answered exchanges, their total time, failed exchanges, and lies. A batch is one exchange. */
  readonly totals = { answered: 0, seconds: 0, failed: 0, lies: 0 }
  readonly #name: string
  readonly #notice: (text: string) => void

  #answeredAt = 0
  #reportedOutages = 0
  /** Unanswered exchanges since the last answer or rest. */
  #unanswered = 0
  #rests = 0
  #restedAt = 0
  #restsUntil = 0

  #pausedUntil = 0
  /** Requests for a pause in a row. */
  #pauses = 0
  readonly #budget: Budget

  /** Descriptions of the last lies, oldest first. */
  readonly #lies: string[] = []
  #quarantinedUntil = 0
  /** Unforgiven lies at the last accusation, including that one. */
  #offences = 0

  /** The value of {@link outages} when its chain was last found correct. */
  #chainCheckedAt: number | undefined
  #chainFault: string | undefined
  #otherChainUntil = 0

  readonly #latencies: number[] = []
  #nextLatency = 0
  /** Share of errors from 0 to 1; recent outcomes count most. */
  #errorShare = 0

  #sizeAt = batchSizes.length - 1
  #sizeRefusedAt = 0
  /** Calls of the last batch for which the node was busy; 0 if a batch of this size was answered since. */
  #busyBatch = 0
  readonly #methods = new Map<string, KnownMethod>()

  /**
   * `notice` gets a sentence for the operator when the node stops answering, answers again, or lied. `perSecond` is the
   * budget in requests.
   */
  constructor(name: string, notice: (text: string) => void = () => {}, perSecond = Infinity) {
    this.#name = name
    this.#notice = notice
    this.#budget = new Budget(perSecond)
  }

  /** Spends a request of the budget. Returns the reason if the node may not be asked now. */
  admit(): UpstreamFailure | undefined {
    if (this.isQuarantined) return new UpstreamFailure('quarantined', 'it lied')
    const waitMs = this.waitMs()
    if (waitMs > 0) return new UpstreamFailure('busy', 'it asked for a pause, or its budget is spent', waitMs)
    this.#budget.take()
    return undefined
  }

  /** Time in ms until it may be asked; 0 for now. */
  waitMs(): number {
    return Math.max(this.#pausedUntil - performance.now(), this.#budget.waitMs(), 0)
  }

  /** Whether the node rests after several failures in a row. */
  get isResting(): boolean {
    return performance.now() < this.#restsUntil
  }

  get isQuarantined(): boolean {
    return performance.now() < this.#quarantinedUntil
  }

  /** Whether the node is not asked for a while, because it has another chain. */
  get isRefused(): boolean {
    return performance.now() < this.#otherChainUntil
  }

  /** Whether the node's chain was found correct since it last stopped answering: another node may have replaced it. */
  get hasChain(): boolean {
    return this.#chainCheckedAt === this.outages
  }

  /** The fault of its chain at the last check; undefined if there was none. */
  get chainFault(): string | undefined {
    return this.#chainFault
  }

  /** Records a check of its chain; `fault` is undefined if the chain is correct. */
  chainChecked(fault: string | undefined): void {
    if (fault === undefined) this.#chainCheckedAt = this.outages
    else this.#otherChainUntil = performance.now() + otherChainMs
    if (fault !== undefined && fault !== this.#chainFault) this.#notice(fault)
    this.#chainFault = fault
  }

  /** Records an exchange with this number of answers. */
  answered(latencyMs: number, answers: number): void {
    this.#latencies[this.#nextLatency] = latencyMs
    this.#nextLatency = (this.#nextLatency + 1) % latenciesMax
    this.#errorShare *= 1 - newestShare
    this.totals.answered++
    this.totals.seconds += latencyMs / 1_000
    this.#answeredAt = performance.now()
    this.isAnswering = true
    if (this.outages > this.#reportedOutages) this.#notice(`${this.#name} answers again`)
    this.#reportedOutages = this.outages
    this.#unanswered = this.#rests = this.#restsUntil = 0
    // An answer shows that the requested pause is too long; requests that run during a pause are answered, too.
    this.#pauses = 0
    this.#pausedUntil = Math.min(this.#pausedUntil, this.#answeredAt + reportedPauseMs.first)
    if (answers >= this.#busyBatch) this.#busyBatch = 0
  }

  /** Records a failed exchange, or a useless answer: other nodes are asked before it. */
  failed(): void {
    this.#errorShare += newestShare * (1 - this.#errorShare)
    this.totals.failed++
  }

  /**
   * Records that the node asked for fewer requests, in answer to `calls` calls. `reportedMs` is the pause that it
   * names. The batch may have been too large: the second time in a row counts as its refusal.
   */
  busy(calls: number, reportedMs?: number): void {
    this.failed()
    this.#pause(reportedMs)
    if (calls < 2) return
    if (this.#busyBatch > 0) this.batchRefused(calls)
    this.#busyBatch = calls
  }

  /** Records an unanswered exchange that began at `start`. Exchanges from before the last rest were counted with it. */
  unanswered(start: number): void {
    if (start < this.#restedAt || ++this.#unanswered < unansweredMax) return
    this.#restedAt = performance.now()
    this.#restsUntil = this.#restedAt + grown(restMs, this.#rests++) * (1 - Math.random() / 2)
  }

  /**
   * Records that it is out of service, as an exchange from `start` shows. Returns false if the node answered since, so
   * that it is in service.
   */
  outOfService(start: number, why: string): boolean {
    if (start < this.#answeredAt) return false
    this.lastError = { atMs: Date.now(), why }
    if (this.isAnswering === false) return true
    this.isAnswering = false
    this.outages++
    this.#notice(`${this.#name} does not answer (${why}); trying again`)
    return true
  }

  /**
   * Records that an answer was proved wrong. The node is not asked for a time that doubles with each lie, and halves
   * again with each minute without one. `what` names the lie.
   */
  accuse(what: string): void {
    if (this.isQuarantined) return
    this.totals.lies++
    this.#lies.push(what)
    if (this.#lies.length > liesMax) this.#lies.shift()
    const { offences } = this
    const ms = grown(quarantineMs, offences)
    this.#offences = offences + 1
    this.#quarantinedUntil = performance.now() + ms
    this.#notice(`${this.#name} lied: ${what}; it is not asked for ${ms / 1_000} s`)
  }

  /** Descriptions of the last lies, oldest first. */
  get lies(): readonly string[] {
    return this.#lies
  }

  /** Lies that are not forgiven yet. */
  get offences(): number {
    const cleanMs = Math.max(performance.now() - this.#quarantinedUntil, 0)
    return Math.max(this.#offences - Math.floor(cleanMs / forgiveMs), 0)
  }

  /** The maximum batch size, learned from refusals. */
  get batchMax(): number {
    const now = performance.now()
    if (this.#sizeAt < batchSizes.length - 1 && now - this.#sizeRefusedAt > refusedMs) {
      this.#sizeAt++
      this.#sizeRefusedAt = now
    }
    return batchSizes[this.#sizeAt] as number
  }

  /** Records that a batch of `calls` calls, at least two, is too large. */
  batchRefused(calls: number): void {
    this.#sizeRefusedAt = performance.now()
    while (this.#sizeAt > 0 && (batchSizes[this.#sizeAt] as number) >= calls) this.#sizeAt--
  }

  /** Whether the node may have a method: false for ten minutes after a refusal in any form. */
  mayHave(method: string): boolean {
    return performance.now() >= (this.#methods.get(method)?.lackedUntil ?? 0)
  }

  /** Records that it refuses a method, or that its answers to it are unusable. */
  lack(method: string): void {
    const ms = this.#methods.get(method)?.isAnswered ? refusedAgainMs : refusedMs
    this.#setMethod(method, { failures: 0, lackedUntil: performance.now() + ms, isAnswered: false })
  }

  /** Records a failure of this method alone: the node answers others, or another node answers it. */
  methodFailed(method: string): void {
    const { failures = 0, isAnswered = false } = this.#methods.get(method) ?? {}
    if (failures + 1 >= methodFailuresMax) this.lack(method)
    else this.#setMethod(method, { failures: failures + 1, lackedUntil: 0, isAnswered })
  }

  methodAnswered(method: string): void {
    const known = this.#methods.get(method)
    if (known?.isAnswered && known.failures === 0) return
    this.#setMethod(method, { failures: 0, lackedUntil: 0, isAnswered: true })
  }

  /** Wait before another node is asked the same: its usual latency, as far as it is known. */
  get hedgeMs(): number {
    return Math.max(this.#latency(0.95) ?? hedgeMsDefault, hedgeMsMin)
  }

  /**
   * The cost of asking this node; the lowest is best. It is the median latency in ms, times 1 to 21 for errors. That is
   * multiplied by one plus the number of blocks behind, and by ten for each unforgiven lie.
   */
  cost(blocksBehind: number): number {
    const latencyMs = this.#latency(0.5) ?? unknownLatencyMs
    return latencyMs * (1 + 20 * this.#errorShare) * (1 + blocksBehind) * 10 ** this.offences
  }

  /** Latency in ms that the given share of answers does not exceed; undefined while too few are known. */
  #latency(share: number): number | undefined {
    const count = this.#latencies.length
    if (count < latenciesMin) return undefined
    const sorted = [...this.#latencies].sort((a, b) => a - b)
    return sorted[Math.min(count - 1, Math.floor(share * count))]
  }

  #pause(reportedMs: number | undefined): void {
    // Several running requests get the same refusal together.
    const isOn = performance.now() < this.#pausedUntil
    if (reportedMs === undefined && isOn) return
    const times = isOn ? Math.max(this.#pauses - 1, 0) : this.#pauses++
    const ms =
      reportedMs === undefined
        ? grown(pauseMs, times)
        : Math.min(reportedMs, grown(reportedPauseMs, times, 4))
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms)
  }

  #setMethod(method: string, known: KnownMethod): void {
    putNewest(this.#methods, method, known, methodsMax)
  }
}

/** A node in a choice among several. */
interface Candidate {
  readonly policy: NodePolicy
}

/**
 * Nodes that may be asked, best first; then those without an answer the last time, and those without the method.
 * `blocksBehind` is the lag of a node's head.
 */
export function bestFirst<N extends Candidate>(
  nodes: readonly N[],
  blocksBehind: (node: N) => number = () => 0,
  method?: string,
): N[] {
  return nodes
    .filter(({ policy }) => !policy.isQuarantined && !policy.isRefused)
    .map((node) => ({
      node,
      lacks: Number(method !== undefined && !node.policy.mayHave(method)),
      isSilent: Number(node.policy.isAnswering === false),
      cost: node.policy.cost(blocksBehind(node)),
    }))
    .sort((a, b) => a.lacks - b.lacks || a.isSilent - b.isSilent || a.cost - b.cost)
    .map(({ node }) => node)
}
