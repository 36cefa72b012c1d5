/** Makes small random programs, in which each instruction gets operands that usually make sense. Does not run them. */
import { bytesToHex, concatBytes, hexToBytes, toMinimalBytes } from '../../src/primitives/bytes.js'
import type { Dice } from '../library/property.js'

/** The kind of an operand, from the deepest to the topmost one. */
type Operand = 'word' | 'slot' | 'offset' | 'size' | 'address' | 'gas' | 'value' | 'salt' | 'number'

type Instruction = readonly [code: number, operands: readonly Operand[], results: number]

const offset = 'offset'
const size = 'size'
/** Operands of CALL and its kin, without the value. */
const area: readonly Operand[] = [size, offset, size, offset]

const instructions: readonly Instruction[] = [
  ...[0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x13, 0x14].map(
    (code): Instruction => [code, ['word', 'word'], 1],
  ),
  ...[0x16, 0x17, 0x18, 0x1a, 0x1b, 0x1c, 0x1d].map((code): Instruction => [code, ['word', 'size'], 1]),
  ...[0x08, 0x09].map((code): Instruction => [code, ['word', 'word', 'word'], 1]),
  ...[0x15, 0x19, 0x1e].map((code): Instruction => [code, ['word'], 1]),
  // Instructions that read the call, the block and the frame.
  ...[0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a, 0x3d, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48].map(
    (code): Instruction => [code, [], 1],
  ),
  ...[0x4a, 0x4b, 0x58, 0x59, 0x5a, 0x5f].map((code): Instruction => [code, [], 1]),
  [0x20, [size, offset], 1],
  ...[0x31, 0x3b, 0x3f].map((code): Instruction => [code, ['address'], 1]),
  [0x35, [offset], 1],
  ...[0x37, 0x39, 0x3e, 0x5e].map((code): Instruction => [code, [size, offset, offset], 0]),
  [0x3c, [size, offset, offset, 'address'], 0],
  [0x40, ['number'], 1],
  [0x49, [size], 1],
  [0x51, [offset], 1],
  ...[0x52, 0x53].map((code): Instruction => [code, ['word', offset], 0]),
  ...[0x54, 0x5c].map((code): Instruction => [code, ['slot'], 1]),
  ...[0x55, 0x55, 0x55, 0x5d].map((code): Instruction => [code, ['word', 'slot'], 0]),
  ...[0xa0, 0xa1, 0xa2, 0xa3, 0xa4].map(
    (code): Instruction => [code, [...Array<Operand>(code - 0xa0).fill('word'), size, offset], 0],
  ),
  ...[0xf1, 0xf1, 0xf1, 0xf2].map((code): Instruction => [code, [...area, 'value', 'address', 'gas'], 1]),
  ...[0xf4, 0xfa, 0xfa].map((code): Instruction => [code, [...area, 'address', 'gas'], 1]),
  [0xf0, [size, offset, 'value'], 1],
  [0xf5, ['salt', size, offset, 'value'], 1],
]

/** Possible ends of a program, except its last byte. */
const endings: readonly Instruction[] = [
  [0x00, [], 0],
  [0xf3, [size, offset], 0],
  [0xf3, [size, offset], 0],
  [0xfd, [size, offset], 0],
  [0xfe, [], 0],
  [0xff, ['address'], 0],
]

/** Creation code of a contract of 32 bytes, the first of which is ADD. */
const creation = hexToBytes('60015f5360205ff3')

/** `Error(string)` with the text `no`, in the form of Solidity's reverts, in memory from 0 on; 100 bytes. */
const reason = concatBytes(
  hexToBytes('08c379a0'),
  hexToBytes('20'.padStart(64, '0')),
  hexToBytes('02'.padStart(64, '0')),
  hexToBytes('6e6f'.padEnd(64, '0')),
)

export class Programs {
  readonly #dice: Dice
  readonly #addresses: readonly string[]

  /** `addresses`: addresses for programs, without those of precompiled contracts. */
  constructor(dice: Dice, addresses: readonly string[]) {
    this.#dice = dice
    this.#addresses = addresses
  }

  /** Code of up to `length` instructions with their operands. */
  make(length = 14): string {
    const parts: Uint8Array[] = []
    const add = ([code, operands, results]: Instruction) => {
      for (const operand of operands) parts.push(push(this.#operand(operand)))
      parts.push(Uint8Array.of(code))
      // The rest of the stack is usually stored, so that it shows.
      if (results > 0 && this.#dice.throw(4) === 0)
        parts.push(push(this.#operand('slot')), Uint8Array.of(0x55))
    }
    const count = 1 + this.#dice.throw(length)
    for (let at = 0; at < count; at++) {
      const chance = this.#dice.throw(40)
      if (chance === 0) parts.push(Uint8Array.of(this.#dice.throw(256)))
      else if (chance === 1) parts.push(store(creation))
      else if (chance === 2) parts.push(store(reason), hexToBytes('60645ffd'))
      else add(this.#one(instructions))
    }
    if (this.#dice.throw(4) > 0) add(this.#one(endings))
    return bytesToHex(concatBytes(...parts))
  }

  /** An address that programs name; sometimes one of a precompiled contract. */
  address(): string {
    const chance = this.#dice.throw(10)
    if (chance === 0) return `0x${(1 + this.#dice.throw(18)).toString(16).padStart(40, '0')}`
    if (chance === 1) return `0x${'0'.repeat(37)}100`
    return this.#one(this.#addresses)
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#dice.throw(list.length)] as T
  }

  #operand(operand: Operand): bigint {
    const below = (sides: number) => BigInt(this.#dice.throw(sides))
    switch (operand) {
      case 'slot':
        return below(4)
      case 'offset':
        return this.#dice.throw(30) === 0 ? 2n ** 70n : below(3) * 32n
      case 'size':
        return this.#dice.throw(30) === 0 ? 5_000n : below(70)
      case 'address':
        return BigInt(this.address())
      case 'gas':
        return this.#one([0n, 2_300n, 30_000n, 200_000n, 2n ** 64n])
      case 'value':
        return this.#dice.throw(4) === 0 ? below(3) : 0n
      case 'salt':
        return below(3)
      case 'number':
        return below(64)
      case 'word':
        return this.#one([0n, 1n, 2n ** 255n, 2n ** 256n - 1n, below(1_000), 2n ** 160n + below(9)])
    }
  }
}

function push(value: bigint): Uint8Array {
  const bytes = toMinimalBytes(value)
  return concatBytes(
    Uint8Array.of(bytes.length === 0 ? 0x60 : 0x5f + bytes.length),
    bytes.length === 0 ? Uint8Array.of(0) : bytes,
  )
}

/** Writes bytes into memory, from 0 on. */
function store(bytes: Uint8Array): Uint8Array {
  const words: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += 32) {
    const word = new Uint8Array(32)
    word.set(bytes.subarray(at, at + 32))
    words.push(concatBytes(Uint8Array.of(0x7f), word, push(BigInt(at)), Uint8Array.of(0x52)))
  }
  return concatBytes(...words)
}
