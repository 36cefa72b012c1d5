/** Errors for removed data, so that an answer does not report it as missing or empty. */
import type { Hash32 } from '../../primitives/bytes.js'
import { largest } from '../../primitives/extremes.js'
import { FaultError } from '../../primitives/faults.js'
import type { BlockName, ChainRows, TransactionLocation } from '../store/chainRows.js'
import type { ChainView } from './chain.js'

/**
 * Throws FaultError HistoryPruned for a canonical block if the state before it was removed (`state`: its values,
 * `trie`: its tries). For a non-canonical block, only reads find that out.
 */
export function requireKeptBefore(
  rows: ChainRows,
  { number, hash }: BlockName,
  kinds: readonly ('state' | 'trie')[] = ['state'],
): void {
  const kept = rows.readOldestKept?.()
  const oldest = kept === undefined ? 0 : largest(kinds.map((kind) => kept[kind]))
  if (oldest === 0 || number > oldest || !rows.isCanonical(number, hash)) return
  throw new FaultError({ kind: 'HistoryPruned', oldest, needsParent: true })
}

/**
 * Location of a transaction, for answers that cannot report absence. Throws FaultError HistoryPruned if the transaction
 * may be in a removed block, because its hash was removed, too.
 */
export function findKeptTransaction(chain: ChainView, hash: Hash32): TransactionLocation | undefined {
  const at = chain.findTransaction(hash)
  const oldest = chain.oldest.bodies
  if (at === undefined && oldest > 0) throw new FaultError({ kind: 'HistoryPruned', oldest })
  return at
}
