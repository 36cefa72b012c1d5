/** Parts of the chain as hex of their bytes. Absent parts are `0x`, as in go-ethereum. */
import type { BlockId } from '../chain/blockId.js'
import { rawTransaction } from '../chain/blockRows.js'
import type { ChainView } from '../chain/chainView.js'
import type { TransactionLocation } from '../chain/findTransaction.js'
import { bytesToHex, type Hash32 } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'

/** The transaction at a location, in its signed form. */
export function rawTransactionOf(chain: ChainView, at: TransactionLocation | undefined): string {
  const block = at && chain.readBlock(at.blockHash)
  return toJson(block && rawTransaction(block, at.index))
}

/** The bytes that `read` returns for a block. Throws FaultError for an unknown hash. */
export function rawBlockPart(
  chain: ChainView,
  id: BlockId,
  read: (hash: Hash32) => Uint8Array | undefined,
): string {
  const block = chain.resolve(id, 0)
  if (block === undefined && id.kind === 'hash') throw new FaultError({ kind: 'HeaderForHashNotFound' })
  return toJson(block && read(block.hash))
}

function toJson(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '"0x"' : `"${bytesToHex(bytes)}"`
}
