/**
 * Keccak-256, with the padding of the Keccak submission, not of SHA-3. Has a cache for inputs of 64 bytes, which give
 * the slots of mapping entries.
 */
import { keccakCache, keccakState } from './layout'

/** Bytes absorbed per permutation: 1,600 bits less twice 256. */
export const rate: usize = 136

@lazy
const roundConstants = memory.data<u64>([
  0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
  0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
  0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
  0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
  0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
])

/**
 * Keccak-f[1600] on the 25 lanes at {@link keccakState}. Lane `x + 5y` has the name of a letter for y and the digit
 * x.
 */
function permute(): void {
  let a0 = load<u64>(keccakState, 0)
  let a1 = load<u64>(keccakState, 8)
  let a2 = load<u64>(keccakState, 16)
  let a3 = load<u64>(keccakState, 24)
  let a4 = load<u64>(keccakState, 32)
  let b0 = load<u64>(keccakState, 40)
  let b1 = load<u64>(keccakState, 48)
  let b2 = load<u64>(keccakState, 56)
  let b3 = load<u64>(keccakState, 64)
  let b4 = load<u64>(keccakState, 72)
  let c0 = load<u64>(keccakState, 80)
  let c1 = load<u64>(keccakState, 88)
  let c2 = load<u64>(keccakState, 96)
  let c3 = load<u64>(keccakState, 104)
  let c4 = load<u64>(keccakState, 112)
  let d0 = load<u64>(keccakState, 120)
  let d1 = load<u64>(keccakState, 128)
  let d2 = load<u64>(keccakState, 136)
  let d3 = load<u64>(keccakState, 144)
  let d4 = load<u64>(keccakState, 152)
  let e0 = load<u64>(keccakState, 160)
  let e1 = load<u64>(keccakState, 168)
  let e2 = load<u64>(keccakState, 176)
  let e3 = load<u64>(keccakState, 184)
  let e4 = load<u64>(keccakState, 192)
  for (let round: usize = 0; round < 24; round++) {
    const p0 = a0 ^ b0 ^ c0 ^ d0 ^ e0
    const p1 = a1 ^ b1 ^ c1 ^ d1 ^ e1
    const p2 = a2 ^ b2 ^ c2 ^ d2 ^ e2
    const p3 = a3 ^ b3 ^ c3 ^ d3 ^ e3
    const p4 = a4 ^ b4 ^ c4 ^ d4 ^ e4
    const t0 = p4 ^ rotl(p1, 1)
    const t1 = p0 ^ rotl(p2, 1)
    const t2 = p1 ^ rotl(p3, 1)
    const t3 = p2 ^ rotl(p4, 1)
    const t4 = p3 ^ rotl(p0, 1)
    const v0 = a0 ^ t0
    const x0 = rotl(a1 ^ t1, 1)
    const z0 = rotl(a2 ^ t2, 62)
    const w0 = rotl(a3 ^ t3, 28)
    const y0 = rotl(a4 ^ t4, 27)
    const y1 = rotl(b0 ^ t0, 36)
    const v1 = rotl(b1 ^ t1, 44)
    const x1 = rotl(b2 ^ t2, 6)
    const z1 = rotl(b3 ^ t3, 55)
    const w1 = rotl(b4 ^ t4, 20)
    const w2 = rotl(c0 ^ t0, 3)
    const y2 = rotl(c1 ^ t1, 10)
    const v2 = rotl(c2 ^ t2, 43)
    const x2 = rotl(c3 ^ t3, 25)
    const z2 = rotl(c4 ^ t4, 39)
    const z3 = rotl(d0 ^ t0, 41)
    const w3 = rotl(d1 ^ t1, 45)
    const y3 = rotl(d2 ^ t2, 15)
    const v3 = rotl(d3 ^ t3, 21)
    const x3 = rotl(d4 ^ t4, 8)
    const x4 = rotl(e0 ^ t0, 18)
    const z4 = rotl(e1 ^ t1, 2)
    const w4 = rotl(e2 ^ t2, 61)
    const y4 = rotl(e3 ^ t3, 56)
    const v4 = rotl(e4 ^ t4, 14)
    a0 = v0 ^ (~v1 & v2) ^ load<u64>(roundConstants + (round << 3))
    a1 = v1 ^ (~v2 & v3)
    a2 = v2 ^ (~v3 & v4)
    a3 = v3 ^ (~v4 & v0)
    a4 = v4 ^ (~v0 & v1)
    b0 = w0 ^ (~w1 & w2)
    b1 = w1 ^ (~w2 & w3)
    b2 = w2 ^ (~w3 & w4)
    b3 = w3 ^ (~w4 & w0)
    b4 = w4 ^ (~w0 & w1)
    c0 = x0 ^ (~x1 & x2)
    c1 = x1 ^ (~x2 & x3)
    c2 = x2 ^ (~x3 & x4)
    c3 = x3 ^ (~x4 & x0)
    c4 = x4 ^ (~x0 & x1)
    d0 = y0 ^ (~y1 & y2)
    d1 = y1 ^ (~y2 & y3)
    d2 = y2 ^ (~y3 & y4)
    d3 = y3 ^ (~y4 & y0)
    d4 = y4 ^ (~y0 & y1)
    e0 = z0 ^ (~z1 & z2)
    e1 = z1 ^ (~z2 & z3)
    e2 = z2 ^ (~z3 & z4)
    e3 = z3 ^ (~z4 & z0)
    e4 = z4 ^ (~z0 & z1)
  }
  store<u64>(keccakState, a0, 0)
  store<u64>(keccakState, a1, 8)
  store<u64>(keccakState, a2, 16)
  store<u64>(keccakState, a3, 24)
  store<u64>(keccakState, a4, 32)
  store<u64>(keccakState, b0, 40)
  store<u64>(keccakState, b1, 48)
  store<u64>(keccakState, b2, 56)
  store<u64>(keccakState, b3, 64)
  store<u64>(keccakState, b4, 72)
  store<u64>(keccakState, c0, 80)
  store<u64>(keccakState, c1, 88)
  store<u64>(keccakState, c2, 96)
  store<u64>(keccakState, c3, 104)
  store<u64>(keccakState, c4, 112)
  store<u64>(keccakState, d0, 120)
  store<u64>(keccakState, d1, 128)
  store<u64>(keccakState, d2, 136)
  store<u64>(keccakState, d3, 144)
  store<u64>(keccakState, d4, 152)
  store<u64>(keccakState, e0, 160)
  store<u64>(keccakState, e1, 168)
  store<u64>(keccakState, e2, 176)
  store<u64>(keccakState, e3, 184)
  store<u64>(keccakState, e4, 192)
}

function absorb(from: usize, bytes: usize): void {
  for (let i: usize = 0; i < bytes; i += 8) {
    store<u64>(keccakState + i, load<u64>(keccakState + i) ^ load<u64>(from + i))
  }
}

export function startHash(): void {
  memory.fill(keccakState, 0, 200)
}

/** Adds the first whole blocks of `length` bytes at `from` to the hash; returns the number of bytes left. */
export function absorbBlocks(from: usize, length: usize): usize {
  while (length >= rate) {
    absorb(from, rate)
    permute()
    from += rate
    length -= rate
  }
  return length
}

/** Writes the hash of the absorbed data and the last `length` bytes, at `from`, to `out`, in the usual byte order. */
export function finishHash(from: usize, length: usize, out: usize): void {
  const left = absorbBlocks(from, length)
  from += length - left
  const whole = left & ~7
  absorb(from, whole)
  for (let i = whole; i < left; i++) {
    store<u8>(keccakState + i, load<u8>(keccakState + i) ^ load<u8>(from + i))
  }
  store<u8>(keccakState + left, load<u8>(keccakState + left) ^ 1)
  store<u8>(keccakState + rate - 1, load<u8>(keccakState + rate - 1) ^ 0x80)
  permute()
  memory.copy(out, keccakState, 32)
}

/** Writes the hash of `length` bytes at `from` to `out`, 32 bytes in the usual order. */
export function keccak256(from: usize, length: usize, out: usize): void {
  startHash()
  finishHash(from, length, out)
}

/** Like {@link keccak256}, but for 64 bytes. A hash that begins with zeros marks an unused entry of the cache. */
export function keccak64(from: usize, out: usize): void {
  let mix = load<u64>(from) ^ load<u64>(from, 24) ^ load<u64>(from, 32) ^ load<u64>(from, 56)
  mix *= 0x9e3779b97f4a7c15
  const entry = keccakCache + ((mix >> 54) as usize) * 96
  if (!isSame64(from, entry) || load<u64>(entry, 64) == 0) {
    memory.copy(entry, from, 64)
    keccak256(from, 64, entry + 64)
  }
  memory.copy(out, entry + 64, 32)
}

@inline
function isSame64(a: usize, b: usize): bool {
  const first = v128.or(v128.xor(v128.load(a), v128.load(b)), v128.xor(v128.load(a, 16), v128.load(b, 16)))
  const second = v128.or(
    v128.xor(v128.load(a, 32), v128.load(b, 32)),
    v128.xor(v128.load(a, 48), v128.load(b, 48)),
  )
  return !v128.any_true(v128.or(first, second))
}
