/** Accounts that instructions access, and the gas for that (EIP-2929). */
import { isRecording, seeNamed, seeNamedSlot } from './accessList'
import { Account, findAccount, findSlot } from './accounts'
import { Frame } from './frame'
import { warm } from './journal'
import { coldAccountGas, Fork, has, warmAccessGas } from './rules'
import { maskAddress, WORD } from './word'

/** The account whose address is the operand. */
export function accessed(operand: usize): Account {
  maskAddress(operand)
  const account = findAccount(operand)
  seeNamed(account)
  return account
}

/** Records accounts and slots of an instruction that could not begin: go-ethereum's access lists include them. */
export function noteRefused(frame: Frame, opcode: u32, sp: usize, stackWords: u32): void {
  if (isRecording) return
  switch (opcode) {
    case 0x54: case 0x55:
      if (stackWords >= 1) seeNamedSlot(findSlot(frame.account, sp - WORD))
      return
    case 0x31: case 0x3b: case 0x3c: case 0x3f: case 0xff:
      if (stackWords >= 1) accessed(sp - WORD)
      return
    case 0xf1: case 0xf2: case 0xf4: case 0xfa:
      if (stackWords >= 5) accessed(sp - 2 * WORD)
  }
}

@inline
export function accessGas(account: Account): i64 {
  return warm(account) ? warmAccessGas : coldAccountGas
}

/** Additional gas of a first access; the opcode's gas is that of any later access. */
@inline
export function coldGas(account: Account): i64 {
  return has(Fork.Berlin) && !warm(account) ? coldAccountGas - warmAccessGas : 0
}
