/**
 * The compression function of BLAKE2b (RFC 7693, section 3.2) with any number of rounds. Written in AssemblyScript;
 * only `blake2f.ts`, one folder up, calls it. Words have 64 bits, little-endian.
 */

/** h, 8 words: the state before and after. */
export const state: usize = memory.data(64)
/** m, 16 words. */
export const message: usize = memory.data(128)
/** t, 2 words. */
export const offset: usize = memory.data(16)
/** v, 16 words. */
const work: usize = memory.data(128)

const initial = memory.data<u64>([
  0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1,
  0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
])

/** Message schedule: one row for each of ten rounds, repeated after that. */
const schedule = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
  14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3,
  11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4,
  7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8,
  9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13,
  2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9,
  12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11,
  13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10,
  6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5,
  10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0,
])

function word(index: usize): u64 {
  return load<u64>(work + (index << 3))
}

function putWord(index: usize, value: u64): void {
  store<u64>(work + (index << 3), value)
}

function scheduled(row: usize, index: usize): u64 {
  return load<u64>(message + ((load<u8>(row + index) as usize) << 3))
}

function mix(a: usize, b: usize, c: usize, d: usize, row: usize, at: usize): void {
  let va = word(a) + word(b) + scheduled(row, at)
  let vd = rotr(word(d) ^ va, 32)
  let vc = word(c) + vd
  let vb = rotr(word(b) ^ vc, 24)
  va += vb + scheduled(row, at + 1)
  vd = rotr(vd ^ va, 16)
  vc += vd
  vb = rotr(vb ^ vc, 63)
  putWord(a, va)
  putWord(b, vb)
  putWord(c, vc)
  putWord(d, vd)
}

/** Call it before the first round. */
export function begin(isFinal: bool): void {
  memory.copy(work, state, 64)
  memory.copy(work + 64, initial, 64)
  putWord(12, word(12) ^ load<u64>(offset))
  putWord(13, word(13) ^ load<u64>(offset, 8))
  if (isFinal) putWord(14, ~word(14))
}

/** Runs the rounds `from` to `to` - 1. */
export function rounds(from: u32, to: u32): void {
  for (let round = from; round < to; round++) {
    const row = schedule + (((round % 10) as usize) << 4)
    mix(0, 4, 8, 12, row, 0)
    mix(1, 5, 9, 13, row, 2)
    mix(2, 6, 10, 14, row, 4)
    mix(3, 7, 11, 15, row, 6)
    mix(0, 5, 10, 15, row, 8)
    mix(1, 6, 11, 12, row, 10)
    mix(2, 7, 8, 13, row, 12)
    mix(3, 4, 9, 14, row, 14)
  }
}

/** Call it after the last round. */
export function finish(): void {
  for (let i: usize = 0; i < 8; i++) {
    const at = state + (i << 3)
    store<u64>(at, load<u64>(at) ^ word(i) ^ word(i + 8))
  }
}
