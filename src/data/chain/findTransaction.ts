import { equalBytes, type Hash32 } from '../../primitives/bytes.js'
import { NotStoredError } from '../../primitives/notStored.js'
import type { ChainRows, TransactionLocation } from '../store/chainRows.js'
import { transactionHashes } from '../store/storedBlock.js'
import { decodeHeader, type Header } from './header.js'

export type { TransactionLocation } from '../store/chainRows.js'

/**
 * Location of a transaction in the chain that ends with `head`; undefined if it is not in it. Takes three reads if the
 * head is canonical; otherwise two more for each block down to the fork. Throws NotStoredError.
 */
export function findTransaction(
  store: ChainRows,
  transactionHash: Hash32,
  head: { readonly hash: Hash32; readonly header: Header },
): TransactionLocation | undefined {
  let { hash, header } = head
  // Blocks above the fork are not in the index.
  for (;;) {
    if (store.isCanonical(header.number, hash)) break
    const index = indexInBlock(store, hash, transactionHash)
    if (index !== undefined) return { blockHash: hash, index }
    hash = header.parentHash
    header = requireHeader(store, hash)
  }
  const location = store.readLocation(transactionHash)
  if (location === undefined) return undefined
  // Blocks above the head, or that have just left the chain, do not exist for callers.
  const { number = requireHeader(store, location.blockHash).number } = location
  return number <= header.number ? location : undefined
}

/** The header of an existing block. Throws NotStoredError if it is not stored. */
export function requireHeader(store: ChainRows, hash: Hash32): Header {
  const rlp = store.readHeader(hash)
  if (rlp === undefined) throw new NotStoredError({ kind: 'header', hash })
  return decodeHeader(rlp)
}

function indexInBlock(store: ChainRows, blockHash: Hash32, transactionHash: Hash32): number | undefined {
  const senders = store.readBlock(blockHash)?.senders
  if (senders === undefined) throw new NotStoredError({ kind: 'body', hash: blockHash })
  for (const [index, hash] of transactionHashes(senders)) if (equalBytes(hash, transactionHash)) return index
  return undefined
}
