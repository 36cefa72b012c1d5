import { NotHeldError, type Wanted } from '../../primitives/notHeld.js'
import type { ChainRows } from '../store/chainRows.js'
import { type Account, hasCode } from './account.js'

/**
 * Throws NotHeldError if an account has code that is neither stored nor fetchable. Its leaf may have come with the
 * proof of another account, and does not contain its address. Its own proof, `wanted`, tells whose code it is.
 */
export function checkCodeKnown(
  store: Pick<ChainRows, 'knowsCode'>,
  account: Account | undefined,
  wanted: () => Wanted,
): void {
  if (account === undefined || store.knowsCode === undefined || !hasCode(account)) return
  if (!store.knowsCode(account.codeHash)) throw new NotHeldError(wanted())
}
