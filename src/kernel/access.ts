/** Accounts that instructions name, and what that costs (EIP-2929). */
import { Account, findAccount } from './accounts'
import { transaction, warm } from './journal'
import { coldAccountGas, warmAccessGas } from './rules'
import { maskAddress } from './word'

/** The account that an operand names. */
export function accessed(operand: usize): Account {
  maskAddress(operand)
  const account = findAccount(operand)
  account.seenTx = transaction
  return account
}

// @ts-ignore: decorator
@inline
export function accessGas(account: Account): i64 {
  return warm(account) ? warmAccessGas : coldAccountGas
}
