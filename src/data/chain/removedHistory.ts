/** Refusals of what was removed, for those who would otherwise find something else missing, or nothing at all. */
import type { Hash32 } from '../../primitives/bytes.js'
import { largest } from '../../primitives/extremes.js'
import { FaultError } from '../../primitives/faults.js'
import type { BlockName, ChainRows, TransactionLocation } from '../store/chainRows.js'
import type { ChainView } from './chainView.js'

/**
 * Throws FaultError HistoryPruned for a block of the chain before which the state (`state`: its values, `trie`: its
 * tries) was removed. Of a block beside the chain that is not known before something is read.
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
 * Location of a transaction, for answers that cannot say that there is none. Throws FaultError HistoryPruned where it may
 * be in a block that was removed: its hash went with it.
 */
export function findKeptTransaction(chain: ChainView, hash: Hash32): TransactionLocation | undefined {
  const at = chain.findTransaction(hash)
  const oldest = chain.oldest.bodies
  if (at === undefined && oldest > 0) throw new FaultError({ kind: 'HistoryPruned', oldest })
  return at
}
