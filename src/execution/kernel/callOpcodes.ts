/** The call and create instructions and SELFDESTRUCT: their stack arguments and their gas. */
import { accessed, accessGas, coldGas } from './access'
import { seePaid } from './accessList'
import { Account, findAccount, isEmpty } from './accounts'
import {
  Begun,
  beginCall,
  beginCreation,
  creationAddress,
  creationRefusal,
  delegateOf,
  gasBack,
  refuseCode,
  saltedAddress,
} from './calls'
import { Failure, Frame, Kind } from './frame'
import {
  endOfWords,
  expand,
  expansionGas,
  clearReturned,
  fail,
  failAfter,
  grow,
  memoryBytesMax,
  returned,
  returnedLength,
  tooFar,
  wordsGas,
} from './frames'
import { lookBefore } from './clock'
import { addBalance, destroy, refund, setBalance, setRefund, subtractBalance, transaction, warm } from './journal'
import { scratchWords } from './layout'
import { logMove, logTransfer } from './logs'
import { askAll, noteCall } from './needs'
import {
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
import { payStateGas, settleStateGas } from './stateGas'
import { traceCost, traceCreation, traceEnter, traceExit } from './trace'
import { clamped, clearWord, copyWord, isSmall, isZero, putSmall, WORD } from './word'

/** Whether the last instruction began a frame, which runs next; otherwise its result is on the stack. */
export let hasEntered: bool = false

/**
 * Gas for an inner frame that requests `wanted` (a word) of `available`. Since EIP-150 it is at most 63 of 64 parts; as
 * in go-ethereum, negative gas is read there as an unsigned number.
 */
function gasForFrame(wanted: usize, available: i64): i64 {
  if (!has(Fork.TangerineWhistle)) return load<u64>(wanted) as i64
  const most = (available as u64) - (available as u64) / 64
  return min(clamped(wanted), most) as i64
}

/**
 * CALL, CALLCODE, DELEGATECALL and STATICCALL. The result replaces the last argument. Returns the caller's remaining
 * gas, negative for a failure.
 */
export function call(frame: Frame, kind: u32, sp: usize, gas: i64): i64 {
  hasEntered = false
  const gasGiven = gas
  const takesValue = kind == Kind.Call || kind == Kind.CallCode
  const to = sp - 2 * WORD
  const given = sp - 3 * WORD
  const inOffset = takesValue ? sp - 4 * WORD : sp - 3 * WORD
  const inLength = inOffset - WORD
  const outOffset = inOffset - 2 * WORD
  const outLength = inOffset - 3 * WORD
  const sendsValue = takesValue && !isZero(given)
  const target = accessed(to)
  // The order of these checks is go-ethereum's; it decides the message, and the cost that a trace shows.
  const end = max(endOfWords(inOffset, inLength), endOfWords(outOffset, outLength))
  if (end == tooFar) return fail(Failure.GasOverflow)
  const isWrite = kind == Kind.Call && sendsValue && frame.isStatic != 0
  if (isWrite && has(Fork.Prague)) return fail(Failure.WriteRefused)
  gas -= coldGas(target)
  if (gas < 0) return fail(Failure.PartUnpaid)
  if (isWrite) return fail(Failure.WriteRefused)
  if (end > memoryBytesMax) return fail(Failure.CostOverflow)
  gas -= expansionGas(frame, end)
  if (sendsValue) gas -= valueTransferGas
  const isNew = kind == Kind.Call && isNewAccount(target, sendsValue)
  if (kind == Kind.Call) {
    if (gas < 0) return fail(Failure.PartUnpaid)
    if (isNew) gas -= newAccountGas
  }
  if (has(Fork.Prague)) {
    if (gas < 0) return fail(Failure.PartUnpaid)
    seePaid(target)
    const delegate = delegateOf(target)
    if (delegate !== null) gas -= accessGas(delegate)
    if (gas < 0) return fail(Failure.PartUnpaid)
    if (delegate !== null) seePaid(delegate)
  }
  frame.callStateGas = isNew ? (newAccountStateGas as u32) : 0
  if (frame.callStateGas != 0) {
    gas = payStateGas(frame, newAccountStateGas, gas)
    if (gas < 0) return fail(Failure.PartUnpaid)
  }
  const ownCost = (gasGiven - gas) as u64
  if (!has(Fork.TangerineWhistle) && (!isSmall(sp - WORD) || load<u64>(sp - WORD) > u64.MAX_VALUE - ownCost)) {
    return fail(Failure.CostOverflow)
  }
  const forFrame = gasForFrame(sp - WORD, gas)
  if (gas < 0 || forFrame < 0 || forFrame > gas) return failAfter(gas - forFrame, Failure.OutOfGas)
  // GAS as the previous instruction requests all gas.
  const asksAll = has(Fork.TangerineWhistle) && frame.pc > frame.code && load<u8>(frame.pc - 1) == 0x5a
  noteCall(frame, gas, asksAll ? askAll : (min(clamped(sp - WORD), i64.MAX_VALUE as u64) as i64), sendsValue ? callStipend : 0)
  grow(frame, end)
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
  return gasBack + settleStateGas(frame, isSuccess)
}

/** Pushes the address of the created contract, or zero, onto the creator's stack. Returns the gas given back. */
export function finishCreation(frame: Frame, created: usize): i64 {
  if (created == 0) clearWord(frame.sp)
  else copyWord(created, frame.sp)
  frame.sp += WORD
  return gasBack + settleStateGas(frame, created != 0)
}

/** Whether a call creates an account, which costs gas (EIP-161; before it, any absent account). */
function isNewAccount(target: Account, sendsValue: bool): bool {
  if (has(Fork.SpuriousDragon)) return sendsValue && (target.exists == 0 || isEmpty(target))
  return target.exists == 0
}

/** Bytes of initcode hashed and searched for jump destinations in a step. */
const initcodePerStep: u64 = 32

/** CREATE and CREATE2; otherwise as {@link call}. */
export function createContract(frame: Frame, kind: u32, sp: usize, gas: i64): i64 {
  hasEntered = false
  const value = sp - WORD
  const offset = sp - 2 * WORD
  const length = sp - 3 * WORD
  const isSalted = kind == Kind.Create2
  const end = endOfWords(offset, length)
  if (frame.isStatic && end != tooFar) return fail(Failure.WriteRefused)
  if (has(Fork.Shanghai) && end <= memoryBytesMax && load<u64>(length) > (initcodeBytesMax as u64)) {
    refuseCode(load<u64>(length))
    return fail(Failure.InitcodeTooLarge)
  }
  const wordGas = (has(Fork.Shanghai) ? initcodeWordGas : 0) + (isSalted ? hashWordGas : 0)
  gas = expand(frame, end, gas - wordsGas(length, wordGas))
  if (gas < 0) return gas
  const bytes = load<u32>(length)
  const initcode = frame.memory + (bytes == 0 ? 0 : (load<u64>(offset) as usize))
  const creator = frame.account
  const address = scratchWords + 7 * WORD
  lookBefore(bytes, initcodePerStep)
  if (isSalted) saltedAddress(creator, sp - 4 * WORD, initcode, bytes, address)
  else creationAddress(creator, creator.nonce, address)
  traceCost(kind, gas)
  traceCreation(kind, address)
  frame.sp = isSalted ? sp - 4 * WORD : length
  frame.callStateGas = 0
  if (newAccountStateGas != 0) {
    // A creation that cannot begin has accessed no address (EIP-7928), and is no frame of a trace.
    if (creationRefusal(frame.depth + 1, creator, value) != Failure.None) {
      clearReturned()
      clearWord(frame.sp)
      frame.sp += WORD
      return gas
    }
    const created = findAccount(address)
    seePaid(created)
    if (isEmpty(created)) {
      frame.callStateGas = newAccountStateGas as u32
      gas = payStateGas(frame, newAccountStateGas, gas)
      if (gas < 0) return gas
    }
  }
  noteCall(frame, gas, askAll, 0)
  const forFrame = has(Fork.TangerineWhistle) ? gas - gas / 64 : gas
  gas -= forFrame
  const begun = beginCreation(frame.depth + 1, kind, creator, address, value, initcode, bytes, forFrame)
  if (begun == Begun.Entered) {
    hasEntered = true
    return gas
  }
  return gas + finishCreation(frame, begun == Begun.Succeeded ? address : 0)
}

/** SELFDESTRUCT. Returns the remaining gas, negative for a failure. */
export function selfdestruct(frame: Frame, beneficiary: usize, gas: i64): i64 {
  const heir = accessed(beneficiary)
  if (frame.isStatic) return fail(Failure.WriteRefused)
  const account = frame.account
  if (has(Fork.Berlin)) {
    if (!warm(heir)) gas -= coldAccountGas
    // As in go-ethereum, the cost is known from Amsterdam on.
    if (gas < 0) return has(Fork.Amsterdam) ? failAfter(gas, Failure.PartUnpaid) : fail(Failure.PartUnpaid)
    seePaid(heir)
  }
  let left = gas
  if (has(Fork.TangerineWhistle)) {
    if (!has(Fork.Berlin)) gas -= selfdestructGas
    const isNew = isNewAccount(heir, !isZero(account.balance))
    if (isNew) gas -= newHeirGas
    left = isNew && newAccountStateGas != 0 ? payStateGas(frame, newAccountStateGas, gas) : gas
  }
  if (account.destroyedTx != transaction) setRefund(refund + selfdestructRefund)
  if (left < 0) return failAfter(gas, Failure.OutOfGas)
  gas = left
  traceCost(0xff, gas)
  // As in go-ethereum, the log is the contract's own and comes before all events of the transfer.
  logMove(account.address, heir.address, account.balance)
  traceEnter(0xff, account.address, heir.address, account.balance, 0, 0, 0)
  logTransfer(account.address, heir.address, account.balance)
  // EIP-6780: only a contract created in this transaction is destroyed; others only send their balance.
  const ends = !has(Fork.Cancun) || account.createdTx == transaction
  if (heir == account) {
    // EIP-8246: the balance of the destroyed account stays.
    if (ends && !has(Fork.Amsterdam)) {
      clearWord(scratchWords)
      setBalance(account, scratchWords)
    }
  } else {
    copyWord(account.balance, scratchWords)
    addBalance(heir, scratchWords)
    subtractBalance(account, scratchWords)
  }
  if (ends) destroy(account)
  traceExit(Failure.None, 0, 0, 0)
  return gas
}
