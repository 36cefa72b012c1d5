import type { HeadClaim } from './headWatch.js'

/** What is needed of a node to choose a head; see {@link HeadClaimer}. */
interface Claimer {
  readonly claim: HeadClaim | undefined
  readonly isDoubted: boolean
  has(number: number, hash: string): Promise<boolean>
}

export interface SharedHeadOptions {
  /** How many nodes must have it: as their head, or below it. */
  readonly quorum: number
  /** The hash that the head chosen before has; of equal claims it is preferred, so that branches do not take turns. */
  readonly followed: string | undefined
}

/**
 * The highest head that enough nodes have, of those they claim; one that only doubted nodes claim where there is no
 * other. Undefined where no claim is shared by enough nodes, as while they are on different branches.
 */
export async function sharedHead<N extends Claimer>(
  nodes: readonly N[],
  { quorum, followed }: SharedHeadOptions,
): Promise<{ readonly node: N; readonly claim: HeadClaim } | undefined> {
  const claims = nodes.flatMap((node) => (node.claim === undefined ? [] : [{ node, claim: node.claim }]))
  const isFollowed = ({ hash }: HeadClaim) => Number(hash === followed)
  const ranked = claims.sort(
    (a, b) =>
      Number(a.node.isDoubted) - Number(b.node.isDoubted) ||
      b.claim.number - a.claim.number ||
      isFollowed(b.claim) - isFollowed(a.claim),
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
