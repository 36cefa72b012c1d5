/**
 * `base ^ exponent % modulus` for moduli of up to 256 bytes. Written in AssemblyScript; only `modexp.ts`, one folder
 * up, calls it.
 *
 * A modulus is m · 2^s with m odd. The power modulo m is computed by Montgomery's multiplication, on limbs of 32 bits,
 * because WebAssembly's widest product has 64 bits. The form is FIOS (Koç, Acar, Kaliski, "Analyzing and comparing
 * Montgomery multiplication algorithms", 1996). Modulo 2^s it is computed by truncated products. The Chinese remainder
 * theorem combines both. Numbers of one word of 64 bits, where loops would take most of the time, have functions of
 * their own. All numbers have an even number of limbs, the least significant first.
 */

/** Bytes of the longest modulus. Longer ones are faster as bigints of JavaScript, which multiply 64 bits by 64. */
const bytesMax: usize = 256
const windowEntries: usize = 16

/** Big-endian, as in the contract's data: the modulus, the base or a part of the exponent, and the result. */
export const modulus: usize = memory.data(256)
export const input: usize = memory.data(1024)
export const output: usize = memory.data(256)

/** All limbs of the modulus; its odd part. */
const whole: usize = memory.data(264)
const odd: usize = memory.data(264)
/** Modulo the odd part, times R = 2^(32 · oddLimbs): R, and the running power. */
const one: usize = memory.data(264)
const square: usize = memory.data(264)
const power: usize = memory.data(264)
/** Modulo 2^s: the running power, and the inverse of the odd part. */
const lowPower: usize = memory.data(264)
const inverse: usize = memory.data(264)
/** The powers 0 to 15 of the base, for each of the two moduli. */
const table: usize = memory.data(16 * 256)
const lowTable: usize = memory.data(16 * 256)
/** Memory for products. */
const product: usize = memory.data(528)
const scratch: usize = memory.data(528)
const chunk: usize = memory.data(264)

let wholeLimbs: usize = 0
/** Zero if the odd part is 1. */
let oddLimbs: usize = 0
/** Trailing zeros of the modulus, and the number of limbs for them. */
let zeroBits: usize = 0
let lowLimbs: usize = 0
/** −1 / m modulo 2^64. */
let negated: u64 = 0
/** Whether the running power is still 1, so that there is nothing to square. */
let isOne: bool = true

@inline
function limb(number: usize, index: usize): u64 {
  return load<u32>(number + (index << 2)) as u64
}

@inline
function putLimb(number: usize, index: usize, value: u64): void {
  store<u32>(number + (index << 2), value as u32)
}

@inline
function evenUp(limbs: usize): usize {
  return (limbs + 1) & ~1
}

/** Reads `length` big-endian bytes as `limbs` limbs; higher bytes are left out. */
function readNumber(from: usize, length: usize, out: usize, limbs: usize): void {
  memory.fill(out, 0, limbs << 2)
  const bytes = min(length, limbs << 2)
  for (let i: usize = 0; i < bytes; i++) store<u8>(out + i, load<u8>(from + length - 1 - i))
}

/** Upper half of a product. */
@inline
function multiplyHigh(a: u64, b: u64): u64 {
  const a0 = a & 0xffffffff
  const a1 = a >> 32
  const b0 = b & 0xffffffff
  const b1 = b >> 32
  const middle = a1 * b0 + ((a0 * b0) >> 32)
  const lower = (middle & 0xffffffff) + a0 * b1
  return a1 * b1 + (middle >> 32) + (lower >> 32)
}

/** `a · b / 2^64` modulo an odd word; `b` is below it. */
@inline
function multiplyWord(a: u64, b: u64, m: u64): u64 {
  const low = a * b
  const q = low * negated
  const high = multiplyHigh(a, b)
  // The lower halves add up to zero, with a carry unless both are.
  const reduced = multiplyHigh(q, m) + u64(low != 0)
  const sum = high + reduced
  return sum < high || sum >= m ? sum - m : sum
}

/** `a · b / R` modulo the odd part, to `out`; `b` is below it. */
function multiply(a: usize, b: usize, out: usize): void {
  const limbs = oddLimbs
  if (limbs == 2) return store<u64>(out, multiplyWord(load<u64>(a), load<u64>(b), load<u64>(odd)))
  const end = limbs << 2
  const t = product
  memory.fill(t, 0, end + 8)
  const factor = negated & 0xffffffff
  const b0 = limb(b, 0)
  const m0 = limb(odd, 0)
  for (let i: usize = 0; i < end; i += 4) {
    const digit = load<u32>(a + i) as u64
    let v = digit * b0 + (load<u32>(t) as u64)
    const q = (v * factor) & 0xffffffff
    let carry = v >> 32
    let rest = (q * m0 + (v & 0xffffffff)) >> 32
    for (let j: usize = 4; j < end; j += 4) {
      v = digit * (load<u32>(b + j) as u64) + (load<u32>(t + j) as u64) + carry
      carry = v >> 32
      const w = q * (load<u32>(odd + j) as u64) + (v & 0xffffffff) + rest
      rest = w >> 32
      store<u32>(t + j - 4, w as u32)
    }
    v = (load<u32>(t + end) as u64) + carry + rest
    store<u32>(t + end - 4, v as u32)
    store<u32>(t + end, (v >> 32) as u32)
  }
  reduce(t, out)
}

/** Reduces a number of up to twice the odd part, with one limb more, modulo the odd part. */
function reduce(number: usize, out: usize): void {
  const limbs = oddLimbs
  if (limb(number, limbs) == 0 && !isAtLeast(number, odd, limbs)) {
    memory.copy(out, number, limbs << 2)
    return
  }
  let borrow: i64 = 0
  for (let i: usize = 0; i < limbs; i++) {
    const value = (limb(number, i) as i64) - (limb(odd, i) as i64) + borrow
    putLimb(out, i, value as u64)
    borrow = value >> 32
  }
}

function isAtLeast(a: usize, b: usize, limbs: usize): bool {
  for (let i = limbs; i > 0; i--) {
    const x = limb(a, i - 1)
    const y = limb(b, i - 1)
    if (x != y) return x > y
  }
  return true
}

/** `a + b` modulo the odd part, both below it; `out` may be one of them. */
function add(a: usize, b: usize, out: usize): void {
  let carry: u64 = 0
  for (let i: usize = 0; i < oddLimbs; i++) {
    carry += limb(a, i) + limb(b, i)
    putLimb(scratch, i, carry)
    carry >>= 32
  }
  putLimb(scratch, oddLimbs, carry)
  reduce(scratch, out)
}

/** The lowest limbs of `a · b`; `out` may be one of them. */
function multiplyLow(a: usize, b: usize, out: usize): void {
  const limbs = lowLimbs
  if (limbs == 2) return store<u64>(out, load<u64>(a) * load<u64>(b))
  memory.fill(product, 0, limbs << 2)
  for (let i: usize = 0; i < limbs; i++) {
    const digit = limb(a, i)
    if (digit == 0) continue
    let carry: u64 = 0
    for (let j: usize = 0; i + j < limbs; j++) {
      const value = digit * limb(b, j) + limb(product, i + j) + carry
      putLimb(product, i + j, value)
      carry = value >> 32
    }
  }
  memory.copy(out, product, limbs << 2)
}

/** Reads the modulus, of `length` bytes, which is above 1. The power is 1 afterwards. */
export function begin(length: usize): void {
  wholeLimbs = evenUp((length + 3) >> 2)
  readNumber(modulus, length, whole, wholeLimbs)
  let zeros: usize = 0
  while (limb(whole, zeros) == 0) zeros++
  zeroBits = (zeros << 5) + (ctz<u32>(load<u32>(whole + (zeros << 2))) as usize)
  const shift = u64(zeroBits & 31)
  oddLimbs = 0
  memory.fill(odd, 0, bytesMax)
  for (let i = zeros; i < wholeLimbs; i++) {
    const above = i + 1 < wholeLimbs ? limb(whole, i + 1) : 0
    const value = (((above << 32) | limb(whole, i)) >> shift) & 0xffffffff
    putLimb(odd, i - zeros, value)
    if (value != 0) oddLimbs = i - zeros + 1
  }
  if (oddLimbs == 1 && limb(odd, 0) == 1) oddLimbs = 0
  oddLimbs = evenUp(oddLimbs)
  lowLimbs = evenUp((zeroBits + 31) >> 5)
  isOne = true
  // Each step doubles the number of correct bits; an odd number is its own inverse modulo 8.
  const m = load<u64>(odd)
  let found = m
  for (let bits = 3; bits < 64; bits <<= 1) found *= 2 - m * found
  negated = 0 - found
  if (oddLimbs != 0) beginOdd()
  if (lowLimbs != 0) beginLow(found)
}

function beginOdd(): void {
  const bits = oddLimbs << 5
  let top = bits - 1
  while (((limb(odd, top >> 5) >> (top & 31)) & 1) == 0) top--
  // Doubles the highest power of two below the odd part up to R.
  memory.fill(one, 0, oddLimbs << 2)
  putLimb(one, top >> 5, 1 << (top & 31))
  for (let bit = top; bit < bits; bit++) add(one, one, one)
  memory.copy(power, one, oddLimbs << 2)
  // R² is 2^bits · R, whose exponent is read from its highest bit on.
  add(one, one, square)
  for (let at: isize = 30 - (clz<u32>(bits as u32) as isize); at >= 0; at--) {
    multiply(square, square, square)
    if ((bits >> (at as usize)) & 1) add(square, square, square)
  }
}

function beginLow(found: u64): void {
  memory.fill(lowPower, 0, lowLimbs << 2)
  putLimb(lowPower, 0, 1)
  memory.fill(inverse, 0, lowLimbs << 2)
  store<u64>(inverse, found)
  for (let limbs: usize = 2; limbs < lowLimbs; limbs <<= 1) {
    multiplyLow(odd, inverse, scratch)
    // 2 − m · inverse
    let borrow: i64 = 2
    for (let i: usize = 0; i < lowLimbs; i++) {
      const value = borrow - (limb(scratch, i) as i64)
      putLimb(scratch, i, value as u64)
      borrow = value >> 32
    }
    multiplyLow(inverse, scratch, inverse)
  }
}

/** Reads the base, of `length` bytes. With `isLong`, also prepares for an exponent of many bits. */
export function setBase(length: usize, isLong: bool): void {
  const entry = table + bytesMax
  if (oddLimbs != 0) {
    const bytes = oddLimbs << 2
    memory.fill(entry, 0, bytes)
    // In parts as long as the modulus, from the highest on; only the first may be shorter.
    let from = input
    let left = length
    while (left > 0) {
      const part = left % bytes == 0 ? bytes : left % bytes
      if (from != input) multiply(entry, square, entry)
      readNumber(from, part, chunk, oddLimbs)
      multiply(chunk, square, chunk)
      add(entry, chunk, entry)
      from += part
      left -= part
    }
  }
  if (lowLimbs != 0) readNumber(input, length, lowTable + bytesMax, lowLimbs)
  if (!isLong) return
  for (let i: usize = 2; i < windowEntries; i++) {
    const at = i * bytesMax
    if (oddLimbs != 0) multiply(table + at - bytesMax, entry, table + at)
    if (lowLimbs != 0) multiplyLow(lowTable + at - bytesMax, lowTable + bytesMax, lowTable + at)
  }
}

/** Continues with `length` more bytes of the exponent; `isLong` as before. */
export function raise(length: usize, isLong: bool): void {
  const wasOne = isOne
  if (oddLimbs != 0) raiseBy(length, isLong, wasOne, true)
  if (lowLimbs != 0) raiseBy(length, isLong, wasOne, false)
}

@inline
function raiseBy(length: usize, isLong: bool, wasOne: bool, isOdd: bool): void {
  const width: u32 = isLong ? 4 : 1
  const mask: u32 = (1 << width) - 1
  const current = isOdd ? power : lowPower
  const entries = isOdd ? table : lowTable
  let isFirst = wasOne
  for (let i: usize = 0; i < length; i++) {
    const byte = load<u8>(input + i) as u32
    for (let at: i32 = 8 - width; at >= 0; at -= width) {
      const digit = (byte >> at) & mask
      const entry = entries + (digit as usize) * bytesMax
      if (isFirst) {
        if (digit == 0) continue
        isFirst = false
        memory.copy(current, entry, bytesMax)
        continue
      }
      for (let bit: u32 = 0; bit < width; bit++) {
        if (isOdd) multiply(current, current, current)
        else multiplyLow(current, current, current)
      }
      if (digit == 0) continue
      if (isOdd) multiply(current, entry, current)
      else multiplyLow(current, entry, current)
    }
  }
  isOne = isFirst
}

/** Writes the power to `output`, in as many bytes as the modulus. */
export function finish(length: usize): void {
  memory.fill(scratch, 0, 528)
  if (oddLimbs != 0) {
    memory.fill(chunk, 0, oddLimbs << 2)
    putLimb(chunk, 0, 1)
    multiply(power, chunk, scratch)
  }
  if (lowLimbs != 0) addLow()
  for (let i: usize = 0; i < length; i++) store<u8>(output + i, load<u8>(scratch + length - 1 - i))
}

/** From x, the power modulo m, in `scratch`, and y, that modulo 2^s: x + m · ((y − x) / m modulo 2^s). */
function addLow(): void {
  let borrow: i64 = 0
  for (let i: usize = 0; i < lowLimbs; i++) {
    const value = (limb(lowPower, i) as i64) - (limb(scratch, i) as i64) + borrow
    putLimb(lowPower, i, value as u64)
    borrow = value >> 32
  }
  multiplyLow(lowPower, inverse, lowPower)
  // The bits from s on are not part of the number.
  for (let i = zeroBits >> 5; i < lowLimbs; i++) {
    const bits = i == zeroBits >> 5 ? zeroBits & 31 : 0
    putLimb(lowPower, i, limb(lowPower, i) & (((1 as u64) << (bits as u64)) - 1))
  }
  const limbs = max<usize>(oddLimbs, 2)
  for (let i: usize = 0; i < lowLimbs; i++) {
    const digit = limb(lowPower, i)
    let carry: u64 = 0
    for (let j: usize = 0; j < limbs; j++) {
      const value = digit * limb(odd, j) + limb(scratch, i + j) + carry
      putLimb(scratch, i + j, value)
      carry = value >> 32
    }
    putLimb(scratch, i + limbs, carry)
  }
}
