/** The call and create instructions and SELFDESTRUCT: their stack arguments and their gas. */
import { accessedFirst, accessGas } from './access'
import { see, seeForBlock } from './accessList'
import { Account, findAccount, isEmpty } from './accounts'
import {
  Begun,
  beginCall,
  beginCreation,
  creationAddress,
  creationRefusal,
  delegateOf,
  gasBack,
  saltedAddress,
} from './calls'
import { expandWords, Failure, fail, Frame, Kind, payWords, returned, returnedLength } from './frames'
import { lookBefore } from './host'
import { addBalance, destroy, refund, setBalance, setRefund, subtractBalance, transaction, warm } from './journal'
import { scratchWords } from './layout'
import { logMove, logTransfer } from './logs'
import { askAll, noteCall } from './needs'
import {
  callGas,
  callStipend,
  coldAccountGas,
  Fork,
  hashWordGas,
  has,
  initcodeBytesMax,
  initcodeWordGas,
  newAccountGas,
  newAccountStateGas,
  newHeirGas,
  selfdestructGas,
  selfdestructRefund,
  valueTransferGas,
} from './rules'
import { payStateGas, refillNewAccount } from './stateGas'
import { traceCost, traceEnter, traceExit } from './trace'
import { clamped, clearWord, copyWord, isZero, putSmall, WORD } from './word'

/** Whether the last instruction began a frame, which runs next; otherwise its result is on the stack. */
export let hasEntered: bool = false

/** Gas for an inner frame that requests `wanted` (a word) of `available`; negative where that is not possible. */
function gasForFrame(wanted: usize, available: i64): i64 {
  const asked = clamped(wanted)
  // EIP-150.
  const most = has(Fork.TangerineWhistle) ? available - available / 64 : available
  if (asked <= (most as u64)) return asked as i64
  return has(Fork.TangerineWhistle) ? most : -1
}

/**
 * CALL, CALLCODE, DELEGATECALL and STATICCALL. The result replaces the last argument. Returns the caller's remaining
 * gas, negative for a failure.
 */
export function call(frame: Frame, kind: u32, sp: usize, gas: i64): i64 {
  hasEntered = false
  const takesValue = kind == Kind.Call || kind == Kind.CallCode
  const to = sp - 2 * WORD
  const given = sp - 3 * WORD
  const inOffset = takesValue ? sp - 4 * WORD : sp - 3 * WORD
  const inLength = inOffset - WORD
  const outOffset = inOffset - 2 * WORD
  const outLength = inOffset - 3 * WORD
  const sendsValue = takesValue && !isZero(given)
  const target = accessedFirst(frame, to)
  if (kind == Kind.Call && sendsValue && frame.isStatic) return fail(Failure.WriteProtection)
  gas = expandWords(frame, inOffset, inLength, gas)
  if (gas < 0) return gas
  gas = expandWords(frame, outOffset, outLength, gas)
  if (gas < 0) return gas
  gas -= has(Fork.Berlin) ? accessGas(target) : callGas
  if (gas < 0) return fail(Failure.OutOfGas)
  if (sendsValue) gas -= valueTransferGas
  const isNew = kind == Kind.Call && isNewAccount(target, sendsValue)
  if (isNew) gas -= newAccountGas
  if (gas < 0) return fail(Failure.OutOfGas)
  see(target)
  const delegate = delegateOf(target)
  if (delegate !== null) {
    gas -= accessGas(delegate)
    if (gas < 0) return fail(Failure.OutOfGas)
    seeForBlock(delegate)
  }
  frame.callStateGas = isNew ? (newAccountStateGas as u32) : 0
  if (frame.callStateGas != 0) {
    gas = payStateGas(frame, newAccountStateGas, gas)
    if (gas < 0) return gas
  }
  // GAS as the previous instruction requests all gas.
  const asksAll = frame.pc > frame.code && load<u8>(frame.pc - 1) == 0x5a
  noteCall(frame, gas, asksAll ? askAll : (min(clamped(sp - WORD), i64.MAX_VALUE as u64) as i64), sendsValue ? callStipend : 0)
  const forFrame = gasForFrame(sp - WORD, gas)
  if (forFrame < 0) return fail(Failure.OutOfGas)
  gas -= forFrame
  let caller = frame.account.address
  let value = given
  if (kind == Kind.DelegateCall) {
    caller = frame.caller
    value = frame.value
  } else if (kind == Kind.StaticCall) {
    value = scratchWords + WORD
    clearWord(value)
  }
  const input = frame.memory + (isZero(inLength) ? 0 : (load<u64>(inOffset) as usize))
  frame.outOffset = isZero(outLength) ? 0 : load<u32>(outOffset)
  frame.outLength = load<u32>(outLength)
  frame.sp = outLength
  traceCost(kind, gas)
  const begun = beginCall(
    frame.depth + 1,
    kind,
    frame.account,
    target,
    caller,
    value,
    input,
    load<u32>(inLength),
    sendsValue ? forFrame + callStipend : forFrame,
    kind == Kind.StaticCall ? 1 : frame.isStatic,
  )
  if (begun == Begun.Entered) {
    hasEntered = true
    return gas
  }
  return gas + finishCall(frame, begun == Begun.Succeeded)
}

/** Copies the output of an ended call into the caller's memory and pushes the result. Returns the gas given back. */
export function finishCall(frame: Frame, isSuccess: bool): i64 {
  const length = min(frame.outLength, returnedLength)
  if (length > 0) memory.copy(frame.memory + frame.outOffset, returned, length)
  putSmall(frame.sp, isSuccess ? 1 : 0)
  frame.sp += WORD
  return gasBack + refillNewAccount(frame, isSuccess)
}

/** Pushes the address of the created contract, or zero, onto the creator's stack. Returns the gas given back. */
export function finishCreation(frame: Frame, created: usize): i64 {
  if (created == 0) clearWord(frame.sp)
  else copyWord(created, frame.sp)
  frame.sp += WORD
  return gasBack + refillNewAccount(frame, created != 0)
}

/** Whether a call creates an account, which costs gas (EIP-161; before it, any absent account). */
function isNewAccount(target: Account, sendsValue: bool): bool {
  if (has(Fork.SpuriousDragon)) return sendsValue && (target.exists == 0 || isEmpty(target))
  return target.exists == 0
}

/** Bytes of initcode that are hashed and searched for jump destinations in a step. */
const initcodePerStep: u64 = 32

/** CREATE and CREATE2; otherwise as {@link call}. */
export function createContract(frame: Frame, kind: u32, sp: usize, gas: i64): i64 {
  hasEntered = false
  if (frame.isStatic) return fail(Failure.WriteProtection)
  const value = sp - WORD
  const offset = sp - 2 * WORD
  const length = sp - 3 * WORD
  const isSalted = kind == Kind.Create2
  gas = expandWords(frame, offset, length, gas)
  if (gas < 0) return gas
  if (has(Fork.Shanghai) && clamped(length) > (initcodeBytesMax as u64)) return fail(Failure.InitcodeTooLarge)
  const wordGas = (has(Fork.Shanghai) ? initcodeWordGas : 0) + (isSalted ? hashWordGas : 0)
  gas = payWords(length, wordGas, gas)
  if (gas < 0) return gas
  const bytes = load<u32>(length)
  const initcode = frame.memory + (bytes == 0 ? 0 : (load<u64>(offset) as usize))
  const creator = frame.account
  const address = scratchWords + 7 * WORD
  lookBefore(bytes, initcodePerStep)
  if (isSalted) saltedAddress(creator, sp - 4 * WORD, initcode, bytes, address)
  else creationAddress(creator, creator.nonce, address)
  frame.callStateGas = 0
  if (newAccountStateGas != 0 && creationRefusal(frame.depth + 1, creator, value) == Failure.None) {
    const created = findAccount(address)
    seeForBlock(created)
    if (isEmpty(created)) {
      frame.callStateGas = newAccountStateGas as u32
      gas = payStateGas(frame, newAccountStateGas, gas)
      if (gas < 0) return gas
    }
  }
  noteCall(frame, gas, has(Fork.TangerineWhistle) ? askAll : gas, 0)
  traceCost(kind, gas)
  const forFrame = has(Fork.TangerineWhistle) ? gas - gas / 64 : gas
  gas -= forFrame
  frame.sp = isSalted ? sp - 4 * WORD : length
  const begun = beginCreation(frame.depth + 1, kind, creator, address, value, initcode, bytes, forFrame)
  if (begun == Begun.Entered) {
    hasEntered = true
    return gas
  }
  return gas + finishCreation(frame, 0)
}

/** SELFDESTRUCT. Returns the remaining gas, negative for a failure. */
export function selfdestruct(frame: Frame, beneficiary: usize, gas: i64): i64 {
  const heir = accessedFirst(frame, beneficiary)
  if (frame.isStatic) return fail(Failure.WriteProtection)
  const account = frame.account
  gas -= selfdestructGas
  if (has(Fork.Berlin) && !warm(heir)) gas -= coldAccountGas
  if (has(Fork.Amsterdam) && gas >= 0) see(heir)
  const sendsValue = !isZero(account.balance)
  if (has(Fork.TangerineWhistle) && isNewAccount(heir, sendsValue)) {
    gas -= newHeirGas
    if (newAccountStateGas != 0 && gas >= 0) gas = payStateGas(frame, newAccountStateGas, gas)
  }
  if (gas < 0) return fail(Failure.OutOfGas)
  see(heir)
  if (account.destroyedTx != transaction) setRefund(refund + selfdestructRefund)
  traceCost(0xff, gas)
  traceEnter(0xff, account.address, heir.address, account.balance, 0, 0, 0)
  logTransfer(account.address, heir.address, account.balance)
  // EIP-6780: only a contract created in this transaction is destroyed; others only send their balance.
  const ends = !has(Fork.Cancun) || account.createdTx == transaction
  if (heir == account) {
    if (ends && !has(Fork.Amsterdam)) {
      clearWord(scratchWords)
      setBalance(account, scratchWords)
    }
  } else {
    copyWord(account.balance, scratchWords)
    addBalance(heir, scratchWords)
    subtractBalance(account, scratchWords)
    logMove(account.address, heir.address, scratchWords)
  }
  if (ends) destroy(account)
  traceExit(Failure.None, 0, 0, 0)
  return gas
}
