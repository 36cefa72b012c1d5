/**
 * What a row was before, as rows of state and of tries keep it beside what they are, the latest first: blocks for which it
 * had been so (number) ‖ length (number) ‖ bytes, one after the other. A number is as in varint.ts.
 */
import { readVarint, varintBytes } from './varint.js'

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

/** `since`: block that made the row what it is. Throws RangeError for what is none, and for more than `most`. */
export function* olderValues(older: Uint8Array, since: number, most: number): Generator<OlderValue> {
  let until = since
  let count = 0
  for (let at = 0; at < older.length; ) {
    const age = readVarint(older, at)
    const lengthAt = at + varintBytes(age)
    const length = readVarint(older, lengthAt)
    const start = lengthAt + varintBytes(length)
    const end = start + length
    if (age < 1 || age > until || end > older.length || ++count > most)
      throw new RangeError('not the past of a row')
    yield { since: until - age, until, value: older.subarray(start, end), end }
    until -= age
    at = end
  }
}
