/**
 * Reads blocks ahead of their execution. Meanwhile another thread recovers the public keys of their transactions, and
 * reads the state that they will need. Execution never waits for it, but uses the keys found so far and recovers the
 * rest. Owns how far ahead that thread works.
 */
import { availableParallelism } from 'node:os'
import { headerHash } from '../../../data/chain/header.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { rlpSpanAt } from '../../../primitives/rlp.js'
import type { Block } from './block.js'
import { RecoveryThread } from './recoveryThread.js'

/**
 * Most bytes read ahead, so that slow execution does not fill the memory. Blocks of a busy chain have 10 to 200 KB, and
 * the thread needs up to 50 ms for each. At least one block is read, of any size.
 */
const bytesAheadMax = 4 * 1024 * 1024
const blocksAheadMax = 64
/**
 * Bytes of blocks that justify starting the thread: loading it takes as long as recovering the keys of 3,000
 * transactions.
 */
export const bytesWorthThread = 512 * 1024

type TakeKeys = Block['takeKeys']

/**
 * Yields the same blocks in the same order, each with a running recovery of its keys. A stored block has none, and no
 * block has one while the thread is still loading. If `blocks` throws, earlier blocks are yielded first. No thread is
 * started on one core, nor before `bytesBefore` bytes of blocks; pass 0 if many blocks will come.
 */
export async function* withKeysAhead<B extends { readonly rlp: Uint8Array }>(
  blocks: AsyncGenerator<B>,
  store: ChainWriter,
  bytesBefore = bytesWorthThread,
): AsyncGenerator<B & { readonly takeKeys: TakeKeys }> {
  const recovery = availableParallelism() > 1 ? new RecoveryThread(store.path) : undefined
  const ahead: (B & { readonly takeKeys: TakeKeys })[] = []
  let bytesAhead = 0
  let bytesWanted = 0
  let isRead = false
  let failure: unknown
  try {
    for (;;) {
      const blocksMax = recovery?.isReady === true ? blocksAheadMax : 1
      // The queue is refilled only when half of it is used, so that one message has many blocks.
      const isLow = ahead.length <= blocksMax / 2 && bytesAhead <= bytesAheadMax / 2
      while (isLow && !isRead && bytesAhead < bytesAheadMax && ahead.length < blocksMax) {
        try {
          const { value, done } = await blocks.next()
          if (done === true) isRead = true
          else {
            const isWanted = recovery !== undefined && !isKnown(value.rlp, store)
            if (isWanted) bytesWanted += value.rlp.length
            const isSent = isWanted && bytesWanted > bytesBefore
            ahead.push({ ...value, takeKeys: isSent ? recovery.recover(value.rlp) : undefined })
            bytesAhead += value.rlp.length
          }
        } catch (error) {
          failure = error
          isRead = true
        }
      }
      recovery?.send()
      const next = ahead.shift()
      if (next === undefined) break
      bytesAhead -= next.rlp.length
      yield next
    }
    if (failure !== undefined) throw failure
  } finally {
    await blocks.return(undefined)
    await recovery?.close()
  }
}

/** Whether the block need not be executed; also true for an invalid block. */
function isKnown(rlp: Uint8Array, store: ChainWriter): boolean {
  try {
    const { payload } = rlpSpanAt(rlp, 0)
    return store.hasHeader(headerHash(rlp.subarray(payload, rlpSpanAt(rlp, payload).end)))
  } catch {
    return true
  }
}
