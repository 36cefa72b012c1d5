/** Limits of a network's stored history: the schema of `history`, and of the flag for all of it. */
import * as z from 'zod'
import { object } from './schema.js'

/**
 * Fewest blocks that can be kept: the depth of reorganisations on public chains. Older ones are removed with one of the
 * next commits.
 */
export const historyBlocksMin = 64
const error = `expected "all" or a number of blocks of at least ${historyBlocksMin}`

const extent = z.union([z.literal('all'), z.int({ error }).min(historyBlocksMin, { error })], { error })

/** For each kind `all`, or the number of blocks below the head that have it. */
export const keepAll = { state: 'all', trie: 'all', receipts: 'all', bodies: 'all' } as const

export const historySchema = object({
  /** Values of accounts and slots. Reorganisations go back no further. */
  state: extent.default('all'),
  /** Rows of the tries, for proofs. Reorganisations go back no further. */
  trie: extent.default('all'),
  /** Receipts and the index of their logs. */
  receipts: extent.default('all'),
  /** Transactions, uncles, withdrawals and block access lists; headers are always kept. */
  bodies: extent.default('all'),
}).refine(({ receipts, bodies }) => blocksOf(bodies) >= blocksOf(receipts), {
  error: 'expected bodies of at least as many blocks as receipts, which are reported with them',
  path: ['bodies'],
})

export type HistoryConfig = z.output<typeof historySchema>

/** The number of blocks for each kind; infinite for `all`. */
export function historyLimits({ state, trie, receipts, bodies }: HistoryConfig) {
  return {
    state: blocksOf(state),
    receipts: blocksOf(receipts),
    bodies: blocksOf(bodies),
    trie: blocksOf(trie),
  }
}

/** The value of `--history N`. */
export function historyOf(blocks: number): HistoryConfig {
  return { state: blocks, trie: blocks, receipts: blocks, bodies: blocks }
}

const played = z.object({
  source: z.object({ type: z.literal('replay') }),
  history: z.record(z.string(), z.unknown()),
})

/** Finds contradictions to the source. Each line begins with the path within the network. */
export function findHistoryFaults(history: unknown, source: unknown): string[] {
  const kept = played.safeParse({ history, source }).data?.history ?? {}
  return Object.entries(kept).flatMap(([kind, extent]) =>
    extent === 'all'
      ? []
      : [`history.${kind}: expected "all", since a replay plays its blocks again at each start`],
  )
}

function blocksOf(extent: number | 'all'): number {
  return extent === 'all' ? Number.POSITIVE_INFINITY : extent
}
