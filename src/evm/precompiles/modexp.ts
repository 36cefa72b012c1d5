/**
 * Precompiled contract 5: `base ^ exponent % modulus` of any length (EIP-198, 2565, 7823, 7883). Libraries'
 * implementations take time that grows with the square of the exponent's length (8 s for 100 KB, at 267,000 gas) and
 * cannot be stopped. This one reads the exponent byte by byte and counts steps of the watch.
 */
import { type ForkName, includesFork } from '../../chain/forks.js'
import { bytesToBigInt, padLeft, toMinimalBytes } from '../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { refuse } from './refusal.js'

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

/** Only after the gas was paid: the data may ask for memory of any size. Throws {@link InputRefusal}. */
export function modexpPower(data: Uint8Array, fork: ForkName, watch: JobWatch | undefined): Uint8Array {
  const { base, exponent, modulus } = readLengths(data)
  if (includesFork(fork, 'osaka') && max(base, max(exponent, modulus)) > operandBytesMax) {
    refuse('one or more of base/exponent/modulus length exceeded 1024 bytes')
  }
  if (modulus === 0n) return new Uint8Array(0)
  const exponentAt = 96n + base
  const divisor = bytesToBigInt(readPadded(data, exponentAt + exponent, Number(modulus)))
  const root = bytesToBigInt(readPadded(data, 96n, Number(base)))
  const power = divisor === 0n ? 0n : powerOf(root % divisor, data, exponentAt, exponent, divisor, watch)
  return padLeft(toMinimalBytes(power), Number(modulus))
}

/** Gas by the first 32 bytes of the exponent and the lengths of the operands. */
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

/** Square and multiply from the highest bit. Bytes of the exponent beyond the data are zeros. */
function powerOf(
  base: bigint,
  data: Uint8Array,
  exponentAt: bigint,
  exponentLength: bigint,
  modulus: bigint,
  watch: JobWatch | undefined,
): bigint {
  const start = Number(exponentAt)
  const end = start + Number(exponentLength)
  // A multiplication of 32 bytes takes as long as three steps; longer ones grow with the square.
  const words = modulus.toString(16).length / 64
  const stepsPerByte = Math.ceil(24 * Math.max(1, words * words * 0.1))
  let power = 1n % modulus
  for (let at = start; at < end; at++) {
    watch?.take(stepsPerByte)
    const byte = data[at] ?? 0
    // Before the first set bit there is nothing to square.
    if (byte === 0 && power === 1n) continue
    for (let bit = 7; bit >= 0; bit--) {
      power = (power * power) % modulus
      if ((byte >> bit) & 1) power = (power * base) % modulus
    }
  }
  return power
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
