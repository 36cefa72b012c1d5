/**
 * Instructions about accounts, input, blocks and logs. Functions return the remaining gas, negative for a failure.
 */
import { Account, codeOf, hasCode, isEmpty } from './accounts'
import { accessed, coldGas } from './access'
import { seePaid } from './accessList'
import { blobHashCount, blobHashes, numberWord } from './context'
import { Failure, Frame } from './frame'
import { copyPaid, endOfWords, expand, failAfter, payCopy, returned, returnedLength } from './frames'
import { readBlockHash } from './host'
import { addLog } from './logs'
import { exchange } from './layout'
import { codeAccessGas, logByteGas, logGas, logTopicGas } from './rules'
import { traceCost, traceLog } from './trace'
import { clamped, clearWord, copyWord, isSmall, putSmall, reverseWord, WORD } from './word'

@inline
function payAccess(opcode: u32, account: Account, gas: i64): i64 {
  gas -= coldGas(account)
  if (gas < 0) return failAfter(gas, Failure.OutOfGas)
  seePaid(account)
  traceCost(opcode, gas)
  return gas
}

/** BALANCE: replaces the address on the stack with the balance. */
export function balance(word: usize, gas: i64): i64 {
  const account = accessed(word)
  gas = payAccess(0x31, account, gas)
  if (gas >= 0) copyWord(account.balance, word)
  return gas
}

export function externalCodeSize(word: usize, gas: i64): i64 {
  const account = accessed(word)
  gas = payAccess(0x3b, account, gas - codeAccessGas)
  if (gas >= 0) putSmall(word, hasCode(account) ? (codeOf(account).length as u64) : 0)
  return gas
}

/** EIP-1052. */
export function externalCodeHash(word: usize, gas: i64): i64 {
  const account = accessed(word)
  gas = payAccess(0x3f, account, gas)
  if (gas < 0) return gas
  if (account.exists == 0 || isEmpty(account)) clearWord(word)
  else reverseWord(account.codeHash, word)
  return gas
}

export function externalCodeCopy(frame: Frame, sp: usize, gas: i64): i64 {
  const account = accessed(sp - WORD)
  const to = sp - 2 * WORD
  const length = sp - 4 * WORD
  gas = payCopy(frame, to, length, gas - coldGas(account) - codeAccessGas)
  if (gas < 0) return gas
  seePaid(account)
  traceCost(0x3c, gas)
  const code = codeOf(account)
  copyPaid(frame, code.bytes, code.length, to, sp - 3 * WORD, length)
  return gas
}

/** CALLDATALOAD: replaces the offset on the stack with 32 bytes of the input. */
export function callDataLoad(frame: Frame, word: usize): void {
  const offset = clamped(word)
  const length = frame.inputLength as u64
  if (offset >= length) return clearWord(word)
  const from = frame.input + (offset as usize)
  if (length - offset >= 32) return reverseWord(from, word)
  clearWord(exchange)
  memory.copy(exchange, from, (length - offset) as usize)
  reverseWord(exchange, word)
}

/** EIP-211: reading beyond the end is a failure. */
export function returnDataCopy(frame: Frame, sp: usize, gas: i64): i64 {
  const from = sp - 2 * WORD
  const length = sp - 3 * WORD
  const start = clamped(from)
  const end = start + clamped(length)
  gas = payCopy(frame, sp - WORD, length, gas)
  if (gas < 0) return gas
  if (!isSmall(from) || end < start || end > (returnedLength as u64)) {
    return failAfter(gas, Failure.ReturnDataOutOfBounds)
  }
  copyPaid(frame, returned, returnedLength, sp - WORD, from, length)
  return gas
}

export function blockHash(word: usize): void {
  const current = load<u64>(numberWord)
  const number = load<u64>(word)
  const isNear = isSmall(word) && number < current && current - number <= 256
  if (isNear && readBlockHash(number)) reverseWord(exchange, word)
  else clearWord(word)
}

/** EIP-4844. */
export function blobHash(word: usize): void {
  const index = clamped(word)
  if (index < (blobHashCount as u64)) copyWord(blobHashes + (index as usize) * WORD, word)
  else clearWord(word)
}

export function log(frame: Frame, topicCount: u32, sp: usize, gas: i64): i64 {
  const offset = sp - WORD
  const length = sp - 2 * WORD
  gas -= logGas + (topicCount as i64) * logTopicGas + (load<u64>(length) as i64) * logByteGas
  gas = expand(frame, endOfWords(offset, length), gas)
  if (gas < 0) return gas
  if (frame.isStatic) return failAfter(gas, Failure.WriteProtection)
  const bytes = load<u32>(length)
  const record = addLog(frame.account, topicCount, bytes)
  for (let i: usize = 0; i < topicCount; i++) reverseWord(sp - (3 + i) * WORD, record.topics + i * WORD)
  if (bytes > 0) memory.copy(record.data, frame.memory + (load<u64>(offset) as usize), bytes)
  traceLog(record)
  return gas
}
