/**
 * Earlier values within a row of state or of tries, the latest first. Each is: blocks for which it had been so (number)
 * ‖ length (number) ‖ bytes. A number is as in varint.ts.
 */
import { readVarint, varintBytes, writeVarint } from './layouts/varint.js'

export interface OlderValue {
  /** Block that wrote the value. */
  readonly since: number
  /** The block that replaced it. */
  readonly until: number
  /** A view of the row. */
  readonly value: Uint8Array
  /** Offset of the next older value. */
  readonly end: number
}

interface Step {
  readonly since: number
  readonly start: number
  readonly end: number
}

/** The value at `at`, which block `until` replaced. Throws RangeError for a malformed one. */
function stepAt(older: Uint8Array, at: number, until: number): Step {
  const age = readVarint(older, at)
  const lengthAt = at + varintBytes(age)
  const length = readVarint(older, lengthAt)
  const start = lengthAt + varintBytes(length)
  const end = start + length
  if (age < 1 || age > until || end > older.length) throw new RangeError('not the past of a row')
  return { since: until - age, start, end }
}

/**
 * `since`: block that wrote the row's latest value. Throws RangeError for malformed values, and for more than `most`.
 */
export function* olderValues(older: Uint8Array, since: number, most: number): Generator<OlderValue> {
  let until = since
  let count = 0
  for (let at = 0; at < older.length; ) {
    const step = stepAt(older, at, until)
    if (++count > most) throw new RangeError('not the past of a row')
    yield { since: step.since, until, value: older.subarray(step.start, step.end), end: step.end }
    until = step.since
    at = step.end
  }
}

/**
 * Spans of the values from the latest one back to the one that held after block `number`: start and end of each in
 * turn. Undefined if the row does not go back that far. Throws as {@link olderValues}.
 */
export function spansBackTo(
  older: Uint8Array,
  since: number,
  number: number,
  most: number,
): number[] | undefined {
  const spans: number[] = []
  let until = since
  for (let at = 0; at < older.length; ) {
    const step = stepAt(older, at, until)
    if (spans.push(step.start, step.end) > 2 * most) throw new RangeError('not the past of a row')
    if (step.since <= number) return spans
    until = step.since
    at = step.end
  }
  return undefined
}

/**
 * Puts a value that held for `age` blocks before the older ones, into `memory`; valid until `memory` is used again.
 * Returns undefined if they have more than `bytesMax` bytes together.
 */
export function withOlder(
  memory: Uint8Array,
  age: number,
  value: Uint8Array,
  before: Uint8Array,
  bytesMax = memory.length,
): Uint8Array | undefined {
  const headBytes = varintBytes(age) + varintBytes(value.length)
  const length = headBytes + value.length + before.length
  if (length > bytesMax) return undefined
  writeVarint(memory, value.length, writeVarint(memory, age, 0))
  memory.set(value, headBytes)
  memory.set(before, length - before.length)
  return memory.subarray(0, length)
}
