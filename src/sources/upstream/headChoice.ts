/**
 * Which head is followed, of those that nodes claim. Owns how many have to agree, and who leads no more; does not own
 * what is true.
 */
import { setTimeout } from '../../primitives/timers.js'
import type { HeadClaimer } from './headClaimer.js'
import type { HeadClaim } from './headWatch.js'
import type { Upstream } from './upstream.js'

/**
 * Shortest time between two choices because of the claims of one node. Each may ask every other node a question, and a
 * node may claim as often as it likes; chains have a few blocks a second.
 */
const claimsMsMin = 50

export type HeadListener = (claim: HeadClaim, upstream: Upstream) => void

export interface ChosenHead {
  readonly claim: HeadClaim
  readonly upstream: Upstream
}

export class HeadChoice {
  readonly #claimers: readonly HeadClaimer[]
  readonly #quorum: number | undefined
  readonly #isSigned: boolean
  readonly #listeners = new Set<HeadListener>()
  /** When the last choice because of a node's claim was made; Infinity while one is due. */
  readonly #chosenAt = new Map<HeadClaimer, number>()
  #begun = 0
  /** Number of the newest choice that was made. */
  #made = 0
  /** Whether enough nodes said heads, and no such number has one in common. */
  #isSplit = false
  #isClosed = false
  #head: ChosenHead | undefined
  /** Who led when the head was doubted last. */
  #avoided: Upstream | undefined

  /** `quorum` is what the operator says. With `isSigned` no claim of theirs counts; {@link sign} says what the head is. */
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
   * How many nodes must have a head before it is followed. Where the operator says nothing: a majority of all, so that
   * no minority leads or stops the head. Two have no majority without both; of them the other one is enough while one
   * says nothing.
   */
  get quorum(): number {
    const quorum = this.#quorum
    const majority = Math.floor(this.#claimers.length / 2) + 1
    if (quorum !== undefined || this.#claimers.length !== 2) return quorum ?? majority
    return Math.max(1, this.#claimers.filter(({ counts }) => counts).length)
  }

  /** Why no head is followed, or the one before stays; undefined where enough nodes have one in common. */
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

  /** Calls `listener` whenever the head changes, also backwards; returns a function that stops this. */
  listen(listener: HeadListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Says that nobody had the followed head for some seconds. Who claims it leads for a while only where nobody else
   * is doubted less, so that a head that is nowhere stops the others once. Of those that claim it another one leads.
   */
  doubt(): void {
    const hash = this.#head?.claim.hash
    this.#avoided = this.#head?.upstream
    for (const claimer of this.#claimers) if (claimer.claim?.hash === hash) claimer.doubt()
    void this.choose()
  }

  /** Says that a block is invalid: each node that has it on its chain, as it said, lied. `what` says why. */
  reject({ number, hash }: Pick<HeadClaim, 'number' | 'hash'>, what: string): void {
    for (const claimer of this.#claimers) {
      if (claimer.claims(number, hash)) claimer.upstream.accuse(what)
    }
    void this.choose()
  }

  /** Says that a node claimed a head. The first is counted at once; of several in a row the newest, a moment later. */
  claimed(node: HeadClaimer): void {
    const choose = () => {
      this.#chosenAt.set(node, performance.now())
      return this.choose()
    }
    const waitMs = (this.#chosenAt.get(node) ?? Number.NEGATIVE_INFINITY) + claimsMsMin - performance.now()
    if (waitMs <= 0) return void choose()
    if (waitMs < Infinity) setTimeout(choose, waitMs)
    this.#chosenAt.set(node, Infinity)
  }

  /**
   * Chooses the followed head from the claims of nodes that answer. Does not wait for the choice before, which may be
   * waiting for a node that is silent; of those under way the newest that is made counts.
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

  /** Makes a block the head because it is signed. The node that said to have it leads, or one that answers. */
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
    for (const listener of this.#listeners) listener(head.claim, head.upstream)
  }
}

interface SharedHeadOptions {
  /** How many nodes must have it: as their head, or below it. */
  readonly quorum: number
  /** The hash that the head chosen before has; of equal claims it is preferred, so that branches do not take turns. */
  readonly followed: string | undefined
  /** Of equal claims that of another node is preferred. */
  readonly avoided: Upstream | undefined
}

/**
 * The highest head that enough nodes have, of those they claim; one that only doubted nodes claim where there is no
 * other, and then of those that are doubted least. Undefined where no claim is shared by enough nodes, as while they
 * are on different branches.
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
  // All votes at once, so that nodes that are slow to answer delay the choice once, not once for each claim.
  const outcomes = candidates.map(({ node, claim: { number, hash } }) => {
    const others = nodes.filter((other) => other !== node)
    return reaches(quorum - 1, quorum === 1 ? [] : others.map((other) => other.has(number, hash)))
  })
  for (const [index, candidate] of candidates.entries()) if (await outcomes[index]) return candidate
  return undefined
}

/** Whether so many votes are yes, as soon as that is certain. */
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
