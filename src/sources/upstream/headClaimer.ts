import type { HeadClaim } from './headWatch.js'
import type { Upstream } from './upstream.js'
import type { VettedNode } from './vettedNode.js'

/** Hashes kept of each node's chain: more than public chains reorganise, and so than two nodes of one branch differ. */
const hashesMax = 128
/** How long a node may take to say what its block of some number is, so that one that is silent delays no head. */
const voteMsMax = 1_000
/**
 * How long what a node said of its head counts: two polls beside a subscription and some more, or three polls where
 * these are rarer. A node that was never heard counts for less, so that one that is down at the start delays it little.
 */
const heardMsMin = 10_000
const unheardMs = 3_000
/** The same where blocks come at regular times: beside a subscription it is asked after one and a half of them. */
const heardBlocks = 2.5
/** How long a node leads no more, after nobody had its head: at first, and at most; doubled each time. */
const doubtMs = 10_000
const doubtMsMax = 600_000

/** What one node says of its chain, and what that is worth in the choice of the head. */
export class HeadClaimer {
  readonly upstream: Upstream
  readonly vetted: VettedNode
  readonly #heardMs: number
  /** Number → hash of the blocks below its head, as far as what it said links them. */
  readonly #hashes = new Map<number, string>()
  /** Number → answer to the question for it that is under way. */
  readonly #asked = new Map<number, Promise<string | undefined>>()
  #claim: HeadClaim | undefined
  #countsUntil = performance.now() + unheardMs
  #doubts = 0
  #doubtedUntil = 0

  /** `pollMs` is the time between two questions for its head. */
  constructor(upstream: Upstream, vetted: VettedNode, pollMs: number) {
    this.upstream = upstream
    this.vetted = vetted
    this.#heardMs = Math.max(heardMsMin, 3 * pollMs)
  }

  /** What it said last to be its head. */
  get claim(): HeadClaim | undefined {
    return this.#claim
  }

  /** Whether it said not long ago what its head is, or may be about to say it for the first time. */
  get counts(): boolean {
    return performance.now() < this.#countsUntil && !this.upstream.isQuarantined && !this.vetted.isRefused
  }

  /** Whether its claim takes part in a choice. */
  get isVoting(): boolean {
    return this.#claim !== undefined && this.counts && this.upstream.isAnswering !== false
  }

  /** How often lately nobody had a head that it claimed; 0 where that was long ago. */
  get doubts(): number {
    return performance.now() < this.#doubtedUntil ? this.#doubts : 0
  }

  /** `blockMs` is the time between two blocks of its chain, for about which it is not asked. */
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

  /** Says that nobody had its head for some seconds: others that are doubted less lead for a while, where there are any. */
  doubt(): void {
    // Who was right for as long again is as good as new.
    const lastMs = doubtMs * 2 ** Math.max(this.#doubts - 1, 0)
    if (performance.now() > this.#doubtedUntil + 2 * lastMs) this.#doubts = 0
    this.#doubtedUntil = performance.now() + Math.min(doubtMs * 2 ** this.#doubts++, doubtMsMax)
    this.upstream.score.failed()
  }

  /** Whether it said that its chain has this block. */
  claims(number: number, hash: string): boolean {
    return this.#hashes.get(number) === hash
  }

  /** Whether its chain has this block, as it says. Asks it where it did not say so before. */
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
    const told = await answer
    if (told !== undefined && claim.number - number < hashesMax && this.#claim === claim) {
      this.#hashes.set(number, told)
    }
    return told === hash
  }

  /** Undefined where it does not say. */
  async #hashAt(number: number): Promise<string | undefined> {
    const deadline = performance.now() + voteMsMax
    const params = [`0x${number.toString(16)}`, false]
    const block = await this.vetted.ask('eth_getBlockByNumber', params, deadline).catch(() => undefined)
    const { hash } = (block ?? {}) as { readonly hash?: unknown }
    return typeof hash === 'string' ? hash.toLowerCase() : undefined
  }
}
