import { decodeHeader } from '../../../data/chain/header.js'
import type { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import { toMinimalBytes } from '../../../primitives/bytes.js'

/** Blocks whose total difficulty is written in one transaction. */
const batchBlocks = 4_096

/**
 * Stores the total difficulty of every block up to the head, summed over all headers down to genesis. Does nothing if
 * the head has one.
 */
export function addTotals(store: GatewayWriter): void {
  const last = store.readHead()?.number ?? -1
  if ((store.readCanonicalRow(last)?.totalDifficulty.length ?? 0) > 0) return
  let total = 0n
  let batch: (readonly [number, Uint8Array])[] = []
  for (let number = 0; number <= last; number++) {
    const row = store.readCanonicalRow(number)
    if (row === undefined) break
    total += decodeHeader(row.header).difficulty
    batch.push([number, toMinimalBytes(total)])
    if (batch.length === batchBlocks || number === last) {
      store.putTotals(batch)
      batch = []
    }
  }
}
