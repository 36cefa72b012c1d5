/**
 * Chooses the followed head among those that nodes claim. Owns how many nodes must agree, and which nodes lose the
 * lead; does not own the truth of a claim.
 */
import { setTimeout } from '../../primitives/timers.js'
import type { HeadClaimer } from './headClaimer.js'
import type { HeadClaim } from './headWatch.js'
import type { Upstream } from './upstream.js'

/**
 * Minimum time between two choices caused by the claims of one node. Each choice may ask every other node a question,
 * and a node may claim at any rate. Chains have a few blocks a second.
 */
const claimsMsMin = 50

/** May resolve once the head is stored, or failed to be; its node is not polled before. */
export type HeadListener = (claim: HeadClaim, upstream: Upstream) => void | Promise<void>

export interface ChosenHead {
  readonly claim: HeadClaim
  readonly upstream: Upstream
}

export class HeadChoice {
  readonly #claimers: readonly HeadClaimer[]
  readonly #quorum: number | undefined
  readonly #isSigned: boolean
  readonly #listeners = new Set<HeadListener>()
  /** Time of the last choice caused by a node's claim; Infinity while one is scheduled. */
  readonly #chosenAt = new Map<HeadClaimer, number>()
  #begun = 0
  /** Number of the newest finished choice. */
  #made = 0
  /** Whether enough nodes claim heads, but fewer than a quorum share one. */
  #isSplit = false
  #isClosed = false
  #head: ChosenHead | undefined
  /** Resolves once all listeners stored the head, or failed to. */
  #following: Promise<unknown> | undefined
  /** The leading node when the head was last doubted. */
  #avoided: Upstream | undefined

  /** `quorum` is the operator's setting. With `isSigned` the nodes' claims do not count; {@link sign} sets the head. */
  constructor(claimers: readonly HeadClaimer[], quorum: number | undefined, isSigned = false) {
    this.#claimers = claimers
    this.#quorum = quorum
    this.#isSigned = isSigned
  }

  /** Undefined before the first choice. */
  get head(): ChosenHead | undefined {
    return this.#head
  }

  /**
   * The number of nodes that must have a head before it is followed. By default a majority of all, so that no minority
   * leads or stops the head. Two nodes have a majority only together; if one of them is silent, the other is enough.
   */
  get quorum(): number {
    const quorum = this.#quorum
    const majority = Math.floor(this.#claimers.length / 2) + 1
    if (quorum !== undefined || this.#claimers.length !== 2) return quorum ?? majority
    return Math.max(1, this.#claimers.filter(({ counts }) => counts).length)
  }

  /** Why no head is followed, or the old one stays; undefined if enough nodes share a head. */
  get disagreement(): string | undefined {
    if (this.#isSigned) return undefined
    const { quorum } = this
    const count = this.#claimers.length
    const voting = this.#claimers.filter(({ isVoting }) => isVoting)
    if (voting.length < quorum) {
      const silent = this.#claimers
        .filter((claimer) => !voting.includes(claimer))
        .map(({ upstream }) => upstream.name)
      return `${quorum} of ${count} upstreams have to agree on the head, and ${silent.join(', ')} cannot be counted`
    }
    if (!this.#isSplit) return undefined
    const heads = voting.map(({ upstream, claim }) => `${upstream.name}: ${claim?.number} ${claim?.hash}`)
    return `no ${quorum} of ${count} upstreams have a head in common (${heads.join('; ')})`
  }

  /** Calls `listener` whenever the head changes, also backwards; returns a function that stops the calls. */
  listen(listener: HeadListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Reports that no node had the followed head for some seconds. For a while, nodes that claim it lead only if no node
   * is doubted less. So a head that does not exist stops the others once. If several nodes claim it, another of them
   * leads.
   */
  doubt(): void {
    const hash = this.#head?.claim.hash
    this.#avoided = this.#head?.upstream
    for (const claimer of this.#claimers) if (claimer.claim?.hash === hash) claimer.doubt()
    void this.choose()
  }

  /** Reports an invalid block: each node that claimed to have it on its chain lied. `what` is the reason. */
  reject({ number, hash }: Pick<HeadClaim, 'number' | 'hash'>, what: string): void {
    for (const claimer of this.#claimers) {
      if (claimer.claims(number, hash)) claimer.upstream.policy.accuse(what)
    }
    void this.choose()
  }

  /**
   * Reports a node's claim. The first is counted at once; of several in a row the newest, a moment later. Resolves once
   * the listeners stored the head, or failed to.
   */
  async claimed(node: HeadClaimer): Promise<void> {
    const choose = () => {
      this.#chosenAt.set(node, performance.now())
      return this.choose()
    }
    const waitMs = (this.#chosenAt.get(node) ?? Number.NEGATIVE_INFINITY) + claimsMsMin - performance.now()
    if (waitMs <= 0) {
      await choose()
      await this.#following
      return
    }
    if (waitMs < Infinity) setTimeout(choose, waitMs)
    this.#chosenAt.set(node, Infinity)
  }

  /**
   * Chooses the followed head from the claims of nodes that answer. Does not wait for the previous choice, which may
   * wait for a silent node; of several running choices, the newest finished one counts.
   */
  async choose(): Promise<void> {
    if (this.#isSigned || this.#isClosed) return
    const serial = ++this.#begun
    const voting = this.#claimers.filter(({ isVoting }) => isVoting)
    const followed = this.#head?.claim.hash
    const avoided = this.#avoided
    const chosen = await sharedHead(voting, { quorum: this.quorum, followed, avoided })
    if (serial < this.#made || this.#isClosed) return
    this.#made = serial
    this.#isSplit = chosen === undefined && voting.length >= this.quorum
    if (chosen === undefined) return
    const { upstream } = chosen.node
    const head = this.#head
    const mayStay = head?.upstream === upstream || head?.upstream !== this.#avoided
    if (chosen.claim.hash !== head?.claim.hash || !mayStay) this.#follow({ claim: chosen.claim, upstream })
  }

  /** Makes a block the head because it is signed. A node that claimed to have it leads, or else one that answers. */
  sign(claim: HeadClaim): void {
    const claimer =
      this.#claimers.find((node) => node.isVoting && node.claims(claim.number, claim.hash)) ??
      this.#claimers.find(({ isVoting }) => isVoting) ??
      (this.#claimers[0] as HeadClaimer)
    if (!this.#isClosed) this.#follow({ claim, upstream: claimer.upstream })
  }

  close(): void {
    this.#isClosed = true
  }

  #follow(head: ChosenHead): void {
    this.#head = head
    this.#following = Promise.all([...this.#listeners].map((listener) => listener(head.claim, head.upstream)))
  }
}

interface SharedHeadOptions {
  /** The number of nodes that must have the head: as their head, or below it. */
  readonly quorum: number
  /**
   * The hash of the previous head; preferred among equal claims, so that the choice does not alternate between
   * branches.
   */
  readonly followed: string | undefined
  /** Among equal claims, those of other nodes are preferred. */
  readonly avoided: Upstream | undefined
}

/**
 * The highest claimed head that enough nodes have. A head that only doubted nodes claim counts if there is no other,
 * starting with the least doubted. Undefined if enough nodes share no claim, for example while they are on different
 * branches.
 */
async function sharedHead(
  nodes: readonly HeadClaimer[],
  { quorum, followed, avoided }: SharedHeadOptions,
): Promise<{ readonly node: HeadClaimer; readonly claim: HeadClaim } | undefined> {
  const claims = nodes.flatMap((node) => (node.claim === undefined ? [] : [{ node, claim: node.claim }]))
  const isFollowed = ({ hash }: HeadClaim) => Number(hash === followed)
  const ranked = claims.sort(
    (a, b) =>
      a.node.doubts - b.node.doubts ||
      b.claim.number - a.claim.number ||
      isFollowed(b.claim) - isFollowed(a.claim) ||
      Number(a.node.upstream === avoided) - Number(b.node.upstream === avoided),
  )
  const seen = new Set<string>()
  const candidates = ranked.filter(({ claim: { number, hash } }) => {
    const isNew = !seen.has(hash)
    seen.add(hash)
    return isNew && claims.filter(({ claim }) => claim.number >= number).length >= quorum
  })
  // All votes run at once, so that slow nodes delay the choice once, not once for each claim.
  const outcomes = candidates.map(({ node, claim: { number, hash } }) => {
    const others = nodes.filter((other) => other !== node)
    return reaches(quorum - 1, quorum === 1 ? [] : others.map((other) => other.has(number, hash)))
  })
  for (const [index, candidate] of candidates.entries()) if (await outcomes[index]) return candidate
  return undefined
}

/** Whether at least `needed` votes are yes; resolves as soon as that is certain. */
function reaches(needed: number, votes: readonly Promise<boolean>[]): Promise<boolean> {
  return new Promise((resolve) => {
    let yes = 0
    let open = votes.length
    const settle = () => {
      if (yes >= needed) resolve(true)
      else if (yes + open < needed) resolve(false)
    }
    settle()
    for (const vote of votes) {
      void vote.then((isYes) => {
        open--
        if (isYes) yes++
        settle()
      })
    }
  })
}
