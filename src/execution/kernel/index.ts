/**
 * The EVM: executes messages on a state that it reads from the host on demand. Compiled to WebAssembly; imports
 * nothing from other modules. Only `evm/engine/kernel.ts` uses these exports. Numbers and hashes in the exchange are
 * big-endian.
 */
import { forgetAccesses, isRecording, newestChange, recordAccesses, seePaid, seenAccounts, seenSlots, setAccessIndex, startSeen } from './accessList'
import { Account, balanceOffset, codeHashOffset, codeOf, findAccount, findSlot, forgetAccounts, keyOffset, list, Slot, takeListed, valueOffset } from './accounts'
import { Begun, beginCall, beginCreation, creationAddress, gasBack, lacksCode, refusedCodeBytes, why } from './calls'
import { setLookEvery } from './clock'
import { Code, forgetCodes, keepCode, placeCode } from './code'
import { setBlobHashes } from './context'
import { Kind, Log } from './frame'
import { clearReturned, forgetReturned, placeReturned, returned, returnedLength } from './frames'
import { clearHeap, heapBytes, limitHeap } from './heap'
import { clearStopReason, stopReason } from './host'
import {
  addBalance,
  endAccounts,
  forgetJournal,
  refund,
  setBalance,
  setCode,
  setNonce,
  setRefund,
  setSlot,
  startJournal,
  subtractBalance,
  touch,
  transactionArena,
  undoTo,
  warm,
  warmSlot,
} from './journal'
import { keccak256 } from './keccak'
import { exchange, outcome, scratchWords } from './layout'
import { forgetLogs, newestLog, setTransferLogs, startLogs } from './logs'
import { failedOpcode, failedOperand, failedOperandWords, failedStackWords, gasLeft, run, setGasLeft } from './loop'
import { bindsOutermost, isLinear, neededGas, startNeeds } from './needs'
import { setFork } from './rules'
import { reservoir, startStateGas, stateGas } from './stateGas'
import { setSeed } from './table'
import { reportsFrames, reportedOpcodes } from './trace'
import { forgetTransients, startTransients } from './storage'
import { readAddress, reverseWord, WORD } from './word'

export { endAccounts, limitHeap, placeCode, setBlobHashes, setFork, setLookEvery, setTransferLogs, takeListed, placeReturned as placeOutput }
export { newestChange, recordAccesses, seenAccounts, seenSlots, setAccessIndex }
export { startStateGas }
export { failedOpcode, failedOperand, failedOperandWords, failedStackWords, lacksCode, refusedCodeBytes, newestLog, stopReason }

// Only in the tracing binary.
export { reportsFrames, reportedOpcodes }

// Offsets at which the host reads members of records.
export { balanceOffset, codeHashOffset, keyOffset, valueOffset }
export const nonceOffset: usize = offsetof<Account>('nonce')
export const existsOffset: usize = offsetof<Account>('exists')
export const warmTxOffset: usize = offsetof<Account>('warmTx')
export const incarnationOffset: usize = offsetof<Account>('incarnation')
export const precompileOffset: usize = offsetof<Account>('precompile')
export const nextListedOffset: usize = offsetof<Account>('nextListed')
export const accountOffset: usize = offsetof<Slot>('account')
export const slotsOffset: usize = offsetof<Account>('slots')
export const slotIncarnationOffset: usize = offsetof<Slot>('incarnation')
export const nextSeenAccountOffset: usize = offsetof<Account>('nextSeen')
export const nextSeenSlotOffset: usize = offsetof<Slot>('nextSeen')
export const nextOfAccountOffset: usize = offsetof<Slot>('nextOfAccount')
export const codeLengthOffset: usize = offsetof<Code>('length')

/** Drops all state and frees all memory; also after a trap. `seed` is random. */
export function clear(seed: u64): void {
  clearHeap()
  setSeed(seed)
  forgetAccounts()
  forgetCodes()
  forgetJournal()
  forgetTransients()
  forgetReturned()
  clearStopReason()
  forgetLogs()
  forgetAccesses()
}

/** `ofSystem`: the protocol's own call. */
export function beginTransaction(ofSystem: bool): void {
  if (!isRecording) startSeen()
  startStateGas(0)
  startTransients()
  startJournal(ofSystem)
  startNeeds()
  startLogs()
}

/** Undoes the changes of the transaction. */
export function revertTransaction(): void {
  clearReturned()
  undoTo(0)
}

/** Writes what the host reads after each run. Reading an exported variable takes ten times the instructions. */
export function report(): void {
  store<i64>(outcome, gasLeft)
  store<i64>(outcome, reservoir, 8)
  store<i64>(outcome, stateGas, 16)
  store<i64>(outcome, refund, 24)
  store<i64>(outcome, neededGas, 32)
  store<u32>(outcome, why, 40)
  store<u32>(outcome, <u32>returned, 44)
  store<u32>(outcome, returnedLength, 48)
  store<u32>(outcome, isLinear, 52)
  store<u32>(outcome, bindsOutermost, 56)
  store<u32>(outcome, <u32>heapBytes, 60)
}

/** Allocates memory for the duration of the transaction. */
export function placeInput(bytes: usize): usize {
  return transactionArena.take(bytes)
}

/** The account whose address (20 bytes) is in the exchange. */
export function accountOf(): Account {
  readAddress(exchange, scratchWords)
  return findAccount(scratchWords)
}

/** The slot of an account whose key (32 bytes) is in the exchange. */
export function slotOf(account: Account): Slot {
  reverseWord(exchange, scratchWords)
  return findSlot(account, scratchWords)
}

/** Counts an account that the protocol accesses, for a block's list. */
export function seeAccount(account: Account): void {
  seePaid(account)
}

/** Address of an account's code. */
export function codeBytesOf(account: Account): usize {
  return codeOf(account).bytes
}

export function codeLengthOf(account: Account): u32 {
  return codeOf(account).length
}

export function warmAccount(account: Account): bool {
  return warm(account)
}

export function warmSlotOf(slot: Slot): void {
  warmSlot(slot)
}

/** Sets a balance to the number (32 bytes) in the exchange. */
export function changeBalance(account: Account): void {
  touch(account)
  reverseWord(exchange, scratchWords)
  setBalance(account, scratchWords)
}

/** Adds the number (32 bytes) in the exchange to a balance; touches the account if it is empty. */
export function creditBalance(account: Account): void {
  reverseWord(exchange, scratchWords)
  addBalance(account, scratchWords)
}

export function debitBalance(account: Account): void {
  reverseWord(exchange, scratchWords)
  subtractBalance(account, scratchWords)
}

export function changeNonce(account: Account, nonce: u64): void {
  touch(account)
  setNonce(account, nonce)
}

/** Sets an account's code, which was written to the memory of {@link placeInput}. */
export function changeCode(account: Account, from: usize, length: u32): void {
  touch(account)
  keccak256(from, length, scratchWords)
  setCode(account, keepCode(from, length, scratchWords))
}

/** Removes an account's storage, without an undo record. */
export function wipeStorage(account: Account): void {
  account.incarnation++
  list(account)
}

/** Sets a slot to the value (32 bytes) in the exchange. */
export function changeSlot(slot: Slot): void {
  reverseWord(exchange, scratchWords)
  setSlot(slot, scratchWords)
}

/** Adds gas to refund at the end of the transaction, whether it succeeds or not. */
export function addRefund(gas: i64): void {
  setRefund(refund + gas)
}

/** Calls `to` with the value (32 bytes) in the exchange. Then `why` is the result and `gasLeft` the remaining gas. */
export function runCall(sender: Account, to: Account, input: usize, length: u32, gas: i64): void {
  const value = scratchWords + 5 * WORD
  reverseWord(exchange, value)
  finish(beginCall(0, Kind.Call, sender, to, sender.address, value, input, length, gas, 0))
}

/** Creates a contract at the address of `nonce`; otherwise as {@link runCall}. */
export function runCreation(sender: Account, nonce: u64, initcode: usize, length: u32, gas: i64): void {
  const value = scratchWords + 5 * WORD
  const address = scratchWords + 7 * WORD
  reverseWord(exchange, value)
  creationAddress(sender, nonce, address)
  finish(beginCreation(0, Kind.Create, sender, address, value, initcode, length, gas))
}

function finish(begun: Begun): void {
  if (begun == Begun.Entered) run()
  else setGasLeft(gasBack)
}
