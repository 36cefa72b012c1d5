/**
 * Layout of a row of an account or a slot: a value, its first block, and as many earlier values as fit. stateRows.ts
 * owns the keys of rows.
 *
 *   row     form + length of the block number (1 byte) ‖ block since which the value holds ‖ value; or, by the form,
 *           with the length of the value (varint) before it and older ones behind it
 *   older   the latest first: (blocks for which it held (varint) ‖ length (varint) ‖ value) …
 *
 * The first form is that of datedValue.ts. The form of a past row also says whether the key had no value after it.
 */
import { noBytes } from '../../../primitives/bytes.js'
import { partOf, Slab } from '../../../primitives/slab.js'
import { type OlderValue, olderValues, withOlder } from '../olderValues.js'
import { datedBytes, endOfNumber, readNumber, writeNumber } from './datedValue.js'
import { readVarint, varintBytes, writeVarint } from './varint.js'

/** A value with the earlier ones in its row. Bytes are views of the row. */
export interface StateValues {
  /** Block since which the value holds. */
  readonly since: number
  readonly value: Uint8Array
  /** The earlier values, in the layout of a row; empty for none. */
  readonly older: Uint8Array
  /** For a past row: whether the value was removed, not replaced. */
  readonly isRemoved: boolean
}

/**
 * Limit of the bytes of older values beside a new one. With half as many, a change of a slot takes 3 bytes more. With
 * more, a read of the head copies more.
 */
const olderBytesMax = 256

/** Limit of the values in one row: a store with more is damaged. */
const olderMax = olderBytesMax / 2

const formOlder = 8
const formRemoved = 16
const lengthMask = 7

/** Throws RangeError for a malformed row. */
export function decodeState(row: Uint8Array): StateValues {
  const form = (row[0] ?? 0xff) & ~lengthMask
  if ((form & ~(formOlder | formRemoved)) !== 0) throw new RangeError('not a row of state')
  const since = numberOf(row)
  const at = 1 + ((row[0] as number) & lengthMask)
  const isRemoved = (form & formRemoved) !== 0
  if ((form & formOlder) === 0) return { since, value: row.subarray(at), older: noBytes, isRemoved }
  const length = readVarint(row, at)
  const start = at + varintBytes(length)
  if (start + length >= row.length) throw new RangeError('not a row of state')
  const end = start + length
  return { since, value: row.subarray(start, end), older: row.subarray(end), isRemoved }
}

/** The value of a row; a long one is a view of the row. */
export function valueIn(row: Uint8Array): Uint8Array {
  const form = row[0] ?? 0
  if (form <= lengthMask) return partOf(row, endOfNumber(row, 0))
  if ((form & ~lengthMask) !== formOlder) return decodeState(row).value
  const at = 1 + (form & lengthMask)
  const length = readVarint(row, at)
  const start = at + varintBytes(length)
  if (start + length >= row.length) throw new RangeError('not a row of state')
  return partOf(row, start, start + length)
}

function numberOf(row: Uint8Array): number {
  if ((row[0] ?? 0) <= lengthMask) return readNumber(row, 0)
  let number = 0
  const end = 1 + ((row[0] as number) & lengthMask)
  for (let at = 1; at < end; at++) number = number * 256 + (row[at] as number)
  if (!(end < row.length)) throw new RangeError('a row does not begin with a block number')
  return number
}

/** Rows stay in memory after they are stored, unlike those of the tries; so they have a slab of their own. */
const slab = new Slab()

export function encodeState({ since, value, older, isRemoved }: StateValues): Uint8Array {
  const lengthBytes = older.length === 0 ? 0 : varintBytes(value.length)
  const at = datedBytes(since)
  const row = slab.take(at + lengthBytes + value.length + older.length)
  writeNumber(row, since, 0)
  row[0] = (row[0] as number) + (older.length > 0 ? formOlder : 0) + (isRemoved ? formRemoved : 0)
  if (lengthBytes > 0) writeVarint(row, value.length, at)
  row.set(value, at + lengthBytes)
  row.set(older, row.length - older.length)
  return row
}

const older = new Uint8Array(olderBytesMax)

/**
 * The older values of a row after block `number` replaced its value, valid until the next call. Returns undefined if
 * there is no room for them.
 */
export function olderBy(
  { since, value, older: before }: StateValues,
  number: number,
): Uint8Array | undefined {
  return withOlder(older, number - since, value, before)
}

/** A value of a row. `until` is undefined for the row's own value: the key has the block that ended it. */
type DatedValue = Omit<OlderValue, 'until'> & { readonly until: number | undefined }

/** All values of a row, the latest first. Throws RangeError for a malformed row. */
export function* valuesOf({ since, value, older }: StateValues): Generator<DatedValue> {
  yield { since, until: undefined, value, end: 0 }
  yield* olderValues(older, since, olderMax)
}

/** The row without its latest value; undefined if it has no other. */
export function withoutLatest({ since, older }: StateValues): StateValues | undefined {
  for (const { since: before, until, value, end } of valuesOf({
    since,
    value: noBytes,
    older,
    isRemoved: false,
  }))
    if (until !== undefined) return { since: before, value, older: older.subarray(end), isRemoved: false }
  return undefined
}

/**
 * The row without the values that blocks up to `oldest` replaced; calls `cut` for each. Undefined if there are none.
 */
export function withoutBefore(
  row: StateValues,
  oldest: number,
  cut: (since: number, value: Uint8Array) => void,
): StateValues | undefined {
  let keptAt: number | undefined
  let lastAt = 0
  for (const { since, until, value, end } of valuesOf(row)) {
    if (until !== undefined && until <= oldest) {
      keptAt ??= lastAt
      cut(since, value)
    }
    lastAt = end
  }
  return keptAt === undefined ? undefined : { ...row, older: row.older.subarray(0, keptAt) }
}

/** The value of a row after block `number`; undefined if all its values are newer. */
export function valueAfter(row: StateValues, number: number): Uint8Array | undefined {
  if (row.since <= number) return row.value
  for (const { since, value } of valuesOf(row)) if (since <= number) return value
  return undefined
}

export function oldestSince(row: StateValues): number {
  let oldest = row.since
  for (const { since } of valuesOf(row)) oldest = since
  return oldest
}
