import type { HeadClaim } from './headWatch.js'
import type { Upstream } from './upstream.js'

/**
 * Hashes stored of each node's chain: more than the longest reorg of public chains, and more than two nodes of one
 * branch differ.
 */
const hashesMax = 128
/** Maximum time for a node to name the hash of a block, so that a silent node delays no head. */
const voteMsMax = 1_000
/**
 * Time for which a node's last claim counts: more than two polls beside a subscription, or three polls if these are
 * rarer. A node without any claim counts for less time, so that one that is down at the start causes little delay.
 */
const heardMsMin = 10_000
const unheardMs = 3_000
/**
 * Blocks for which a node's last claim counts, if blocks come at regular times. Beside a subscription the node is
 * polled after one and a half blocks.
 */
const heardBlocks = 2.5
/** Time for which a node loses the lead after no node had its head: the first and the maximum; doubled each time. */
const doubtMs = 10_000
const doubtMsMax = 600_000

/** The claims of one node about its chain, and their weight in the choice of the head. */
export class HeadClaimer {
  readonly upstream: Upstream
  readonly #heardMs: number
  /** Number → hash of the blocks below its head, as far as its claims link them. */
  readonly #hashes = new Map<number, string>()
  /** Number → the answer to the running question for its hash. */
  readonly #asked = new Map<number, Promise<string | undefined>>()
  #claim: HeadClaim | undefined
  #countsUntil = performance.now() + unheardMs
  #doubts = 0
  #doubtedUntil = 0

  /** `pollMs` is the time between two polls of its head. */
  constructor(upstream: Upstream, pollMs: number) {
    this.upstream = upstream
    this.#heardMs = Math.max(heardMsMin, 3 * pollMs)
  }

  get claim(): HeadClaim | undefined {
    return this.#claim
  }

  /** Whether the node claimed a head recently, or may be about to claim its first. */
  get counts(): boolean {
    const { isQuarantined, isRefused } = this.upstream.policy
    return performance.now() < this.#countsUntil && !isQuarantined && !isRefused
  }

  /** Whether the node's claim takes part in a choice. */
  get isVoting(): boolean {
    return this.#claim !== undefined && this.counts && this.upstream.policy.isAnswering !== false
  }

  /** Number of recent doubts about its heads; 0 if they are long ago. */
  get doubts(): number {
    return performance.now() < this.#doubtedUntil ? this.#doubts : 0
  }

  /** `blockMs` is the time between two blocks of its chain; it is not polled for about that time. */
  take(claim: HeadClaim, blockMs = 0): void {
    const { number, hash, parentHash } = claim
    this.#countsUntil = performance.now() + Math.max(this.#heardMs, heardBlocks * blockMs)
    this.#claim = claim
    const isLinked = this.#hashes.get(number) === hash || this.#hashes.get(number - 1) === parentHash
    for (const each of this.#hashes.keys()) {
      if (!isLinked || each >= number || each <= number - hashesMax) this.#hashes.delete(each)
    }
    this.#hashes.set(number, hash)
    if (number > 0) this.#hashes.set(number - 1, parentHash)
  }

  /**
   * Reports that no node had its head for some seconds. For a while, nodes that are doubted less lead, if there are
   * any.
   */
  doubt(): void {
    // A node without a doubt for this time counts as new.
    const lastMs = doubtMs * 2 ** Math.max(this.#doubts - 1, 0)
    if (performance.now() > this.#doubtedUntil + 2 * lastMs) this.#doubts = 0
    this.#doubtedUntil = performance.now() + Math.min(doubtMs * 2 ** this.#doubts++, doubtMsMax)
    this.upstream.policy.failed()
  }

  /** Whether the node claimed that its chain has this block. */
  claims(number: number, hash: string): boolean {
    return this.#hashes.get(number) === hash
  }

  /** Whether the node's chain has this block, by its report. Asks the node if its claims do not show that. */
  async has(number: number, hash: string): Promise<boolean> {
    const claim = this.#claim
    if (claim === undefined || claim.number < number) return false
    const known = this.#hashes.get(number)
    if (known !== undefined) return known === hash
    let answer = this.#asked.get(number)
    if (answer === undefined) {
      answer = this.#hashAt(number).finally(() => this.#asked.delete(number))
      this.#asked.set(number, answer)
    }
    const reported = await answer
    if (reported !== undefined && claim.number - number < hashesMax && this.#claim === claim) {
      this.#hashes.set(number, reported)
    }
    return reported === hash
  }

  /** Undefined if the node does not answer. */
  async #hashAt(number: number): Promise<string | undefined> {
    const deadline = performance.now() + voteMsMax
    const params = [`0x${number.toString(16)}`, false]
    const block = await this.upstream.ask('eth_getBlockByNumber', params, deadline).catch(() => undefined)
    const { hash } = (block ?? {}) as { readonly hash?: unknown }
    return typeof hash === 'string' ? hash.toLowerCase() : undefined
  }
}
