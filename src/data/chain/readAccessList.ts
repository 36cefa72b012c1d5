import type { Hash32 } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import type { ChainRows } from '../store/chainRows.js'
import { decodeHeader } from './header.js'

/**
 * The access list of a block (EIP-7928) as RLP; undefined where there is no such block, or it is not canonical. Throws
 * FaultError for a block from before Amsterdam, and where the list is not held.
 */
export function readAccessList(rows: ChainRows, hash: Hash32): Uint8Array | undefined {
  const rlp = rows.readHeader(hash)
  if (rlp === undefined) return undefined
  const { number, blockAccessListHash } = decodeHeader(rlp)
  if (blockAccessListHash === undefined) {
    const why = `block ${number} is from before Amsterdam and has no access list`
    throw new FaultError({ kind: 'ResourceNotFound', why })
  }
  const list = rows.readBlockAccessList(hash)
  if (list === undefined && rows.isCanonical(number, hash)) {
    // Archives have no lists, so no block below the head has one where this one has none.
    const { bodies = number + 1 } = rows.readOldestKept?.() ?? {}
    throw new FaultError({ kind: 'HistoryPruned', oldest: Math.max(bodies, number + 1) })
  }
  return list
}
