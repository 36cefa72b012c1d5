/** Kinds of the chains of `listedChains.ts`, by themselves because making chains needs much else. */
export const listedKinds = [
  'transfers',
  'tokens',
  'tokens in a row',
  'hashes',
  'hashes in a row',
  'slots',
] as const
export type ListedKind = (typeof listedKinds)[number]
