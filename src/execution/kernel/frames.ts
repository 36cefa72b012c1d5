/**
 * Data of the active frames. Each has its EVM memory and the gas for it, the fault of the current instruction, and the
 * return data of the last inner frame. Frames are records in linear memory (frame.ts), so that call depth takes no
 * native stack.
 */
import { Failure, Frame } from './frame'
import { blockBytes, releaseBlock, takeBlock } from './heap'
import { lookBefore } from './clock'
import { stop, StopReason } from './host'
import { copyWordGas } from './rules'
import { clamped, isSmall } from './word'

/** Reason why the current instruction cannot be executed. */
export let failure: Failure = Failure.None

/** Whether the whole cost of that instruction is known, and the gas after it, which is negative if unpaid. */
export let isCostKnown: bool = false
export let gasAfterCost: i64 = 0

/** Sets {@link failure} before the whole cost is known, and returns a negative amount of gas. */
export function fail(why: Failure): i64 {
  failure = why
  isCostKnown = false
  return -1
}

/** Like {@link fail}, but for a known cost; `gas` is the gas after it. */
export function failAfter(gas: i64, why: Failure): i64 {
  fail(why)
  isCostKnown = true
  gasAfterCost = gas
  return -1
}

// Data that the last inner frame returned: address, length, and its block (0: no block of its own).
export let returned: usize = 0
export let returnedLength: u32 = 0
let returnedBlock: usize = 0
let returnedRoom: u32 = 0

export function clearReturned(): void {
  if (returnedBlock != 0) releaseBlock(returnedBlock, returnedRoom)
  returnedBlock = 0
  returned = 0
  returnedLength = 0
}

/** Call it after the heap was cleared. */
export function forgetReturned(): void {
  returnedBlock = 0
  returned = 0
  returnedLength = 0
}

/** Takes over a block that contains returned data at `from`. */
export function keepReturned(block: usize, room: u32, from: usize, length: u32): void {
  clearReturned()
  returnedBlock = block
  returnedRoom = room
  returned = from
  returnedLength = length
}

/** Allocates `length` bytes for returned data and returns their address. */
export function placeReturned(length: u32): usize {
  clearReturned()
  if (length == 0) return 0
  const block = takeBlock(length)
  keepReturned(block, blockBytes(length) as u32, block, length)
  return block
}

/** Gas of a memory of `words` words (yellow paper, equation 328). */
@inline
function memoryGas(words: u64): u64 {
  return 3 * words + words * words / 512
}

/** Largest memory, as in go-ethereum; its cost fits in 64 bits. */
export const memoryBytesMax: u64 = 0x1fffffffe0
/** The end of a range whose size, in whole words, does not fit 64 bits. */
export const tooFar: u64 = u64.MAX_VALUE

/** End of the memory that an instruction uses; it starts at `offset`, a word on the stack. */
export function endOf(offset: usize, length: u64): u64 {
  if (length == 0) return 0
  if (!isSmall(offset)) return tooFar
  const end = load<u64>(offset) + length
  return end < length || end > tooFar - 32 ? tooFar : end
}

/** Like {@link endOf}, but for a length that is a word on the stack too. */
export function endOfWords(offset: usize, length: usize): u64 {
  return isSmall(length) ? endOf(offset, load<u64>(length)) : tooFar
}

/** Gas for memory up to `end`, which is at most {@link memoryBytesMax}. */
export function expansionGas(frame: Frame, end: u64): i64 {
  const before = frame.memoryBytes as u64
  return end <= before ? 0 : ((memoryGas((end + 31) >> 5) - memoryGas(before >> 5)) as i64)
}

/**
 * Pays for memory up to `end` and allocates it. `gas` is the gas after the other costs, negative if it was not enough.
 * Returns the remaining gas, negative for a failure.
 */
export function expand(frame: Frame, end: u64, gas: i64): i64 {
  if (end > memoryBytesMax) return fail(end == tooFar ? Failure.GasOverflow : Failure.CostOverflow)
  gas -= expansionGas(frame, end)
  if (gas < 0) return failAfter(gas, Failure.OutOfGas)
  grow(frame, end)
  return gas
}

/** Allocates memory up to `end`, which was paid before. */
@inline
export function grow(frame: Frame, end: u64): void {
  if (end <= (frame.memoryBytes as u64)) return
  const bytes = ((end + 31) >> 5) << 5
  // Linear memory is smaller, so this fails for any amount of gas.
  if (bytes > (u32.MAX_VALUE as u64)) stop(StopReason.Memory)
  provide(frame, bytes as u32)
}

/** Bytes of new memory that a step provides, including the system's page faults. */
const providedPerStep: u64 = 256

function provide(frame: Frame, bytes: u32): void {
  lookBefore(bytes - frame.memoryBytes, providedPerStep)
  if (bytes > frame.memoryRoom) {
    const block = takeBlock(bytes)
    if (frame.memoryRoom != 0) {
      memory.copy(block, frame.memory, frame.memoryBytes)
      releaseBlock(frame.memory, frame.memoryRoom)
    }
    frame.memory = block
    frame.memoryRoom = blockBytes(bytes) as u32
  }
  memory.fill(frame.memory + frame.memoryBytes, 0, bytes - frame.memoryBytes)
  frame.memoryBytes = bytes
}

export function releaseMemory(frame: Frame): void {
  if (frame.memoryRoom != 0) releaseBlock(frame.memory, frame.memoryRoom)
  frame.memoryRoom = 0
}

/**
 * Gas of copying or hashing `length` bytes (a word on the stack). The result is arbitrary for a length beyond any
 * memory.
 */
@inline
export function wordsGas(length: usize, wordGas: i64): i64 {
  return (((load<u64>(length) + 31) >> 5) as i64) * wordGas
}

/** Pays for a copy to memory; the arguments are words on the stack. */
export function payCopy(frame: Frame, to: usize, length: usize, gas: i64): i64 {
  return expand(frame, endOfWords(to, length), gas - wordsGas(length, copyWordGas))
}

/**
 * CALLDATACOPY, CODECOPY and similar: copies `length` bytes of a source from `from` on to memory at `to`, with zeros
 * beyond the end of the source. The arguments after the source are words on the stack.
 */
export function copyIn(
  frame: Frame,
  source: usize,
  sourceLength: u64,
  to: usize,
  from: usize,
  length: usize,
  gas: i64,
): i64 {
  gas = payCopy(frame, to, length, gas)
  if (gas >= 0) copyPaid(frame, source, sourceLength, to, from, length)
  return gas
}

export function copyPaid(frame: Frame, source: usize, sourceLength: u64, to: usize, from: usize, length: usize): void {
  const bytes = load<u64>(length)
  if (bytes == 0) return
  const start = clamped(from)
  const there = start < sourceLength ? min(sourceLength - start, bytes) : 0
  const target = frame.memory + (load<u64>(to) as usize)
  if (there > 0) memory.copy(target, source + (start as usize), there as usize)
  if (there < bytes) memory.fill(target + (there as usize), 0, (bytes - there) as usize)
}
