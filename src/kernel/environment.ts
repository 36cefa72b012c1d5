/**
 * Instructions about accounts, input, blocks and logs. Functions return the remaining gas, negative for a failure.
 */
import { Account, codeOf, hasCode, isEmpty } from './accounts'
import { accessed, accessGas } from './access'
import { see } from './accessList'
import { blobHashCount, blobHashes, numberWord } from './context'
import { copyIn, expandWords, Failure, fail, failUnpaid, Frame, payWords, returned, returnedLength } from './frames'
import { readBlockHash } from './host'
import { addLog } from './logs'
import { exchange } from './layout'
import { balanceGas, codeHashGas, codeReadGas, copyWordGas, externalCodeGas, Fork, has, logByteGas } from './rules'
import { traceLog } from './trace'
import { clamped, clearWord, copyWord, isSmall, putSmall, reverseWord, WORD } from './word'

@inline
function payAccess(account: Account, gasBefore: i64, gas: i64): i64 {
  const left = gas - (has(Fork.Berlin) ? accessGas(account) : gasBefore)
  if (left < 0) return failUnpaid(left)
  see(account)
  return left
}

/** BALANCE: replaces the address on the stack with the balance. */
export function balance(word: usize, gas: i64): i64 {
  const account = accessed(word)
  gas = payAccess(account, balanceGas, gas)
  if (gas >= 0) copyWord(account.balance, word)
  return gas
}

export function externalCodeSize(word: usize, gas: i64): i64 {
  const account = accessed(word)
  gas = payAccess(account, externalCodeGas, gas - codeReadGas)
  if (gas >= 0) putSmall(word, hasCode(account) ? (codeOf(account).length as u64) : 0)
  return gas
}

/** EIP-1052. */
export function externalCodeHash(word: usize, gas: i64): i64 {
  const account = accessed(word)
  gas = payAccess(account, codeHashGas, gas)
  if (gas < 0) return gas
  if (account.exists == 0 || isEmpty(account)) clearWord(word)
  else reverseWord(account.codeHash, word)
  return gas
}

export function externalCodeCopy(frame: Frame, sp: usize, gas: i64): i64 {
  const account = accessed(sp - WORD)
  gas -= codeReadGas + (has(Fork.Berlin) ? accessGas(account) : externalCodeGas)
  if (gas < 0) return failUnpaid(gas)
  const code = codeOf(account)
  gas = copyIn(frame, code.bytes, code.length, sp - 2 * WORD, sp - 3 * WORD, sp - 4 * WORD, gas)
  if (gas >= 0) see(account)
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
  if (!isSmall(from) || !isSmall(length) || end < start || end > (returnedLength as u64)) {
    // Missing gas is reported before reading beyond the end.
    gas = payWords(length, copyWordGas, gas)
    if (gas >= 0) gas = expandWords(frame, sp - WORD, length, gas)
    return gas < 0 ? gas : fail(Failure.ReturnDataOutOfBounds)
  }
  return copyIn(frame, returned, returnedLength, sp - WORD, from, length, gas)
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
  if (frame.isStatic) return fail(Failure.WriteProtection)
  const offset = sp - WORD
  const length = sp - 2 * WORD
  gas = expandWords(frame, offset, length, gas)
  if (gas < 0) return gas
  gas -= (load<u64>(length) as i64) * logByteGas
  if (gas < 0) return fail(Failure.OutOfGas)
  const bytes = load<u32>(length)
  const record = addLog(frame.account, topicCount, bytes)
  for (let i: usize = 0; i < topicCount; i++) reverseWord(sp - (3 + i) * WORD, record.topics + i * WORD)
  if (bytes > 0) memory.copy(record.data, frame.memory + (load<u64>(offset) as usize), bytes)
  traceLog(record)
  return gas
}
