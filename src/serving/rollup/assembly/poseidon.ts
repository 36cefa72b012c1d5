/**
 * The Poseidon permutation of the rollup's hash, width 3, over the field of P = 2^251 + 17·2^192 + 1. Written in
 * AssemblyScript; only `poseidon.ts`, one folder up, calls it.
 *
 * A field element is nine limbs of 29 bits, least significant first. Each is stored as an i64, so that a sum of nine
 * products fits into 64 bits. Limbs are signed, and may exceed 29 bits between two multiplications; elements may exceed
 * P or be negative. No sum exceeds 61 bits for any input (shown by following the bounds of all limbs through the
 * rounds). Elements are in Montgomery form, x·R mod P with R = 2^261. P has only three limbs that are not zero, the
 * lowest of them 1, so each reduction step is one product and two shifts.
 */

const limbBits: i64 = 29
const limbMask: i64 = (1 << 29) - 1
/** The limbs of P that are not zero: limb 0 is 1, limb 6 is this, limb 8 is 2 to the power of topBits. */
const sixthOfP: i64 = 17 << 18
const topBits: i64 = 19
const topMask: i64 = (1 << 19) - 1

/** Bytes of an element. */
const elementBytes: usize = 9 * 8

/** Full rounds before the partial ones, and after them. */
const fullRounds: i32 = 4
const partialRounds: i32 = 83

/** Round constants in order, in Montgomery form: three per full round, one per partial round. */
export const constants: usize = memory.data(107 * <i32>elementBytes)
/** The three lanes of the state. */
export const state: usize = memory.data(3 * <i32>elementBytes)
/** Up to 512 integers to absorb, below 2^261, not in Montgomery form. */
export const input: usize = memory.data(512 * <i32>elementBytes)
/** R² mod P: multiplied with an integer it gives that integer in Montgomery form. */
export const squareOfR: usize = memory.data(<i32>elementBytes)

const scratch: usize = memory.data(<i32>elementBytes)
const zero: usize = memory.data(<i32>elementBytes)
const one: usize = memory.data<i64>([1, 0, 0, 0, 0, 0, 0, 0, 0])

/** Absorbs `pairs` pairs of elements of {@link input}, 256 at most. */
export function absorb(pairs: i32): void {
  for (let at: i32 = 0; at < pairs; at++) {
    const pair = input + <usize>at * 2 * elementBytes
    addInput(state, pair)
    addInput(state + elementBytes, pair + elementBytes)
    permute()
  }
}

/** Writes the first element of the state to {@link input}, out of Montgomery form and not yet reduced below P. */
export function squeeze(): void {
  multiply(input, state, one)
}

function addInput(lane: usize, element: usize): void {
  normalize(scratch, element, zero)
  multiply(scratch, scratch, squareOfR)
  for (let k: usize = 0; k < elementBytes; k += 8) {
    store<i64>(lane + k, load<i64>(lane + k) + load<i64>(scratch + k))
  }
}

function permute(): void {
  const first = state
  const second = state + elementBytes
  const third = state + 2 * elementBytes
  let constant = permuteFully(constants)
  for (let round: i32 = 0; round < partialRounds; round++) {
    // The lanes that are not cubed grow by 2 bits per round.
    if (round % 8 === 7) {
      normalize(first, first, zero)
      normalize(second, second, zero)
    }
    cube(third, constant)
    mix()
    constant += elementBytes
  }
  permuteFully(constant)
  normalize(first, first, zero)
  normalize(second, second, zero)
  normalize(third, third, zero)
}

/** Runs the full rounds before or after the partial ones; returns the address of the next constants. */
function permuteFully(constant: usize): usize {
  for (let round: i32 = 0; round < fullRounds; round++) {
    cube(state, constant)
    cube(state + elementBytes, constant + elementBytes)
    cube(state + 2 * elementBytes, constant + 2 * elementBytes)
    mix()
    constant += 3 * elementBytes
  }
  return constant
}

/** Multiplies the state by [[3, 1, 1], [1, −1, 1], [1, 1, −2]], as sum + 2a, sum − 2b, sum − 3c. */
function mix(): void {
  mixLimb(state)
  mixLimb(state + 8)
  mixLimb(state + 16)
  mixLimb(state + 24)
  mixLimb(state + 32)
  mixLimb(state + 40)
  mixLimb(state + 48)
  mixLimb(state + 56)
  mixLimb(state + 64)
}

function mixLimb(at: usize): void {
  const a = load<i64>(at)
  const b = load<i64>(at, elementBytes)
  const c = load<i64>(at, 2 * elementBytes)
  const sum = a + b + c
  store<i64>(at, sum + a + a)
  store<i64>(at, sum - b - b, elementBytes)
  store<i64>(at, sum - c - c - c, 2 * elementBytes)
}

/** element = (element + constant)³ */
function cube(element: usize, constant: usize): void {
  normalize(element, element, constant)
  square(scratch, element)
  multiply(element, scratch, element)
}

function limb(element: usize, k: usize): i64 {
  return load<i64>(element + (k << 3))
}

function put(element: usize, k: usize, value: i64): void {
  store<i64>(element + (k << 3), value)
}

/**
 * out = a + b, with the part above 2^251 folded down (2^251 = −17·2^192 − 1 mod P) and limbs 0 to 7 within 29 bits. The
 * last limb keeps a few bits more, or is a little below zero.
 */
function normalize(out: usize, a: usize, b: usize): void {
  let last = limb(a, 8) + limb(b, 8)
  const high = last >> topBits
  last &= topMask
  let carry = limb(a, 0) + limb(b, 0) - high
  put(out, 0, carry & limbMask)
  carry = (carry >> limbBits) + limb(a, 1) + limb(b, 1)
  put(out, 1, carry & limbMask)
  carry = (carry >> limbBits) + limb(a, 2) + limb(b, 2)
  put(out, 2, carry & limbMask)
  carry = (carry >> limbBits) + limb(a, 3) + limb(b, 3)
  put(out, 3, carry & limbMask)
  carry = (carry >> limbBits) + limb(a, 4) + limb(b, 4)
  put(out, 4, carry & limbMask)
  carry = (carry >> limbBits) + limb(a, 5) + limb(b, 5)
  put(out, 5, carry & limbMask)
  carry = (carry >> limbBits) + limb(a, 6) + limb(b, 6) - high * sixthOfP
  put(out, 6, carry & limbMask)
  carry = (carry >> limbBits) + limb(a, 7) + limb(b, 7)
  put(out, 7, carry & limbMask)
  put(out, 8, (carry >> limbBits) + last)
}

/**
 * out = x² / R mod P. Computed by columns of the product: a multiple of P is added to make each of the lower nine zero.
 * This multiple also changes the columns 6 and 8 above.
 */
function square(out: usize, x: usize): void {
  const x0 = limb(x, 0)
  const x1 = limb(x, 1)
  const x2 = limb(x, 2)
  const x3 = limb(x, 3)
  const x4 = limb(x, 4)
  const x5 = limb(x, 5)
  const x6 = limb(x, 6)
  const x7 = limb(x, 7)
  const x8 = limb(x, 8)
  let column = x0 * x0
  const m0 = -column & limbMask
  let carry = (column + m0) >> limbBits
  column = carry + 2 * x0 * x1
  const m1 = -column & limbMask
  carry = (column + m1) >> limbBits
  column = carry + 2 * x0 * x2 + x1 * x1
  const m2 = -column & limbMask
  carry = (column + m2) >> limbBits
  column = carry + 2 * (x0 * x3 + x1 * x2)
  const m3 = -column & limbMask
  carry = (column + m3) >> limbBits
  column = carry + 2 * (x0 * x4 + x1 * x3) + x2 * x2
  const m4 = -column & limbMask
  carry = (column + m4) >> limbBits
  column = carry + 2 * (x0 * x5 + x1 * x4 + x2 * x3)
  const m5 = -column & limbMask
  carry = (column + m5) >> limbBits
  column = carry + 2 * (x0 * x6 + x1 * x5 + x2 * x4) + x3 * x3 + m0 * sixthOfP
  const m6 = -column & limbMask
  carry = (column + m6) >> limbBits
  column = carry + 2 * (x0 * x7 + x1 * x6 + x2 * x5 + x3 * x4) + m1 * sixthOfP
  const m7 = -column & limbMask
  carry = (column + m7) >> limbBits
  column = carry + 2 * (x0 * x8 + x1 * x7 + x2 * x6 + x3 * x5) + x4 * x4 + m2 * sixthOfP + (m0 << topBits)
  const m8 = -column & limbMask
  carry = (column + m8) >> limbBits
  column = carry + 2 * (x1 * x8 + x2 * x7 + x3 * x6 + x4 * x5) + m3 * sixthOfP + (m1 << topBits)
  put(out, 0, column & limbMask)
  carry = column >> limbBits
  column = carry + 2 * (x2 * x8 + x3 * x7 + x4 * x6) + x5 * x5 + m4 * sixthOfP + (m2 << topBits)
  put(out, 1, column & limbMask)
  carry = column >> limbBits
  column = carry + 2 * (x3 * x8 + x4 * x7 + x5 * x6) + m5 * sixthOfP + (m3 << topBits)
  put(out, 2, column & limbMask)
  carry = column >> limbBits
  column = carry + 2 * (x4 * x8 + x5 * x7) + x6 * x6 + m6 * sixthOfP + (m4 << topBits)
  put(out, 3, column & limbMask)
  carry = column >> limbBits
  column = carry + 2 * (x5 * x8 + x6 * x7) + m7 * sixthOfP + (m5 << topBits)
  put(out, 4, column & limbMask)
  carry = column >> limbBits
  column = carry + 2 * x6 * x8 + x7 * x7 + m8 * sixthOfP + (m6 << topBits)
  put(out, 5, column & limbMask)
  carry = column >> limbBits
  column = carry + 2 * x7 * x8 + (m7 << topBits)
  put(out, 6, column & limbMask)
  carry = column >> limbBits
  column = carry + x8 * x8 + (m8 << topBits)
  put(out, 7, column & limbMask)
  put(out, 8, column >> limbBits)
}

/** out = x · y / R mod P, computed as in {@link square}. */
function multiply(out: usize, x: usize, y: usize): void {
  const x0 = limb(x, 0)
  const x1 = limb(x, 1)
  const x2 = limb(x, 2)
  const x3 = limb(x, 3)
  const x4 = limb(x, 4)
  const x5 = limb(x, 5)
  const x6 = limb(x, 6)
  const x7 = limb(x, 7)
  const x8 = limb(x, 8)
  const y0 = limb(y, 0)
  const y1 = limb(y, 1)
  const y2 = limb(y, 2)
  const y3 = limb(y, 3)
  const y4 = limb(y, 4)
  const y5 = limb(y, 5)
  const y6 = limb(y, 6)
  const y7 = limb(y, 7)
  const y8 = limb(y, 8)
  let column = x0 * y0
  const m0 = -column & limbMask
  let carry = (column + m0) >> limbBits
  column = carry + x0 * y1 + x1 * y0
  const m1 = -column & limbMask
  carry = (column + m1) >> limbBits
  column = carry + x0 * y2 + x1 * y1 + x2 * y0
  const m2 = -column & limbMask
  carry = (column + m2) >> limbBits
  column = carry + x0 * y3 + x1 * y2 + x2 * y1 + x3 * y0
  const m3 = -column & limbMask
  carry = (column + m3) >> limbBits
  column = carry + x0 * y4 + x1 * y3 + x2 * y2 + x3 * y1 + x4 * y0
  const m4 = -column & limbMask
  carry = (column + m4) >> limbBits
  column = carry + x0 * y5 + x1 * y4 + x2 * y3 + x3 * y2 + x4 * y1 + x5 * y0
  const m5 = -column & limbMask
  carry = (column + m5) >> limbBits
  column = carry + x0 * y6 + x1 * y5 + x2 * y4 + x3 * y3 + x4 * y2 + x5 * y1 + x6 * y0 + m0 * sixthOfP
  const m6 = -column & limbMask
  carry = (column + m6) >> limbBits
  column =
    carry + x0 * y7 + x1 * y6 + x2 * y5 + x3 * y4 + x4 * y3 + x5 * y2 + x6 * y1 + x7 * y0 + m1 * sixthOfP
  const m7 = -column & limbMask
  carry = (column + m7) >> limbBits
  column =
    carry +
    x0 * y8 +
    x1 * y7 +
    x2 * y6 +
    x3 * y5 +
    x4 * y4 +
    x5 * y3 +
    x6 * y2 +
    x7 * y1 +
    x8 * y0 +
    m2 * sixthOfP +
    (m0 << topBits)
  const m8 = -column & limbMask
  carry = (column + m8) >> limbBits
  column =
    carry +
    x1 * y8 +
    x2 * y7 +
    x3 * y6 +
    x4 * y5 +
    x5 * y4 +
    x6 * y3 +
    x7 * y2 +
    x8 * y1 +
    m3 * sixthOfP +
    (m1 << topBits)
  put(out, 0, column & limbMask)
  carry = column >> limbBits
  column =
    carry +
    x2 * y8 +
    x3 * y7 +
    x4 * y6 +
    x5 * y5 +
    x6 * y4 +
    x7 * y3 +
    x8 * y2 +
    m4 * sixthOfP +
    (m2 << topBits)
  put(out, 1, column & limbMask)
  carry = column >> limbBits
  column = carry + x3 * y8 + x4 * y7 + x5 * y6 + x6 * y5 + x7 * y4 + x8 * y3 + m5 * sixthOfP + (m3 << topBits)
  put(out, 2, column & limbMask)
  carry = column >> limbBits
  column = carry + x4 * y8 + x5 * y7 + x6 * y6 + x7 * y5 + x8 * y4 + m6 * sixthOfP + (m4 << topBits)
  put(out, 3, column & limbMask)
  carry = column >> limbBits
  column = carry + x5 * y8 + x6 * y7 + x7 * y6 + x8 * y5 + m7 * sixthOfP + (m5 << topBits)
  put(out, 4, column & limbMask)
  carry = column >> limbBits
  column = carry + x6 * y8 + x7 * y7 + x8 * y6 + m8 * sixthOfP + (m6 << topBits)
  put(out, 5, column & limbMask)
  carry = column >> limbBits
  column = carry + x7 * y8 + x8 * y7 + (m7 << topBits)
  put(out, 6, column & limbMask)
  carry = column >> limbBits
  column = carry + x8 * y8 + (m8 << topBits)
  put(out, 7, column & limbMask)
  put(out, 8, column >> limbBits)
}
