/** Blocks that nodes send, fetched several at a time. Owns how many wait in memory. */

/** Most blocks in flight or waiting: enough for 64 round trips at a time. */
const blocksMax = 64
/**
 * Most bytes of waiting blocks, estimated by assuming that each is as large as the largest so far. Decoded, they take
 * up to ten times as much.
 */
const bytesMax = 8 * 1024 * 1024

/**
 * Yields the results of `fetches`, in order, several at a time. Ends before the first that finds no block. Throws the
 * error of a fetch after the blocks before it.
 */
export async function* fetchAhead<B extends { readonly rlp: Uint8Array }>(
  fetches: Iterable<() => Promise<B | undefined>>,
): AsyncGenerator<B> {
  const inFlight: Promise<B | undefined>[] = []
  let largest = 0
  let isFirst = true
  const fill = (left: Iterator<() => Promise<B | undefined>>) => {
    // The first block shows how large blocks are.
    const most = isFirst ? 2 : Math.min(blocksMax, Math.max(1, Math.floor(bytesMax / largest)))
    while (inFlight.length < most) {
      const next = left.next()
      if (next.done === true) return
      const block = next.value()
      // The blocks before a failure are still useful, so it is thrown on its turn.
      block.catch(() => undefined)
      inFlight.push(block)
    }
  }
  const left = fetches[Symbol.iterator]()
  for (;;) {
    fill(left)
    const block = await inFlight.shift()
    if (block === undefined) return
    isFirst = false
    largest = Math.max(largest, block.rlp.length)
    fill(left)
    yield block
  }
}
