/** Sizes of the chains that imports are measured with; apart from their maker, which loads a compiler. */

/** Blocks of each kind of chain beside those that set it up. */
export const importChainBlocks = { transfers: 1_000, tokens: 1_000, mixed: 600 } as const

/** The same in a short run: still so much that a second thread recovers keys during the import. */
export const importChainBlocksQuick = 300

export type ImportChainKind = keyof typeof importChainBlocks
