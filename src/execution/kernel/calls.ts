/**
 * Calls and creations: how a frame begins and ends (yellow paper, sections 7 and 8). Owns the steps between frames;
 * callOpcodes.ts owns the instructions' stack arguments and gas.
 */
import { seePaid } from './accessList'
import { Account, codeOf, findAccount, hasCode } from './accounts'
import { findJumps, jumpBytes, jumpsOf, keepCode, paddingBytes } from './code'
import { Failure, Frame, Kind, Log, frameAt } from './frame'
import { clearReturned, keepReturned, placeReturned, releaseMemory, returned, returnedLength } from './frames'
import { releaseBlock, takeBlock } from './heap'
import { runPrecompile } from './host'
import { addBalance, create, refund, setCode, setNonce, setRefund, snapshot, subtractBalance, touch, undoTo, warm } from './journal'
import { keccak256 } from './keccak'
import { scratchWords, stacks } from './layout'
import { logMove, logTransfer, newestLog, setNewestLog } from './logs'
import { End, enterNeeds, leaveNeeds, returnNeed, setOutermostNeed } from './needs'
import { codeByteGas, codeBytesMax, codeByteStateGas, depthMax, Fork, has, hashWordGas } from './rules'
import { enterStateGas, keepStateGas, payStateGas, undoStateGas } from './stateGas'
import { traceEnter, traceExit } from './trace'
import { copyWord, isBelow, isZero, readAddress, reverseWord, WORD, writeAddress } from './word'

/** Result of an attempt to begin a frame. */
export enum Begun {
  /** The frame failed at once; {@link why} is the reason, and {@link gasBack} the gas for its caller. */
  Failed = 0,
  /** The frame succeeded at once, without running. */
  Succeeded = 1,
  /** The frame was begun. */
  Entered = 2,
}

export let why: Failure = Failure.None
export let gasBack: i64 = 0
/** Before Homestead: the last creation succeeded, but its contract has no code because gas was missing. */
export let lacksCode: bool = false
/** Length of the code or initcode that was last refused as too large. */
export let refusedCodeBytes: u64 = 0
export function refuseCode(bytes: u64): void {
  refusedCodeBytes = bytes
}

function failed(reason: Failure, gas: i64): Begun {
  why = reason
  gasBack = gas
  traceExit(reason, gas, 0, 0)
  return Begun.Failed
}

/** A frame that does not begin; the log of its transfer is dropped. */
function failedAfter(logged: Log | null, reason: Failure, gas: i64): Begun {
  setNewestLog(logged)
  return failed(reason, gas)
}

function succeeded(gas: i64): Begun {
  why = Failure.None
  gasBack = gas
  traceExit(Failure.None, gas, returned, returnedLength)
  return Begun.Succeeded
}

/** The account to which an account delegates (EIP-7702); null if its code is not a delegation. */
export function delegateOf(account: Account): Account | null {
  if (!has(Fork.Prague) || !hasCode(account)) return null
  const code = codeOf(account)
  if (code.length != 23 || (load<u32>(code.bytes) & 0xffffff) != 0x0001ef) return null
  readAddress(code.bytes + 3, scratchWords)
  return findAccount(scratchWords)
}

/**
 * Begins a call of `kind` by a frame at `depth - 1`, or by the transaction at depth 0. `payer` is the calling account,
 * in which CALLCODE and DELEGATECALL run; `target` is the account of the code. `caller` and `value` are the words that
 * CALLER and CALLVALUE return, `gas` is the frame's gas.
 */
export function beginCall(
  depth: u32,
  kind: u32,
  payer: Account,
  target: Account,
  caller: usize,
  value: usize,
  input: usize,
  inputLength: u32,
  gas: i64,
  isStatic: u32,
): Begun {
  clearReturned()
  traceEnter(kind, caller, target.address, value, input, inputLength, gas)
  const logged = newestLog
  if (kind == Kind.Call) logTransfer(caller, target.address, value)
  if (depth > depthMax) return failedAfter(logged, Failure.DepthReached, gas)
  const pays = kind == Kind.Call || kind == Kind.CallCode
  if (pays && !isZero(value) && isBelow(payer.balance, value)) {
    return failedAfter(logged, Failure.InsufficientBalance, gas)
  }
  const undoPosition = snapshot()
  if (kind == Kind.Call) {
    if (target.exists == 0) {
      if (has(Fork.SpuriousDragon) && isZero(value) && target.precompile == 0) return succeeded(gas)
      touch(target)
    }
    subtractBalance(payer, value)
    addBalance(target, value)
    logMove(payer.address, target.address, value)
  } else if (kind == Kind.StaticCall) touch(target)
  if (target.precompile != 0) {
    const begun = callPrecompile(depth, target, input, inputLength, gas, undoPosition)
    if (begun == Begun.Failed) setNewestLog(logged)
    return begun
  }
  if (!hasCode(target)) return succeeded(gas)
  const delegate = delegateOf(target)
  const code = codeOf(delegate === null ? target : delegate)
  if (code.length == 0) return succeeded(gas)
  const frame = frameAt(depth)
  frame.code = code.bytes
  frame.codeLength = code.length
  frame.jumps = jumpsOf(code)
  frame.ownCode = 0
  frame.account = kind == Kind.CallCode || kind == Kind.DelegateCall ? payer : target
  open(frame, depth, kind, caller, value, input, inputLength, gas, undoPosition, logged)
  frame.isStatic = isStatic
  return Begun.Entered
}

function open(
  frame: Frame,
  depth: u32,
  kind: u32,
  caller: usize,
  value: usize,
  input: usize,
  inputLength: u32,
  gas: i64,
  undoPosition: usize,
  logged: Log | null,
): void {
  frame.depth = depth
  frame.kind = kind
  frame.pc = frame.code
  frame.stack = depth == 0 ? stacks : frameAt(depth - 1).sp
  frame.sp = frame.stack
  frame.memoryRoom = 0
  frame.memoryBytes = 0
  frame.memory = 0
  frame.gas = gas
  frame.gasLimit = gas
  frame.input = input
  frame.inputLength = inputLength
  frame.undoPosition = undoPosition
  frame.newestLog = logged
  frame.refund = refund
  enterStateGas(frame)
  enterNeeds(frame, gas)
  copyWord(caller, frame.caller)
  copyWord(value, frame.value)
}

function callPrecompile(
  depth: u32,
  target: Account,
  input: usize,
  inputLength: u32,
  gas: i64,
  undoPosition: usize,
): Begun {
  let used: i64
  if (target.precompile == 4) {
    used = 15 + 3 * (((inputLength + 31) >> 5) as i64)
    if (used <= gas && inputLength > 0) memory.copy(placeReturned(inputLength), input, inputLength)
  } else used = runPrecompile(target.precompile, input, inputLength, gas)
  const isSuccess = used >= 0 && used <= gas
  if (depth == 0) setOutermostNeed(used)
  else returnNeed(frameAt(depth - 1), used, false, isSuccess ? used : gas, isSuccess ? End.Succeeded : End.Burnt)
  if (isSuccess) return succeeded(gas - used)
  clearReturned()
  undoTo(undoPosition)
  return failed(used < 0 ? Failure.PrecompileFailed : Failure.OutOfGas, 0)
}

/** The reason why a creation cannot begin, before its address is accessed; {@link Failure.None} if it can. */
export function creationRefusal(depth: u32, creator: Account, value: usize): Failure {
  if (depth > depthMax) return Failure.DepthReached
  if (!isZero(value) && isBelow(creator.balance, value)) return Failure.InsufficientBalance
  return creator.nonce == u64.MAX_VALUE ? Failure.NonceOverflow : Failure.None
}

/** Begins a creation by `creator` at an address (a word); increments the creator's nonce. `initcode` is copied. */
export function beginCreation(
  depth: u32,
  kind: u32,
  creator: Account,
  address: usize,
  value: usize,
  initcode: usize,
  length: u32,
  gas: i64,
): Begun {
  clearReturned()
  traceEnter(kind, creator.address, address, value, initcode, length, gas)
  const logged = newestLog
  logTransfer(creator.address, address, value)
  const refusal = creationRefusal(depth, creator, value)
  if (refusal != Failure.None) return failedAfter(logged, refusal, gas)
  // The nonce of a transaction's sender was incremented before.
  if (depth > 0) setNonce(creator, creator.nonce + 1)
  const account = findAccount(address)
  seePaid(account)
  if (has(Fork.Berlin)) warm(account)
  if (account.nonce != 0 || hasCode(account) || (account.hasStorage && account.incarnation == 0)) {
    if (depth > 0) returnNeed(frameAt(depth - 1), 0, false, gas, End.Burnt)
    return failedAfter(logged, Failure.CreateCollision, 0)
  }
  const undoPosition = snapshot()
  create(account)
  if (has(Fork.SpuriousDragon)) setNonce(account, 1)
  subtractBalance(creator, value)
  addBalance(account, value)
  logMove(creator.address, account.address, value)
  lacksCode = false
  if (length == 0) return succeeded(gas)
  const frame = frameAt(depth)
  const bytes = (length as usize) + paddingBytes + jumpBytes(length)
  const block = takeBlock(bytes)
  memory.copy(block, initcode, length)
  memory.fill(block + length, 0, paddingBytes)
  findJumps(block, length, block + length + paddingBytes)
  frame.code = block
  frame.codeLength = length
  frame.jumps = block + length + paddingBytes
  frame.ownCode = block
  frame.ownCodeBytes = bytes as u32
  frame.account = account
  frame.isStatic = 0
  open(frame, depth, kind, creator.address, value, 0, 0, gas, undoPosition, logged)
  return Begun.Entered
}

/**
 * Ends a frame that succeeded or reverted with `length` bytes at `from` of its memory, or failed. Sets {@link why} to
 * its result and {@link gasBack} to its remaining gas.
 */
export function endFrame(frame: Frame, reason: Failure, from: usize, length: u32, gas: i64): void {
  why = reason
  gasBack = reason == Failure.None || reason == Failure.Reverted ? gas : 0
  if (frame.isCreation && reason == Failure.None) deploy(frame, from, length)
  if (why == Failure.None || why == Failure.Reverted) {
    const isKept = length > 0 && (why == Failure.Reverted || !frame.isCreation || frame.depth == 0)
    if (isKept && frame.memoryRoom != 0) {
      keepReturned(frame.memory, frame.memoryRoom, from, length)
      frame.memoryRoom = 0
    } else clearReturned()
  } else clearReturned()
  if (why != Failure.None) {
    undoTo(frame.undoPosition)
    setNewestLog(frame.newestLog)
    setRefund(frame.refund)
    const returnedGas = undoStateGas(frame)
    if (why == Failure.Reverted) gasBack += returnedGas
  } else keepStateGas(frame, frame.depth == 0 ? null : frameAt(frame.depth - 1))
  const end = why == Failure.None ? End.Succeeded : why == Failure.Reverted ? End.Reverted : End.Burnt
  leaveNeeds(frame, frame.depth == 0 ? null : frameAt(frame.depth - 1), frame.gasLimit - gasBack, end)
  // This includes the output of a creation that is refused as code.
  traceExit(why, gasBack, from, length)
  releaseMemory(frame)
  if (frame.ownCode != 0) releaseBlock(frame.ownCode, frame.ownCodeBytes)
}

/** Stores the output of initcode as the new account's code, or sets the reason of the failure. */
function deploy(frame: Frame, from: usize, length: u32): void {
  lacksCode = false
  if (has(Fork.London) && length > 0 && load<u8>(from) == 0xef) return refuse(Failure.InvalidCode)
  const isTooLarge = has(Fork.SpuriousDragon) && length > codeBytesMax
  if (isTooLarge && has(Fork.Amsterdam)) return refuseLarge(length)
  const gas = has(Fork.Amsterdam) ? payDeposit(frame, length) : gasBack - (length as i64) * codeByteGas
  if (gas < 0) {
    if (has(Fork.Homestead)) return refuse(Failure.CodeStoreOutOfGas)
    lacksCode = true
    return
  }
  if (isTooLarge) return refuseLarge(length)
  gasBack = gas
  if (length == 0) return
  keccak256(from, length, scratchWords)
  setCode(frame.account, keepCode(from, length, scratchWords))
}

/**
 * EIP-8037: pays for hashing the code, and for its bytes as state. Returns the remaining gas, negative for a failure.
 */
function payDeposit(frame: Frame, length: u32): i64 {
  const gas = gasBack - (((length + 31) >> 5) as i64) * hashWordGas
  return gas < 0 ? gas : payStateGas(frame, (length as i64) * codeByteStateGas, gas)
}

function refuseLarge(length: u32): void {
  refuseCode(length)
  refuse(Failure.CodeTooLarge)
}

function refuse(reason: Failure): void {
  why = reason
  gasBack = 0
}

/** The address, as a word, of a contract that an account with this nonce creates (yellow paper, equation 88). */
export function creationAddress(creator: Account, nonce: u64, out: usize): void {
  const rlp = scratchWords
  store<u8>(rlp + 1, 0x94)
  writeAddress(creator.address, rlp + 2)
  let end = rlp + 22
  if (nonce == 0) store<u8>(end++, 0x80)
  else if (nonce < 0x80) store<u8>(end++, nonce as u8)
  else {
    const bytes = ((71 - clz(nonce)) >> 3) as usize
    store<u8>(end++, 0x80 + (bytes as u8))
    for (let i = bytes; i > 0; i--) store<u8>(end++, (nonce >> (((i - 1) << 3) as u64)) as u8)
  }
  store<u8>(rlp, 0xc0 + ((end - rlp - 1) as u8))
  keccak256(rlp, end - rlp, scratchWords + 2 * WORD)
  readAddress(scratchWords + 2 * WORD + 12, out)
}

/** The address of CREATE2 (EIP-1014), as a word. `salt` is a word. */
export function saltedAddress(creator: Account, salt: usize, initcode: usize, length: u32, out: usize): void {
  const text = scratchWords + 4 * WORD
  keccak256(initcode, length, text + 53)
  store<u8>(text, 0xff)
  writeAddress(creator.address, text + 1)
  reverseWord(salt, text + 21)
  keccak256(text, 85, scratchWords)
  readAddress(scratchWords + 12, out)
}
