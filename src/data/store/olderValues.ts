/**
 * What a row was before, as rows of state and of tries keep it beside what they are, the latest first: blocks for which it
 * had been so (number) ‖ length (number) ‖ bytes, one after the other. A number is as in varint.ts.
 */
import { readVarint, varintBytes, writeVarint } from './varint.js'

export interface OlderValue {
  /** Block that made it so. */
  readonly since: number
  /** The block that replaced it. */
  readonly until: number
  /** A view of the row. */
  readonly value: Uint8Array
  /** Where the next one is. */
  readonly end: number
}

interface Step {
  readonly since: number
  readonly start: number
  readonly end: number
}

/** The value at `at`, which was replaced by block `until`. Throws RangeError for what is none. */
function stepAt(older: Uint8Array, at: number, until: number): Step {
  const age = readVarint(older, at)
  const lengthAt = at + varintBytes(age)
  const length = readVarint(older, lengthAt)
  const start = lengthAt + varintBytes(length)
  const end = start + length
  if (age < 1 || age > until || end > older.length) throw new RangeError('not the past of a row')
  return { since: until - age, start, end }
}

/** `since`: block that made the row what it is. Throws RangeError for what is none, and for more than `most`. */
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
 * Where the values stand from the latest to the one that held after block `number`: start and end of each in turn.
 * Undefined where that one is further back. Throws as {@link olderValues}.
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
 * Puts a value that held for `age` blocks before older ones, into `memory`, valid until that is used again; undefined where
 * they have more than `bytesMax`.
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
