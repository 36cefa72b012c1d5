import fc from 'fast-check'
import t from 'tap'
import { propertyRuns } from '../../../library/property.js'
import { evaluate } from './machine.js'

const wordMask = 2n ** 256n - 1n
const signed = (word: bigint): bigint => BigInt.asIntN(256, word)
const wrapped = (value: bigint): bigint => BigInt.asUintN(256, value)

/** The result of each instruction for its operands, as the yellow paper defines it in appendix H. */
const instructions: Readonly<
  Record<string, readonly [opcode: number, meaning: (...operands: bigint[]) => bigint]>
> = {
  ADD: [0x01, (a = 0n, b = 0n) => wrapped(a + b)],
  MUL: [0x02, (a = 0n, b = 0n) => wrapped(a * b)],
  SUB: [0x03, (a = 0n, b = 0n) => wrapped(a - b)],
  DIV: [0x04, (a = 0n, b = 0n) => (b === 0n ? 0n : a / b)],
  SDIV: [0x05, (a = 0n, b = 0n) => (b === 0n ? 0n : wrapped(signed(a) / signed(b)))],
  MOD: [0x06, (a = 0n, b = 0n) => (b === 0n ? 0n : a % b)],
  SMOD: [0x07, (a = 0n, b = 0n) => (b === 0n ? 0n : wrapped(signed(a) % signed(b)))],
  ADDMOD: [0x08, (a = 0n, b = 0n, n = 0n) => (n === 0n ? 0n : (a + b) % n)],
  MULMOD: [0x09, (a = 0n, b = 0n, n = 0n) => (n === 0n ? 0n : (a * b) % n)],
  EXP: [0x0a, (a = 0n, b = 0n) => power(a, b)],
  SIGNEXTEND: [0x0b, (a = 0n, b = 0n) => (a > 30n ? b : wrapped(BigInt.asIntN(Number(a) * 8 + 8, b)))],
  LT: [0x10, (a = 0n, b = 0n) => BigInt(a < b)],
  GT: [0x11, (a = 0n, b = 0n) => BigInt(a > b)],
  SLT: [0x12, (a = 0n, b = 0n) => BigInt(signed(a) < signed(b))],
  SGT: [0x13, (a = 0n, b = 0n) => BigInt(signed(a) > signed(b))],
  EQ: [0x14, (a = 0n, b = 0n) => BigInt(a === b)],
  ISZERO: [0x15, (a = 0n) => BigInt(a === 0n)],
  AND: [0x16, (a = 0n, b = 0n) => a & b],
  OR: [0x17, (a = 0n, b = 0n) => a | b],
  XOR: [0x18, (a = 0n, b = 0n) => a ^ b],
  NOT: [0x19, (a = 0n) => a ^ wordMask],
  BYTE: [0x1a, (a = 0n, b = 0n) => (a > 31n ? 0n : (b >> (8n * (31n - a))) & 0xffn)],
  SHL: [0x1b, (a = 0n, b = 0n) => (a > 255n ? 0n : wrapped(b << a))],
  SHR: [0x1c, (a = 0n, b = 0n) => (a > 255n ? 0n : b >> a)],
  SAR: [0x1d, (a = 0n, b = 0n) => wrapped(signed(b) >> (a > 255n ? 255n : a))],
  CLZ: [0x1e, (a = 0n) => (a === 0n ? 256n : 256n - BigInt(a.toString(2).length))],
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = wrapped(result * square)
    square = wrapped(square * square)
  }
  return result
}

/** Words of all lengths and signs, and those at which carries, borrows and guessed digits of a quotient go wrong. */
const word = fc.oneof(
  fc.bigInt({ min: 0n, max: wordMask }),
  fc
    .tuple(fc.bigInt({ min: 0n, max: wordMask }), fc.nat(255))
    .map(([value, shift]) => value >> BigInt(shift)),
  fc
    .tuple(fc.bigInt({ min: 0n, max: wordMask }), fc.nat(255))
    .map(([value, shift]) => wrapped(-(value >> BigInt(shift)))),
  fc.constantFrom(
    0n,
    1n,
    2n,
    31n,
    32n,
    255n,
    256n,
    wordMask,
    2n ** 255n,
    2n ** 255n - 1n,
    2n ** 128n,
    2n ** 64n - 1n,
  ),
  fc
    .array(fc.constantFrom<bigint>(0n, 1n, 0xffff_ffffn, 0x8000_0000n, 0x7fff_ffffn), {
      minLength: 8,
      maxLength: 8,
    })
    .map((digits) => digits.reduce((value, digit) => (value << 32n) | digit)),
)

for (const [name, [opcode, meaning]] of Object.entries(instructions)) {
  t.test(`${name} is what integers say`, async (t) => {
    const agrees = (a: bigint, b: bigint, c: bigint): boolean => {
      const operands = [a, b, c].slice(0, operandsOf(opcode))
      return evaluate(opcode, operands) === meaning(...operands)
    }
    t.doesNotThrow(() => fc.assert(fc.property(word, word, word, agrees), propertyRuns(400)))
  })
}

/** Operands of an instruction. */
function operandsOf(opcode: number): number {
  if (opcode === 0x15 || opcode === 0x19 || opcode === 0x1e) return 1
  return opcode === 0x08 || opcode === 0x09 ? 3 : 2
}
