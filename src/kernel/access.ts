/** Accounts that instructions name, and what that costs (EIP-2929). */
import { Account, findAccount } from './accounts'
import { Frame } from './frames'
import { mark, transaction, undoTo, warm } from './journal'
import { coldAccountGas, warmAccessGas } from './rules'
import { maskAddress } from './word'

/** The account that an operand names. */
export function accessed(operand: usize): Account {
  maskAddress(operand)
  const account = findAccount(operand)
  account.seenTx = transaction
  return account
}

// Before the last call or destruction: where the undo log stood, how much memory its frame had, and whom it named.
let marked: usize = 0
export let memoryBytesBefore: u32 = 0
let named: Account = changetype<Account>(0)

/** {@link accessed} by an instruction whose failure has words that depend on what was before. */
// @ts-ignore: decorator
@inline
export function accessedFirst(frame: Frame, operand: usize): Account {
  marked = mark()
  memoryBytesBefore = frame.memoryBytes
  named = accessed(operand)
  return named
}

/** Whether that was the first access to the account. Takes back what the instruction has changed. */
export function wasCold(): bool {
  undoTo(marked)
  return named.warmTx != transaction && !named.isAlwaysWarm
}

// @ts-ignore: decorator
@inline
export function accessGas(account: Account): i64 {
  return warm(account) ? warmAccessGas : coldAccountGas
}
