/**
 * 256-bit words of the EVM (yellow paper, appendix H): four limbs of 64 bits in linear memory, the least significant
 * first. Owns all operations but division. Functions take addresses of words; `out` may be one of the operands.
 *
 * Words are always stored in halves of 128 bits. A processor forwards a stored value to a later load only if one store
 * covers the load. Loading a half after storing two limbs waits 15 cycles for the cache.
 */

/** Bytes of a word. */
export const WORD: usize = 32

@inline
export function limb(word: usize, index: usize): u64 {
  return load<u64>(word + (index << 3))
}

@inline
function pair(low: u64, high: u64): v128 {
  return i64x2.replace_lane(i64x2.splat(low), 1, high)
}

@inline
function putLimbs(out: usize, l0: u64, l1: u64, l2: u64, l3: u64): void {
  v128.store(out, pair(l0, l1))
  v128.store(out, pair(l2, l3), 16)
}

@inline
export function copyWord(from: usize, out: usize): void {
  v128.store(out, v128.load(from))
  v128.store(out, v128.load(from, 16), 16)
}

@inline
export function clearWord(out: usize): void {
  const zero = i64x2.splat(0)
  v128.store(out, zero)
  v128.store(out, zero, 16)
}

/** A word whose limbs are all the same. */
export function fillWord(out: usize, limbs: u64): void {
  v128.store(out, i64x2.splat(limbs))
  v128.store(out, i64x2.splat(limbs), 16)
}

/** A word of 64 bits or less. */
@inline
export function putSmall(out: usize, value: u64): void {
  v128.store(out, i64x2.replace_lane(i64x2.splat(0), 0, value))
  v128.store(out, i64x2.splat(0), 16)
}

@inline
export function isZero(word: usize): bool {
  return !v128.any_true(v128.or(v128.load(word), v128.load(word, 16)))
}

@inline
export function equals(a: usize, b: usize): bool {
  const low = v128.xor(v128.load(a), v128.load(b))
  const high = v128.xor(v128.load(a, 16), v128.load(b, 16))
  return !v128.any_true(v128.or(low, high))
}

/** Whether a word is below 2^64, so that its first limb is its value. */
@inline
export function isSmall(word: usize): bool {
  return (load<u64>(word, 8) | load<u64>(word, 16) | load<u64>(word, 24)) == 0
}

/** The word, or the largest 64-bit number if the word is larger. */
@inline
export function clamped(word: usize): u64 {
  return isSmall(word) ? load<u64>(word) : u64.MAX_VALUE
}

@inline
export function add(a: usize, b: usize, out: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const s0 = a0 + load<u64>(b)
  const t1 = a1 + load<u64>(b, 8)
  const t2 = a2 + load<u64>(b, 16)
  const t3 = load<u64>(a, 24) + load<u64>(b, 24)
  const c0 = u64(s0 < a0)
  const s1 = t1 + c0
  const c1 = u64(t1 < a1) | u64(s1 < c0)
  const s2 = t2 + c1
  const c2 = u64(t2 < a2) | u64(s2 < c1)
  putLimbs(out, s0, s1, s2, t3 + c2)
}

/** `a - b`. */
@inline
export function subtract(a: usize, b: usize, out: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const t1 = a1 - b1
  const t2 = a2 - b2
  const t3 = load<u64>(a, 24) - load<u64>(b, 24)
  const c0 = u64(a0 < b0)
  const c1 = u64(a1 < b1) | u64(t1 < c0)
  const c2 = u64(a2 < b2) | u64(t2 < c1)
  putLimbs(out, a0 - b0, t1 - c0, t2 - c1, t3 - c2)
}

@inline
export function and(a: usize, b: usize, out: usize): void {
  v128.store(out, v128.and(v128.load(a), v128.load(b)))
  v128.store(out, v128.and(v128.load(a, 16), v128.load(b, 16)), 16)
}

@inline
export function or(a: usize, b: usize, out: usize): void {
  v128.store(out, v128.or(v128.load(a), v128.load(b)))
  v128.store(out, v128.or(v128.load(a, 16), v128.load(b, 16)), 16)
}

@inline
export function xor(a: usize, b: usize, out: usize): void {
  v128.store(out, v128.xor(v128.load(a), v128.load(b)))
  v128.store(out, v128.xor(v128.load(a, 16), v128.load(b, 16)), 16)
}

@inline
export function not(word: usize, out: usize): void {
  v128.store(out, v128.not(v128.load(word)))
  v128.store(out, v128.not(v128.load(word, 16)), 16)
}

@inline
export function swap(a: usize, b: usize): void {
  const low = v128.load(a)
  const high = v128.load(a, 16)
  v128.store(a, v128.load(b))
  v128.store(a, v128.load(b, 16), 16)
  v128.store(b, low)
  v128.store(b, high, 16)
}

/** Writes `-word`, as two's complement. */
export function negate(word: usize, out: usize): void {
  const n0 = ~load<u64>(word) + 1
  const n1 = ~load<u64>(word, 8) + u64(n0 == 0)
  const c1 = u64(n0 == 0) & u64(n1 == 0)
  const n2 = ~load<u64>(word, 16) + c1
  const c2 = c1 & u64(n2 == 0)
  const n3 = ~load<u64>(word, 24) + c2
  putLimbs(out, n0, n1, n2, n3)
}

@inline
export function isBelow(a: usize, b: usize): bool {
  const a3 = load<u64>(a, 24)
  const b3 = load<u64>(b, 24)
  if (a3 != b3) return a3 < b3
  const a2 = load<u64>(a, 16)
  const b2 = load<u64>(b, 16)
  if (a2 != b2) return a2 < b2
  const a1 = load<u64>(a, 8)
  const b1 = load<u64>(b, 8)
  if (a1 != b1) return a1 < b1
  return load<u64>(a) < load<u64>(b)
}

@inline
export function isNegative(word: usize): bool {
  return load<i64>(word, 24) < 0
}

/** Whether `a < b`, both as two's complement. */
@inline
export function isSignedBelow(a: usize, b: usize): bool {
  const a3 = load<i64>(a, 24)
  const b3 = load<i64>(b, 24)
  if (a3 != b3) return a3 < b3
  return isBelow(a, b)
}

/** Upper half of the product of two 64-bit numbers, for which WebAssembly has no instruction. */
@inline
export function multiplyHigh(a: u64, b: u64): u64 {
  const a0 = a & 0xffffffff
  const a1 = a >> 32
  const b0 = b & 0xffffffff
  const b1 = b >> 32
  const middle = a1 * b0 + ((a0 * b0) >> 32)
  const lower = (middle & 0xffffffff) + a0 * b1
  return a1 * b1 + (middle >> 32) + (lower >> 32)
}

/** Whether a word is below 2^32. */
@inline
export function isShort(word: usize): bool {
  return (load<u64>(word, 8) | load<u64>(word, 16) | load<u64>(word, 24) | (load<u64>(word) >> 32)) == 0
}

/** `word` times a number below 2^32, which takes a quarter of the products of {@link multiply}. */
@inline
export function multiplyShort(word: usize, factor: u64, out: usize): void {
  const half: u64 = 0xffffffff
  const l0 = load<u64>(word)
  const l1 = load<u64>(word, 8)
  const l2 = load<u64>(word, 16)
  const l3 = load<u64>(word, 24)
  const p0 = (l0 & half) * factor
  const q0 = (l0 >> 32) * factor + (p0 >> 32)
  const p1 = (l1 & half) * factor + (q0 >> 32)
  const q1 = (l1 >> 32) * factor + (p1 >> 32)
  const p2 = (l2 & half) * factor + (q1 >> 32)
  const q2 = (l2 >> 32) * factor + (p2 >> 32)
  const r3 = l3 * factor + (q2 >> 32)
  putLimbs(out, (q0 << 32) | (p0 & half), (q1 << 32) | (p1 & half), (q2 << 32) | (p2 & half), r3)
}

export function multiply(a: usize, b: usize, out: usize): void {
  const a0 = load<u64>(a)
  const b0 = load<u64>(b)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const a3 = load<u64>(a, 24)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const b3 = load<u64>(b, 24)
  let r1 = multiplyHigh(a0, b0)
  if ((a1 | a2 | a3 | b1 | b2 | b3) == 0) return putLimbs(out, a0 * b0, r1, 0, 0)
  // Computed by columns; carries out of the columns 2 and 3 beyond 2^256 are dropped.
  let r2: u64 = 0
  let p = a0 * b1
  r1 += p
  r2 = u64(r1 < p)
  p = a1 * b0
  r1 += p
  r2 += u64(r1 < p)
  let r3: u64 = 0
  p = multiplyHigh(a0, b1)
  r2 += p
  r3 += u64(r2 < p)
  p = multiplyHigh(a1, b0)
  r2 += p
  r3 += u64(r2 < p)
  p = a0 * b2
  r2 += p
  r3 += u64(r2 < p)
  p = a1 * b1
  r2 += p
  r3 += u64(r2 < p)
  p = a2 * b0
  r2 += p
  r3 += u64(r2 < p)
  r3 += multiplyHigh(a0, b2) + multiplyHigh(a1, b1) + multiplyHigh(a2, b0)
  r3 += a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0
  putLimbs(out, a0 * b0, r1, r2, r3)
}

/** `base` to the power of `exponent`; `out` must be neither of them. */
export function power(base: usize, exponent: usize, out: usize): void {
  let top = bitLength(exponent)
  putSmall(out, 1)
  while (top-- > 0) {
    multiply(out, out, out)
    if ((limb(exponent, top >> 6) >> (top & 63)) & 1) multiply(out, base, out)
  }
}

/** Number of bits of a word without leading zeros: 0 to 256. */
export function bitLength(word: usize): usize {
  for (let index: isize = 3; index >= 0; index--) {
    const value = limb(word, index)
    if (value != 0) return ((index << 6) + 64 - i32(clz(value))) as usize
  }
  return 0
}

/** `word << count` for a count below 256. */
export function shiftLeft(word: usize, count: usize, out: usize): void {
  const bits = u64(count & 63)
  // WebAssembly shifts modulo 64, so bits from the limb below are shifted in two steps.
  const rest: u64 = 63 - bits
  let l0 = load<u64>(word)
  let l1 = load<u64>(word, 8)
  let l2 = load<u64>(word, 16)
  let l3 = load<u64>(word, 24)
  for (let whole = count >> 6; whole > 0; whole--) {
    l3 = l2
    l2 = l1
    l1 = l0
    l0 = 0
  }
  putLimbs(
    out,
    l0 << bits,
    (l1 << bits) | ((l0 >> 1) >> rest),
    (l2 << bits) | ((l1 >> 1) >> rest),
    (l3 << bits) | ((l2 >> 1) >> rest),
  )
}

/** `word >> count` for a count below 256; `fill` is shifted in at the top: 0, or all ones for a negative number. */
export function shiftRight(word: usize, count: usize, fill: u64, out: usize): void {
  const bits = u64(count & 63)
  const rest: u64 = 63 - bits
  let l0 = load<u64>(word)
  let l1 = load<u64>(word, 8)
  let l2 = load<u64>(word, 16)
  let l3 = load<u64>(word, 24)
  for (let whole = count >> 6; whole > 0; whole--) {
    l0 = l1
    l1 = l2
    l2 = l3
    l3 = fill
  }
  putLimbs(
    out,
    (l0 >> bits) | ((l1 << 1) << rest),
    (l1 >> bits) | ((l2 << 1) << rest),
    (l2 >> bits) | ((l3 << 1) << rest),
    (l3 >> bits) | ((fill << 1) << rest),
  )
}

/** SIGNEXTEND: copies the top bit of byte `index`, counted from the lowest, to all bits above it. */
export function extendSign(word: usize, index: usize, out: usize): void {
  const bit = (index << 3) + 7
  const at = bit >> 6
  const value = limb(word, at)
  const isSet = ((value >> (bit & 63)) & 1) != 0
  const fill: u64 = isSet ? u64.MAX_VALUE : 0
  const kept: u64 = u64.MAX_VALUE >> (63 - (bit & 63))
  for (let i: usize = 0; i < 4; i++) {
    const result = i < at ? limb(word, i) : i > at ? fill : (value & kept) | (fill & ~kept)
    store<u64>(out + (i << 3), result)
  }
}

/** The 16 bytes at an address in reverse order. */
@inline
function reversed(from: usize, offset: usize): v128 {
  const bytes = v128.load(from + offset)
  return v128.shuffle<i8>(bytes, bytes, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

/** Converts between a word and its 32 bytes in big-endian order, as in EVM memory and outside the kernel. */
@inline
export function reverseWord(from: usize, out: usize): void {
  const low = reversed(from, 16)
  const high = reversed(from, 0)
  v128.store(out, low)
  v128.store(out, high, 16)
}

/** A word from 1 to 32 big-endian bytes. Reads up to 7 bytes beyond them. */
export function readBytes(from: usize, length: usize, out: usize): void {
  putLimbs(
    out,
    limbFrom(from, length),
    limbFrom(from, length - 8),
    limbFrom(from, length - 16),
    limbFrom(from, length - 24),
  )
}

/** The limb that ends at `from + end`; bytes before `from` count as zero. */
@inline
function limbFrom(from: usize, end: isize): u64 {
  if (end >= 8) return bswap(load<u64>(from + end - 8))
  return end > 0 ? bswap(load<u64>(from)) >> ((64 - (end << 3)) as u64) : 0
}

/** Writes the 20 bytes of an address given as a word. */
export function writeAddress(word: usize, out: usize): void {
  store<u32>(out, bswap(load<u32>(word, 16)))
  store<u64>(out, bswap(load<u64>(word, 8)), 4)
  store<u64>(out, bswap(load<u64>(word)), 12)
}

/** Writes an address of 20 bytes as a word. */
export function readAddress(from: usize, out: usize): void {
  store<u64>(out, bswap(load<u64>(from, 12)))
  store<u64>(out, bswap(load<u64>(from, 4)), 8)
  store<u64>(out, bswap(load<u32>(from)) as u64, 16)
  store<u64>(out, 0, 24)
}

/** Clears the upper 12 bytes of an operand that is an address. */
@inline
export function maskAddress(word: usize): void {
  store<u64>(word, load<u64>(word, 16) & 0xffffffff, 16)
  store<u64>(word, 0, 24)
}
