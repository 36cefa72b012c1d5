/**
 * Layout of trie rows around their content: the block that made it, and earlier versions as far as there is room.
 * trieRows.ts owns the keys of rows, trieRow.ts the layout of a content.
 *
 *   head         form ‖ block that made it (6 bytes) ‖ body
 *   past         form ‖ blocks for which it had been so (number) ‖ body
 *   body         content; or, by the form, length of the content (2 bytes) ‖ content ‖ earlier versions, the latest
 *                first: (blocks for which it had been so (number) ‖ length (number) ‖ difference to the later version)
 *                …
 *   number       as in varint.ts
 */
import { type OlderValue, olderValues, spansBackTo, withOlder } from '../olderValues.js'
import { decodeTrieRow, differenceOf, type TrieRow, takeBytes } from './trieRow.js'
import { contentBefore } from './trieRowBefore.js'
import { readVarint, varintBytes, writeVarint } from './varint.js'

/**
 * Limit of the bytes of a row's key, content and earlier versions; a larger row has no earlier versions. LMDB gives a
 * row its own pages if it takes, with its key, more than 2,026 bytes, half a page. The rest is for the head of the row,
 * and for the longer key of a past row. With half as many bytes a change takes a sixth more.
 */
const rowBytesMax = 2_008

/** Limit of the past versions in one row, each of at least four bytes: a store with more is damaged. */
const olderMax = rowBytesMax / 4

/** Bits of the first byte. */
const formPast = 1
const formOlder = 2
const formMask = 3

const contentAt = 7

/**
 * The first byte of a row: form ‖ two check bits for ages ‖ two check bits for numbers. The first two cover the ages of
 * older versions. The other two cover this byte and the block number or age behind it. Check bits detect one wrong bit
 * in the data that no hash covers. Only a walk over all rows checks the first two.
 */
function firstByte(form: number, ages: number, value: Uint8Array, end: number): number {
  let sum = form
  for (let at = 1; at < end; at++) sum ^= value[at] as number
  return form | (ages << 2) | (folded(sum) << 6)
}

const folded = (sum: number): number => (sum ^ (sum >> 2) ^ (sum >> 4) ^ (sum >> 6)) & 3

/** Two check bits for the ages of older versions. */
export function agesSum(older: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < older.length; ) {
    const ageBytes = varintBytes(readVarint(older, at))
    for (let i = 0; i < ageBytes; i++) sum ^= older[at + i] as number
    const length = readVarint(older, at + ageBytes)
    at += ageBytes + varintBytes(length) + length
  }
  return folded(sum)
}

/** A row of the trie, past or at the head. Bytes are views of it. */
export interface TrieVersions {
  /** Block that made it. */
  readonly from: number
  readonly content: Uint8Array
  /** Earlier versions, in the layout of a body; empty for none. */
  readonly older: Uint8Array
  /** Expected {@link agesSum}, for a row that was read. */
  readonly ages?: number
}

/** `until`: block that replaced it; undefined for a row of the head. Throws RangeError for a malformed row. */
export function decodeVersions(value: Uint8Array, until: number | undefined): TrieVersions {
  const form = (value[0] as number) & formMask
  let from = 0
  let at = 1
  if (until === undefined) for (; at < contentAt; at++) from = from * 256 + (value[at] as number)
  else {
    const age = readVarint(value, 1)
    from = until - age
    at = 1 + varintBytes(age)
  }
  const ages = ((value[0] as number) >> 2) & 3
  const hasOlder = (form & formOlder) !== 0
  const start = hasOlder ? at + 2 : at
  const end = hasOlder ? start + (((value[at] as number) << 8) | (value[at + 1] as number)) : value.length
  const isRight =
    value[0] === firstByte(form, ages, value, at) &&
    ((form & formPast) === 0) === (until === undefined) &&
    end > start &&
    (hasOlder ? end < value.length : end === value.length)
  if (!isRight) throw new RangeError('not a row of a trie')
  return { from, content: value.subarray(start, end), older: value.subarray(end), ages }
}

/** The versions before the one from block `from`, as differences. Throws RangeError for malformed ones. */
export const olderVersions = (older: Uint8Array, from: number): Generator<OlderValue> =>
  olderValues(older, from, olderMax)

export function currentRow({ from, content, older }: TrieVersions): Uint8Array {
  const value = takeBytes(contentAt + bodyBytes(content, older))
  for (let at = contentAt - 1, rest = from; at > 0; at--, rest = Math.floor(rest / 256))
    value[at] = rest % 256
  return finishRow(value, contentAt, 0, content, older)
}

export function pastRow({ from, content, older }: TrieVersions, until: number): Uint8Array {
  const value = takeBytes(1 + varintBytes(until - from) + bodyBytes(content, older))
  return finishRow(value, writeVarint(value, until - from, 1), formPast, content, older)
}

function bodyBytes(content: Uint8Array, older: Uint8Array): number {
  return content.length + (older.length === 0 ? 0 : 2 + older.length)
}

function finishRow(
  value: Uint8Array,
  bodyAt: number,
  form: number,
  content: Uint8Array,
  older: Uint8Array,
): Uint8Array {
  const hasOlder = older.length > 0
  value[0] = firstByte(form | (hasOlder ? formOlder : 0), agesSum(older), value, bodyAt)
  let at = bodyAt
  if (hasOlder) {
    value[at++] = content.length >> 8
    value[at++] = content.length & 0xff
  }
  value.set(content, at)
  value.set(older, at + content.length)
  return value
}

const olderBytes = new Uint8Array(rowBytesMax)

/**
 * The earlier versions of a row after block `number` changed it to `content`, valid until the next call. `keyBytes`:
 * length of its key. Returns undefined if there is no room for them beside the content.
 */
export function olderThan(
  content: Uint8Array,
  { from, content: before, older }: TrieVersions,
  number: number,
  keyBytes: number,
): Uint8Array | undefined {
  const difference = differenceOf(before, content)
  if (difference === undefined) return undefined
  return withOlder(olderBytes, number - from, difference, older, rowBytesMax - keyBytes - content.length)
}

/** The row before its last change; undefined if the row does not have that version. */
export function versionBefore({ from, content, older }: TrieVersions): TrieVersions | undefined {
  for (const { since, value: difference, end } of olderVersions(older, from)) {
    const before = contentBefore(content, difference, [0, difference.length])
    return { from: since, content: before, older: older.subarray(end) }
  }
  return undefined
}

/**
 * The row after block `number`, in memory of its own; undefined if the row does not go back that far. It takes as long
 * as reading the row, for any number of versions.
 */
export function rowAfter({ from, content, older }: TrieVersions, number: number): TrieRow | undefined {
  if (from <= number) return decodeTrieRow(new Uint8Array(content))
  const spans = spansBackTo(older, from, number, olderMax)
  return spans && decodeTrieRow(contentBefore(content, older, spans))
}
