/** KECCAK256 and MCOPY. */
import { Frame } from './frame'
import { endOfWords, expand, wordsGas } from './frames'
import { lookBefore } from './clock'
import { keccak64, keccak256 } from './keccak'
import { scratchWords } from './layout'
import { copyWordGas, hashWordGas } from './rules'
import { isZero, reverseWord } from './word'

/** Bytes that Keccak hashes in a step. */
const hashedPerStep: u64 = 32

export function hash(frame: Frame, offset: usize, length: usize, gas: i64): i64 {
  gas = expand(frame, endOfWords(offset, length), gas - wordsGas(length, hashWordGas))
  if (gas < 0) return gas
  const bytes = load<u32>(length)
  lookBefore(bytes, hashedPerStep)
  const from: usize = bytes == 0 ? 0 : frame.memory + load<u32>(offset)
  if (bytes == 64) keccak64(from, scratchWords)
  else keccak256(from, bytes, scratchWords)
  reverseWord(scratchWords, length)
  return gas
}

/** MCOPY (EIP-5656). */
export function copyWithin(frame: Frame, to: usize, from: usize, length: usize, gas: i64): i64 {
  const end = max(endOfWords(to, length), endOfWords(from, length))
  gas = expand(frame, end, gas - wordsGas(length, copyWordGas))
  if (gas < 0 || isZero(length)) return gas
  memory.copy(frame.memory + load<u32>(to), frame.memory + load<u32>(from), load<u32>(length))
  return gas
}
