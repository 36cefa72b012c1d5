import type { HeadClaim } from './headWatch.js'

/** The highest head that enough nodes have, of those they claim. `N` is a node. */
export interface SharedHeadOptions<N> {
  /** How many nodes must have it: as their head, or below it. */
  readonly quorum: number
  /** The hash that the head chosen before has; of equal claims it is preferred, so that branches do not take turns. */
  readonly followed: string | undefined
  /** Hash of a block of a node's chain; undefined where the node does not say. */
  readonly hashAt: (node: N, number: number) => Promise<string | undefined>
}

/** Undefined where no claim is shared by enough nodes, as while they are on different branches. */
export async function sharedHead<N>(
  claims: readonly { readonly node: N; readonly claim: HeadClaim }[],
  { quorum, followed, hashAt }: SharedHeadOptions<N>,
): Promise<{ readonly node: N; readonly claim: HeadClaim } | undefined> {
  const isFollowed = ({ hash }: HeadClaim) => Number(hash === followed)
  const ranked = [...claims].sort(
    (a, b) => b.claim.number - a.claim.number || isFollowed(b.claim) - isFollowed(a.claim),
  )
  for (const [index, candidate] of ranked.entries()) {
    const { number, hash } = candidate.claim
    const has = async ({ node, claim }: (typeof ranked)[number]) =>
      (claim.number === number ? claim.hash : await hashAt(node, number)) === hash
    // Those before have a head as high, and those after only where it is the same.
    const others = ranked.filter(({ claim }, at) => at !== index && claim.number >= number)
    if (1 + others.length < quorum) continue
    const votes = quorum === 1 ? [] : await Promise.all(others.map(has))
    if (1 + votes.filter(Boolean).length >= quorum) return candidate
  }
  return undefined
}
