/** Shared by both pairing curves: field elements as bytes, and the check whether a point is on the curve. */
import { bytesToBigInt, padLeft, toMinimalBytes } from '../../primitives/bytes.js'
import type { JobWatch } from '../engine/jobWatch.js'

/** The part of noble's field interface that is used here. */
interface Field<T> {
  sqr(value: T): T
  mul(a: T, b: T): T
  add(a: T, b: T): T
  eql(a: T, b: T): boolean
}

/** y² = x³ + b */
export function isOnCurve<T>(field: Field<T>, x: T, y: T, b: T): boolean {
  return field.eql(field.sqr(y), field.add(field.mul(field.sqr(x), x), b))
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

/** The first `count` numbers of `width` bytes each. */
export function readNumbers(data: Uint8Array, width: number, count: number): bigint[] {
  return Array.from({ length: count }, (_, index) =>
    bytesToBigInt(data.subarray(index * width, (index + 1) * width)),
  )
}

export function writeNumbers(width: number, ...numbers: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(width * numbers.length)
  for (const [index, number] of numbers.entries())
    bytes.set(padLeft(toMinimalBytes(number), width), index * width)
  return bytes
}

/** The items of an input; checks the watch before each, because reading a point can take milliseconds. */
export function* itemsOf(
  data: Uint8Array,
  itemBytes: number,
  watch: JobWatch | undefined,
): Generator<Uint8Array> {
  for (let at = 0; at < data.length; at += itemBytes) {
    watch?.look()
    yield data.subarray(at, at + itemBytes)
  }
}

/** A word that is 1 or 0. */
export function flagWord(isTrue: boolean): Uint8Array {
  const word = new Uint8Array(32)
  if (isTrue) word[31] = 1
  return word
}
