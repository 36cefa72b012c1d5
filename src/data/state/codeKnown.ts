import { NotHeldError, type Wanted } from '../../primitives/notHeld.js'
import type { ChainRows } from '../store/chainRows.js'
import { type Account, hasCode } from './account.js'

/**
 * Throws NotHeldError for an account that has code of which nothing is known. The leaf of an account may have come with
 * the proof of another, from which its address does not follow; its own proof, `wanted`, says whose code it is.
 */
export function checkCodeKnown(
  store: Pick<ChainRows, 'knowsCode'>,
  account: Account | undefined,
  wanted: () => Wanted,
): void {
  if (account === undefined || store.knowsCode === undefined || !hasCode(account)) return
  if (!store.knowsCode(account.codeHash)) throw new NotHeldError(wanted())
}
