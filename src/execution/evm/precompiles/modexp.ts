/**
 * Precompiled contract 5: `base ^ exponent % modulus` of any length (EIP-198, 2565, 7823, 7883), in WebAssembly
 * (assembly/power.ts) for usual lengths, by bigints for others. Libraries' implementations take time that grows with
 * the square of the exponent's length (8 s for 100 KB, at 267,000 gas) and cannot be stopped. This one reads the
 * exponent in parts and counts steps of the watch.
 */
import { type ForkName, includesFork } from '../../../data/chain/forks.js'
import { bytesToBigInt, padLeft, toMinimalBytes, trimLeft } from '../../../primitives/bytes.js'
import { instantiate, type WasmGlobal, type WasmMemory } from '../../../primitives/webAssembly.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { refuse } from './contractData.js'

/** Steps of the watch between two checks of it. */
const stepsPerLook = 512

/** Longest operand since Osaka (EIP-7823). */
const operandBytesMax = 1_024n

interface Lengths {
  readonly base: bigint
  readonly exponent: bigint
  readonly modulus: bigint
}

function readLengths(data: Uint8Array): Lengths {
  const word = (at: number): bigint => bytesToBigInt(readPadded(data, BigInt(at), 32))
  return { base: word(0), exponent: word(32), modulus: word(64) }
}

/** Call it only after the gas was paid: the data may request memory of any size. Throws {@link InputRefusal}. */
export function modexpPower(data: Uint8Array, fork: ForkName, watch: JobWatch | undefined): Uint8Array {
  const { base, exponent, modulus } = readLengths(data)
  if (includesFork(fork, 'osaka') && max(base, max(exponent, modulus)) > operandBytesMax) {
    refuse('one or more of base/exponent/modulus length exceeded 1024 bytes')
  }
  const width = Number(modulus)
  const exponentAt = 96n + base
  const divisor = trimLeft(readPadded(data, exponentAt + exponent, width))
  // The modulus is 0 or 1.
  if (divisor.length === 0 || (divisor.length === 1 && divisor[0] === 1)) return new Uint8Array(width)
  const root = trimLeft(readPadded(data, 96n, Number(base)))
  const power = new Power(data, Number(exponentAt), Number(exponent), watch)
  const isShort = divisor.length <= (power.isLong ? wasmBytesMax : unpreparedBytesMax)
  const found = isShort ? power.short(root, divisor) : power.long(root, divisor)
  return padLeft(found, width)
}

/** Gas from the first 32 bytes of the exponent and the lengths of the operands. */
export function modexpGas(data: Uint8Array, fork: ForkName): bigint {
  const { base, exponent, modulus } = readLengths(data)
  const length = max(base, modulus)
  const head = bytesToBigInt(readPadded(data, 96n + base, exponent < 32n ? Number(exponent) : 32))
  const isOsaka = includesFork(fork, 'osaka')
  const headBits = head === 0n ? 0n : BigInt(head.toString(2).length - 1)
  const tailBytes = exponent > 32n ? exponent - 32n : 0n
  const rounds = max(tailBytes * (isOsaka ? 16n : 8n) + headBits, 1n)
  const words = (length + 7n) / 8n
  // EIP-7883.
  if (isOsaka) return max(500n, (length <= 32n ? 16n : 2n * words * words) * rounds)
  // EIP-2565.
  if (includesFork(fork, 'berlin')) return max(200n, (words * words * rounds) / 3n)
  return (earlyComplexity(length) * rounds) / 20n
}

/** EIP-198. */
function earlyComplexity(length: bigint): bigint {
  const square = length * length
  if (length <= 64n) return square
  if (length <= 1_024n) return square / 4n + 96n * length - 3_072n
  return square / 16n + 480n * length - 199_680n
}

interface Assembly {
  readonly memory: WasmMemory
  readonly modulus: WasmGlobal
  readonly input: WasmGlobal
  readonly output: WasmGlobal
  begin(modulusBytes: number): void
  setBase(bytes: number, isLong: boolean): void
  raise(exponentBytes: number, isLong: boolean): void
  finish(modulusBytes: number): void
}

let assembly: Assembly | undefined

/** Longest modulus of assembly/power.ts, at which bigints are about as fast. */
const wasmBytesMax = 256
/** Like {@link wasmBytesMax}, but for an exponent of a few bits, for which the preparation outweighs the products. */
const unpreparedBytesMax = 64
/** Bytes of the base and the exponent that it takes at once. */
const inputBytesMax = 1_024
/** From this length of the exponent on, a table of 16 powers of the base saves products. */
const longExponentBytes = 5

/** The power of a base; the exponent is at a place in the data, with zeros beyond the end of the data. */
class Power {
  readonly isLong: boolean

  constructor(
    readonly data: Uint8Array,
    readonly exponentAt: number,
    readonly exponentBytes: number,
    readonly watch: JobWatch | undefined,
  ) {
    this.isLong = exponentBytes >= longExponentBytes
  }

  /** The power for a modulus above 1 of at most {@link wasmBytesMax} bytes. Operands have no leading zeros. */
  short(base: Uint8Array, modulus: Uint8Array): Uint8Array {
    assembly ??= instantiate<Assembly>('src/execution/evm/precompiles/power.wasm')
    const bytes = new Uint8Array(assembly.memory.buffer)
    bytes.set(modulus, assembly.modulus.value)
    assembly.begin(modulus.length)
    const { isLong } = this
    const reduced =
      base.length <= inputBytesMax ? base : toMinimalBytes(bytesToBigInt(base) % bytesToBigInt(modulus))
    bytes.set(reduced, assembly.input.value)
    assembly.setBase(reduced.length, isLong)
    // A step for each hundred pairs of 32-bit limbs; an even modulus takes twice as long (scenario `gas`).
    const limbs = modulus.length / 4
    const stepsPerByte = Math.ceil(0.4 * limbs * limbs) + 2
    const partBytes = Math.min(inputBytesMax, Math.max(1, Math.floor(stepsPerLook / stepsPerByte)))
    for (let at = 0; at < this.exponentBytes; at += partBytes) {
      const length = Math.min(partBytes, this.exponentBytes - at)
      const from = this.exponentAt + at
      bytes.fill(0, assembly.input.value, assembly.input.value + length)
      bytes.set(this.data.subarray(from, from + length), assembly.input.value)
      this.watch?.take(length * stepsPerByte)
      assembly.raise(length, isLong)
    }
    assembly.finish(modulus.length)
    return bytes.slice(assembly.output.value, assembly.output.value + modulus.length)
  }

  /** The power for a modulus of any length above 1. */
  long(root: Uint8Array, divisor: Uint8Array): Uint8Array {
    const modulus = bytesToBigInt(divisor)
    const base = bytesToBigInt(root) % modulus
    // A multiplication of 256 bytes takes as long as 30 steps; the time grows with less than the square of the length.
    const stepsPerByte = Math.ceil(300 * (divisor.length / wasmBytesMax) ** 2)
    const width = this.isLong ? 4 : 1
    const powers = [1n, base]
    while (powers.length < 1 << width) powers.push(((powers.at(-1) as bigint) * base) % modulus)
    let power = 1n
    for (let index = 0; index < this.exponentBytes; index++) {
      this.watch?.take(stepsPerByte)
      const byte = this.data[this.exponentAt + index] ?? 0
      for (let at = 8 - width; at >= 0; at -= width) {
        const digit = (byte >> at) & ((1 << width) - 1)
        // Before the first set bit there is nothing to square.
        if (power !== 1n) for (let bit = 0; bit < width; bit++) power = (power * power) % modulus
        if (digit !== 0) power = (power * (powers[digit] as bigint)) % modulus
      }
    }
    return toMinimalBytes(power)
  }
}

/** `length` bytes at `offset`, with zeros beyond the end of the data. */
function readPadded(data: Uint8Array, offset: bigint, length: number): Uint8Array {
  const padded = new Uint8Array(length)
  if (offset < BigInt(data.length)) padded.set(data.subarray(Number(offset), Number(offset) + length))
  return padded
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
