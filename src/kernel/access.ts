/** Accounts that instructions access, and the gas for that (EIP-2929). */
import { Account, findAccount } from './accounts'
import { Frame } from './frames'
import { mark, transaction, undoTo, warm } from './journal'
import { coldAccountGas, warmAccessGas } from './rules'
import { maskAddress } from './word'

/** The account whose address is the operand. Once it is paid for, it counts as seen (accessList.ts). */
export function accessed(operand: usize): Account {
  maskAddress(operand)
  return findAccount(operand)
}

// State before the last call or destruction: position of the undo log, memory of its frame, and the account it names.
let marked: usize = 0
export let memoryBytesBefore: u32 = 0
let named: Account = changetype<Account>(0)

/** As {@link accessed}, for an instruction whose error message depends on the state before it. */
@inline
export function accessedFirst(frame: Frame, operand: usize): Account {
  marked = mark()
  memoryBytesBefore = frame.memoryBytes
  named = accessed(operand)
  return named
}

/** Whether that was the first access to the account. Undoes the changes of the instruction. */
export function wasCold(): bool {
  undoTo(marked)
  return named.warmTx != transaction && !named.isAlwaysWarm
}

@inline
export function accessGas(account: Account): i64 {
  return warm(account) ? warmAccessGas : coldAccountGas
}
