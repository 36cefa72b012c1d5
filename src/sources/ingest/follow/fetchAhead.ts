import type { FetchedBlock } from './upstreamBlocks.js'

/** Most blocks under way or waiting: enough for 64 round trips at a time. */
const blocksMax = 64
/**
 * Most bytes of blocks waiting, as far as their size can be foreseen: each is taken to be as large as the largest.
 * Decoded, they take up to ten times as much.
 */
const bytesMax = 8 * 1024 * 1024

/**
 * Yields what `fetches` fetch, in order, several at a time. Ends before the first that finds no block. Throws what a
 * fetch rejects with, after the blocks before it.
 */
export async function* fetchAhead(
  fetches: Iterable<() => Promise<FetchedBlock | undefined>>,
): AsyncGenerator<FetchedBlock> {
  const underWay: Promise<FetchedBlock | undefined>[] = []
  let largest = 0
  let isFirst = true
  const fill = (left: Iterator<() => Promise<FetchedBlock | undefined>>) => {
    // The first block tells how large blocks are.
    const most = isFirst ? 2 : Math.min(blocksMax, Math.max(1, Math.floor(bytesMax / largest)))
    while (underWay.length < most) {
      const next = left.next()
      if (next.done === true) return
      const block = next.value()
      // Only the blocks before a failure are of use, so it is thrown when its turn comes.
      block.catch(() => undefined)
      underWay.push(block)
    }
  }
  const left = fetches[Symbol.iterator]()
  for (;;) {
    fill(left)
    const block = await underWay.shift()
    if (block === undefined) return
    isFirst = false
    largest = Math.max(largest, block.rlp.length)
    fill(left)
    yield block
  }
}
