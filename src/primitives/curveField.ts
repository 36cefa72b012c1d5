/**
 * Arithmetic modulo p = 2^256 − 2^32 − 977, the field of the curve secp256k1, in WebAssembly: with it a recovery takes a
 * tenth of what it takes with BigInts. The machine code is written here, byte by byte, because nothing but these three
 * functions is needed. Owns the field; the curve is `recoverPublicKey.ts`. Not constant in time: public values only.
 *
 * An element is nine signed 64-bit limbs of 29 bits, lowest first, in the module's memory. Results are carried but
 * not reduced to the least residue: limbs stay within 2^29 + 2^24 of zero, so that the 9 products of a column of a
 * multiplication sum up to less than 2^63.
 */

export const fieldPrime = 2n ** 256n - 2n ** 32n - 977n

/** Where an element stands in the module's memory, in bytes. */
export type Element = number & { readonly element: true }

interface Field {
  /** `out = a · b`; all may be the same. */
  mul(out: Element, a: Element, b: Element): void
  /** `out = a²` */
  sqr(out: Element, a: Element): void
  /** `out = a + k · b` for a small integer k, −8 to 8. */
  addTimes(out: Element, a: Element, b: Element, k: number): void
}

const limbs = 9
const limbBits = 29
const limbMask = (1n << 29n) - 1n
const elementBytes = limbs * 8
/** Bits of p in the highest limb. */
const topBits = 24
const pageBytes = 65_536

/** Instructions of WebAssembly as bytes; operands stand before them. */
type Code = readonly number[]

/** Signed LEB128, the format of constants. */
function signed(value: number): Code {
  const bytes: number[] = []
  for (let rest = BigInt(value); ; rest >>= 7n) {
    const low = Number(rest & 0x7fn)
    const isLast = rest >> 6n === 0n || rest >> 6n === -1n
    bytes.push(isLast ? low : low | 0x80)
    if (isLast) return bytes
  }
}

/** Unsigned LEB128, the format of sizes and offsets. */
function unsigned(value: number): Code {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    bytes.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80)
    if (rest < 0x80) return bytes
  }
}

const sized = (content: Code): Code => [...unsigned(content.length), ...content]
const vector = (items: readonly Code[]): Code => [...unsigned(items.length), ...items.flat()]
const section = (id: number, content: Code): Code => [id, ...sized(content)]

const i32 = 0x7f
const i64 = 0x7e
const get = (local: number): Code => [0x20, ...unsigned(local)]
const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)]
const constant = (value: number): Code => [0x42, ...signed(value)]
const plus = (a: Code, b: Code): Code => [...a, ...b, 0x7c]
const times = (a: Code, b: Code): Code => [...a, ...b, 0x7e]
const low = (a: Code, bits: number): Code => [...a, ...constant(2 ** bits - 1), 0x83]
/** Arithmetic shift: rounds towards minus infinity. */
const high = (a: Code, bits: number): Code => [...a, ...constant(bits), 0x87]
const left = (a: Code, bits: number): Code => [...a, ...constant(bits), 0x86]
const load = (pointer: number, limb: number): Code => [...get(pointer), 0x29, 3, ...unsigned(limb * 8)]
const store = (pointer: number, limb: number, value: Code): Code => [
  ...get(pointer),
  ...value,
  0x37,
  3,
  ...unsigned(limb * 8),
]

/** Moves what exceeds a limb from local `from` to the next one. */
const carry = (from: number): Code => [
  ...set(from + 1, plus(get(from + 1), high(get(from), limbBits))),
  ...set(from, low(get(from), limbBits)),
]

/**
 * Carries the nine locals from `first` on, folds what lies at and above bit 256 (2^256 ≡ 2^32 + 977, that is
 * 977 in limb 0 and 2^3 in limb 1), and stores them as parameter 0.
 */
function carryAndStore(first: number, spare: number): Code {
  const code: number[] = []
  const top = first + limbs - 1
  for (let i = 0; i < limbs - 1; i++) code.push(...carry(first + i))
  code.push(
    ...set(spare, high(get(top), topBits)),
    ...set(top, low(get(top), topBits)),
    ...set(first, plus(get(first), times(get(spare), constant(977)))),
    ...set(first + 1, plus(get(first + 1), left(get(spare), 3))),
    ...carry(first),
  )
  for (let i = 0; i < limbs; i++) code.push(...store(0, i, get(first + i)))
  return code
}

/** A function body: `parameters` pointers, then 64-bit locals. */
function body(locals: number, code: Code): Code {
  return sized([...vector([[...unsigned(locals), i64]]), ...code, 0x0b])
}

function additionOfMultiple(): Code {
  const [k, factor, first] = [3, 4, 5]
  const code: number[] = [...set(factor, [...get(k), 0xac])]
  for (let i = 0; i < limbs; i++)
    code.push(...set(first + i, plus(load(1, i), times(load(2, i), get(factor)))))
  return body(limbs + 2, [...code, ...carryAndStore(first, first + limbs)])
}

/** Folds the columns of a product at and above bit 261 (2^261 ≡ 31264 + 2^37) and stores what is left. */
function reduceAndStore(column: number): Code {
  const code: number[] = []
  for (let i = 0; i < 2 * limbs - 1; i++) code.push(...carry(column + i))
  for (let i = 0; i < limbs; i++) {
    const above = get(column + limbs + i)
    code.push(...set(column + i, plus(get(column + i), times(above, constant(31_264)))))
    // The last of these lands in the column above the result again.
    const next = i === limbs - 1 ? set(column + limbs, left(above, 8)) : undefined
    code.push(...(next ?? set(column + i + 1, plus(get(column + i + 1), left(above, 8)))))
  }
  code.push(
    ...set(column, plus(get(column), times(get(column + limbs), constant(31_264)))),
    ...set(column + 1, plus(get(column + 1), left(get(column + limbs), 8))),
  )
  return [...code, ...carryAndStore(column, column + limbs)]
}

function multiplication(): Code {
  const [a, b, column] = [3, 3 + limbs, 3 + 2 * limbs]
  const code: number[] = []
  for (let i = 0; i < limbs; i++) code.push(...set(a + i, load(1, i)), ...set(b + i, load(2, i)))
  for (let k = 0; k < 2 * limbs - 1; k++) {
    let sum: Code = []
    for (let i = Math.max(0, k - limbs + 1); i <= Math.min(k, limbs - 1); i++) {
      const product = times(get(a + i), get(b + k - i))
      sum = sum.length === 0 ? product : plus(sum, product)
    }
    code.push(...set(column + k, sum))
  }
  return body(2 * limbs + 2 * limbs, [...code, ...reduceAndStore(column)])
}

function squaring(): Code {
  const [a, column] = [2, 2 + limbs]
  const code: number[] = []
  for (let i = 0; i < limbs; i++) code.push(...set(a + i, load(1, i)))
  for (let k = 0; k < 2 * limbs - 1; k++) {
    let sum: Code = []
    for (let i = Math.max(0, k - limbs + 1); 2 * i < k; i++) {
      const product = times(get(a + i), get(a + k - i))
      sum = sum.length === 0 ? product : plus(sum, product)
    }
    if (sum.length > 0) sum = left(sum, 1)
    if (k % 2 === 0) {
      const square = times(get(a + k / 2), get(a + k / 2))
      sum = sum.length === 0 ? square : plus(sum, square)
    }
    code.push(...set(column + k, sum))
  }
  return body(limbs + 2 * limbs, [...code, ...reduceAndStore(column)])
}

/** The module: three functions, each of its own type, and one page of memory. */
function moduleBytes(): Uint8Array<ArrayBuffer> {
  const name = (text: string): Code => sized([...Buffer.from(text)])
  const procedure = (parameters: number): Code => [
    0x60,
    ...vector(new Array<Code>(parameters).fill([i32])),
    ...vector([]),
  ]
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector([3, 2, 4].map(procedure))),
    ...section(3, vector([[0], [1], [2]])),
    ...section(5, vector([[0, 1]])),
    ...section(
      7,
      vector([
        [...name('mul'), 0, 0],
        [...name('sqr'), 0, 1],
        [...name('addTimes'), 0, 2],
        [...name('memory'), 2, 0],
      ]),
    ),
    ...section(10, vector([multiplication(), squaring(), additionOfMultiple()])),
  ])
}

/** Declared here because the type library that has it is the browsers'. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (
    module: object,
  ) => { readonly exports: Field & { readonly memory: { readonly buffer: ArrayBuffer } } }
}

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()))

export const { mul, sqr, addTimes } = exports
const memory = new BigInt64Array(exports.memory.buffer)

let allocated = 0

/** Memory for one more element, for good. Throws RangeError when the page is full. */
export function newElement(): Element {
  if (allocated + elementBytes > pageBytes) throw new RangeError('no memory for another field element')
  const at = allocated as Element
  allocated += elementBytes
  return at
}

/** Sets an element to `value`, which is below 2^256. */
export function writeElement(out: Element, value: bigint): void {
  let rest = value
  for (let i = 0; i < limbs; i++, rest >>= 29n) memory[out / 8 + i] = rest & limbMask
}

/** The least residue of an element. */
export function readElement(a: Element): bigint {
  let value = 0n
  for (let i = limbs - 1; i >= 0; i--) value = (value << 29n) + (memory[a / 8 + i] as bigint)
  value %= fieldPrime
  return value < 0n ? value + fieldPrime : value
}

export function copyElement(out: Element, a: Element): void {
  memory.copyWithin(out / 8, a / 8, a / 8 + limbs)
}
