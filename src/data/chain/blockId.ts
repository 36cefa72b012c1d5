import type { Hash32 } from '../../primitives/bytes.js'

/** Tags that name a block by its role. Not every network answers `safe`; {@link Chain.resolve} decides. */
export const blockTags = ['latest', 'earliest', 'pending', 'safe', 'finalized'] as const
export type BlockTag = (typeof blockTags)[number]

/**
 * A block id from a caller, before it is looked up: by number, by tag, or by hash (EIP-1898).
 *
 * - `number` is a safe integer. A number that a caller may write but no chain can reach (2^53 − 1 up to 2^63 − 1)
 *   becomes 2^53 − 1, which is beyond any head.
 * - `requireCanonical` requests a fault if the hash names a block outside the canonical chain.
 */
export type BlockId =
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'tag'; readonly tag: BlockTag }
  | { readonly kind: 'hash'; readonly hash: Hash32; readonly requireCanonical: boolean }
