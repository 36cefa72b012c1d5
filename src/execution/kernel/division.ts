/**
 * Division of 256-bit words and of the longer numbers in ADDMOD and MULMOD. Uses Knuth's algorithm D (The Art of
 * Computer Programming, volume 2, 4.3.1). Digits have 32 bits, because WebAssembly's widest division is 64 bits by 64.
 * Division by zero gives zero, as in the EVM.
 */
import { dividendDigits, divisorDigits, quotientDigits } from './layout'
import { add, clearWord, copyWord, isBelow, isNegative, isSmall, isZero, negate, putSmall, subtract, WORD } from './word'

@inline
function digit(digits: usize, index: usize): u64 {
  return load<u32>(digits + (index << 2)) as u64
}

@inline
function putDigit(digits: usize, index: usize, value: u64): void {
  store<u32>(digits + (index << 2), value as u32)
}

/** Number of digits without leading zeros. */
function countDigits(digits: usize, most: usize): usize {
  while (most > 0 && digit(digits, most - 1) == 0) most--
  return most
}

/**
 * Divides {@link dividendDigits}, of `length` digits, by the word at `divisor`, which is not zero. Leaves the
 * quotient in the first `length` digits of {@link quotientDigits}, and the remainder in `dividendDigits`.
 */
function divideDigits(length: usize, divisor: usize): void {
  const divisorLength = countDigits(divisor, 8)
  memory.fill(quotientDigits, 0, length << 2)
  const used = countDigits(dividendDigits, length)
  if (used < divisorLength) return
  if (divisorLength == 1) return divideByDigit(used, load<u32>(divisor) as u64)
  // Normalise: shift until the divisor's top bit is set, so that a guessed digit is at most two too large.
  const shift = u64(clz<u32>(load<u32>(divisor + ((divisorLength - 1) << 2))))
  let carry: u64 = 0
  for (let i: usize = 0; i < divisorLength; i++) {
    const value = (digit(divisor, i) << shift) | carry
    putDigit(divisorDigits, i, value)
    carry = value >> 32
  }
  carry = 0
  for (let i: usize = 0; i < used; i++) {
    const value = (digit(dividendDigits, i) << shift) | carry
    putDigit(dividendDigits, i, value)
    carry = value >> 32
  }
  putDigit(dividendDigits, used, carry)
  const top = digit(divisorDigits, divisorLength - 1)
  const next = digit(divisorDigits, divisorLength - 2)
  for (let at: isize = used - divisorLength; at >= 0; at--) {
    const upper = (digit(dividendDigits, at + divisorLength) << 32) | digit(dividendDigits, at + divisorLength - 1)
    let guess = upper / top
    let rest = upper - guess * top
    while (guess >> 32 != 0 || guess * next > ((rest << 32) | digit(dividendDigits, at + divisorLength - 2))) {
      guess--
      rest += top
      if (rest >> 32 != 0) break
    }
    if (subtractMultiple(at, divisorLength, guess)) {
      guess--
      addBack(at, divisorLength)
    }
    putDigit(quotientDigits, at, guess)
  }
  // Shift the remainder back.
  for (let i: usize = 0; i < divisorLength; i++) {
    const value = digit(dividendDigits, i) | (digit(dividendDigits, i + 1) << 32)
    putDigit(dividendDigits, i, value >> shift)
  }
  memory.fill(dividendDigits + (divisorLength << 2), 0, (used + 1 - divisorLength) << 2)
}

function divideByDigit(used: usize, divisor: u64): void {
  let rest: u64 = 0
  for (let at: isize = used - 1; at >= 0; at--) {
    const value = (rest << 32) | digit(dividendDigits, at)
    putDigit(quotientDigits, at, value / divisor)
    rest = value % divisor
    putDigit(dividendDigits, at, 0)
  }
  putDigit(dividendDigits, 0, rest)
}

/** Subtracts `guess` times the divisor from the dividend's digits from `at` on; true if the result is negative. */
function subtractMultiple(at: usize, divisorLength: usize, guess: u64): bool {
  let carry: u64 = 0
  let borrow: i64 = 0
  for (let i: usize = 0; i < divisorLength; i++) {
    const product = guess * digit(divisorDigits, i) + carry
    carry = product >> 32
    const value = (digit(dividendDigits, at + i) as i64) - ((product & 0xffffffff) as i64) + borrow
    putDigit(dividendDigits, at + i, value as u64)
    borrow = value >> 32
  }
  const value = (digit(dividendDigits, at + divisorLength) as i64) - (carry as i64) + borrow
  putDigit(dividendDigits, at + divisorLength, value as u64)
  return value < 0
}

function addBack(at: usize, divisorLength: usize): void {
  let carry: u64 = 0
  for (let i: usize = 0; i < divisorLength; i++) {
    const value = digit(dividendDigits, at + i) + digit(divisorDigits, i) + carry
    putDigit(dividendDigits, at + i, value)
    carry = value >> 32
  }
  putDigit(dividendDigits, at + divisorLength, digit(dividendDigits, at + divisorLength) + carry)
}

function setDividend(word: usize): void {
  copyWord(word, dividendDigits)
}

export function divide(a: usize, b: usize, out: usize): void {
  if (isZero(b)) return clearWord(out)
  if (isSmall(a) && isSmall(b)) return putSmall(out, load<u64>(a) / load<u64>(b))
  if (isBelow(a, b)) return clearWord(out)
  setDividend(a)
  divideDigits(8, b)
  copyWord(quotientDigits, out)
}

export function remainder(a: usize, b: usize, out: usize): void {
  if (isZero(b)) return clearWord(out)
  if (isSmall(a) && isSmall(b)) return putSmall(out, load<u64>(a) % load<u64>(b))
  if (isBelow(a, b)) return copyWord(a, out)
  setDividend(a)
  divideDigits(8, b)
  copyWord(dividendDigits, out)
}

/** The absolute value of a signed word. */
@inline
function absolute(word: usize, out: usize): void {
  if (isNegative(word)) negate(word, out)
  else copyWord(word, out)
}

/** Signed division; rounds towards zero. -2^255 / -1 is -2^255. `scratch` has room for two words. */
export function signedDivide(a: usize, b: usize, scratch: usize, out: usize): void {
  const isResultNegative = isNegative(a) != isNegative(b)
  absolute(a, scratch)
  absolute(b, scratch + WORD)
  divide(scratch, scratch + WORD, out)
  if (isResultNegative) negate(out, out)
}

/** Signed remainder, with the sign of `a`. `scratch` has room for two words. */
export function signedRemainder(a: usize, b: usize, scratch: usize, out: usize): void {
  const isResultNegative = isNegative(a)
  absolute(a, scratch)
  absolute(b, scratch + WORD)
  remainder(scratch, scratch + WORD, out)
  if (isResultNegative) negate(out, out)
}

/** `(a + b) mod n` without a wrap at 2^256. */
export function addModulo(a: usize, b: usize, n: usize, out: usize): void {
  if (isZero(n)) return clearWord(out)
  add(a, b, dividendDigits)
  const carry = u64(isBelow(dividendDigits, a))
  if (carry == 0 && isBelow(dividendDigits, n)) return copyWord(dividendDigits, out)
  // Operands that are already reduced, as most are, have a sum below 2n.
  if (isBelow(a, n) && isBelow(b, n)) return subtract(dividendDigits, n, out)
  store<u64>(dividendDigits, carry, 32)
  divideDigits(9, n)
  copyWord(dividendDigits, out)
}

/** `(a × b) mod n` without a wrap at 2^256. */
export function multiplyModulo(a: usize, b: usize, n: usize, out: usize): void {
  if (isZero(n)) return clearWord(out)
  memory.fill(dividendDigits, 0, 72)
  const aLength = countDigits(a, 8)
  const bLength = countDigits(b, 8)
  for (let i: usize = 0; i < aLength; i++) {
    const multiplier = digit(a, i)
    let carry: u64 = 0
    for (let j: usize = 0; j < bLength; j++) {
      const value = multiplier * digit(b, j) + digit(dividendDigits, i + j) + carry
      putDigit(dividendDigits, i + j, value)
      carry = value >> 32
    }
    putDigit(dividendDigits, i + bLength, carry)
  }
  divideDigits(16, n)
  copyWord(dividendDigits, out)
}
