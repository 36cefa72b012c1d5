/**
 * The tries of a chain by owner and path: what a block changes in them, how that is taken back, and reading them after
 * any block that is kept. Owns the keys and versions of rows; trieRow.ts owns what they say of a node.
 *
 *   trie         owner ‖ path → the row as it is at the head: form ‖ block that made it (6 bytes) ‖ content
 *                owner ‖ path ‖ 0 ‖ block → the row as that block found it, where it replaced or removed one: form ‖
 *                blocks for which it had been so (variable) ‖ content, or the difference to what it was made
 *   trieChanges  block → keys of the rows that it changed, in order
 *   sideTries    number ‖ hash of a block that was unwound ‖ owner ‖ path → content after that block; empty for none
 *
 * An owner is 0 for the trie of accounts, 1 ‖ address for that of an account's slots. A path has one byte per nibble,
 * which is 1 more than the nibble. So all that a block changes in one place of a trie, with its past, is in neighbouring
 * rows: the same page, mostly.
 *
 * To read an older state takes one range read per row: from the first change after that block on, until a whole row. There
 * are at most {@link differencesMax} differences before one. Rows that an old block needs are those that later ones
 * replaced, so history is cut by removing what the oldest blocks replaced, and nothing else changes.
 */
import { concatBytes, equalBytes, type Hash32, readUint64, toHash32 } from '../primitives/bytes.js'
import type { Change } from './blockDiff.js'
import type { ReadTable, WriteTable } from './readTable.js'
import { historyKey, keyAfterPrefix, numberKey, undoBlocks } from './tables.js'
import {
  applyDifference,
  decodeTrieRow,
  differenceOf,
  encodeTrieRow,
  splitContent,
  type TrieRow,
  takeBytes,
  unpackRow,
} from './trieRow.js'

export type TrieTables<T extends ReadTable = WriteTable> = {
  readonly [name in 'trie' | 'trieChanges' | 'sideTries']: T
}

/** Owner of the trie of accounts. */
export const accountTrie = Uint8Array.of(0)

/** Owner of the trie of an account's slots. */
export function storageTrie(address: Uint8Array): Uint8Array {
  const owner = new Uint8Array(1 + address.length)
  owner[0] = 1
  owner.set(address, 1)
  return owner
}

/** `path`: a nibble per byte. */
export function trieKey(owner: Uint8Array, path: Uint8Array): Uint8Array {
  const key = new Uint8Array(owner.length + path.length)
  key.set(owner)
  for (let at = 0; at < path.length; at++) key[owner.length + at] = (path[at] as number) + 1
  return key
}

/** Follows the key of a row in those of its past, and is below every nibble. */
const pastMark = 0

function pastPrefix(key: Uint8Array): Uint8Array {
  const prefix = new Uint8Array(key.length + 1)
  prefix.set(key)
  prefix[key.length] = pastMark
  return prefix
}

/**
 * Differences in a row, one after the other, before a whole content. With 7 a proof of any old block of a chain that
 * changes every upper node in each block takes at most twice that of the head, and a change 11 % more bytes than with 15,
 * where it took up to three times.
 */
const differencesMax = 7

/** Most that a row can say of them: a store with more is damaged. */
export const differencesLimit = 15

export const trieForms = { current: 0, whole: 1, difference: 2 } as const
export type TrieForm = (typeof trieForms)[keyof typeof trieForms]

const contentAt = 7
const empty = new Uint8Array(0)

/**
 * The first byte of a row: form ‖ number of differences before it ‖ two bits by which one wrong bit in this byte, or in
 * the block number or age behind it, is found: all that no hash covers.
 */
function firstByte(form: TrieForm, differences: number, value: Uint8Array, end: number): number {
  let sum = form | (differences << 2)
  for (let at = 1; at < end; at++) sum ^= value[at] as number
  return form | (differences << 2) | (((sum ^ (sum >> 2) ^ (sum >> 4) ^ (sum >> 6)) & 3) << 6)
}

/** One version of a row, of the past or the head. */
export interface TrieVersion {
  readonly form: TrieForm
  /** Number of differences before it, one after the other. */
  readonly differences: number
  /** Block that made it so. */
  readonly from: number
  /** Content or difference, by its form. */
  readonly bytes: Uint8Array
}

/** `until`: block that replaced it; undefined for a row of the head. Throws RangeError for what is no version. */
export function decodeVersion(value: Uint8Array, until: number | undefined): TrieVersion {
  const form = ((value[0] as number) & 3) as TrieForm
  const differences = ((value[0] as number) >> 2) & 15
  let at = 1
  let from = 0
  if (until === undefined) {
    for (; at < contentAt; at++) from = from * 256 + (value[at] as number)
  } else {
    let age = 0
    for (let scale = 1, more = true; more && scale < 2 ** 49; scale *= 128) {
      const byte = value[at++] as number
      age += (byte & 127) * scale
      more = byte > 127
    }
    from = until - age
  }
  const isRight =
    value.length > at &&
    value[0] === firstByte(form, differences, value, at) &&
    (form === trieForms.current) === (until === undefined) &&
    form <= trieForms.difference
  if (!isRight) throw new RangeError('not a version of a trie row')
  return { form, differences, from, bytes: value.subarray(at) }
}

function currentRow(from: number, differences: number, content: Uint8Array): Uint8Array {
  const value = takeBytes(contentAt + content.length)
  for (let at = contentAt - 1, rest = from; at > 0; at--, rest = Math.floor(rest / 256))
    value[at] = rest % 256
  value[0] = firstByte(trieForms.current, differences, value, contentAt)
  value.set(content, contentAt)
  return value
}

function pastRow(form: TrieForm, differences: number, age: number, bytes: Uint8Array): Uint8Array {
  const digits: number[] = []
  for (let rest = age; ; rest = Math.floor(rest / 128)) {
    digits.push(rest < 128 ? rest : 128 + (rest % 128))
    if (rest < 128) break
  }
  const value = takeBytes(1 + digits.length + bytes.length)
  value.set(digits, 1)
  value[0] = firstByte(form, differences, value, 1 + digits.length)
  value.set(bytes, 1 + digits.length)
  return value
}

/**
 * Writes what block `number` changed: keys in order, each with its new content, empty where the row is removed. Rows that
 * stay as they are are passed over.
 */
export function replaceTries(
  { trie, trieChanges }: TrieTables,
  changes: readonly Change[],
  number: number,
): void {
  const changed: Uint8Array[] = []
  for (const [key, content] of changes) {
    const row = trie.getBinary(key)
    const before = row && decodeVersion(row, undefined)
    if (before === undefined) {
      if (content.length === 0) continue
      trie.putSync(key, currentRow(number, 0, content))
    } else if (content.length === 0) {
      keepPast(trie, key, before, undefined, number)
      trie.removeSync(key)
    } else {
      if (equalBytes(before.bytes, content)) continue
      const difference = before.differences < differencesMax ? differenceOf(before.bytes, content) : undefined
      keepPast(trie, key, before, difference, number)
      trie.putSync(key, currentRow(number, difference === undefined ? 0 : before.differences + 1, content))
    }
    changed.push(key)
  }
  trieChanges.putSync(numberKey(number), encodeKeys(changed))
}

function keepPast(
  trie: WriteTable,
  key: Uint8Array,
  { differences, from, bytes }: TrieVersion,
  difference: Uint8Array | undefined,
  number: number,
): void {
  const form = difference === undefined ? trieForms.whole : trieForms.difference
  const value = pastRow(form, differences, number - from, difference ?? bytes)
  trie.putSync(historyKey(pastPrefix(key), number), value)
}

/** Takes back what block `number` changed, and keeps it under the hash of the block. */
export function restoreTries(tables: TrieTables, number: number, hash: Uint8Array): void {
  const { trie, trieChanges, sideTries } = tables
  const side = sidePrefix(number, hash)
  for (const key of readTrieChanges(trieChanges, number)) {
    const row = trie.getBinary(key)
    const after = row && decodeVersion(row, undefined)
    sideTries.putSync(concatBytes(side, key), after?.bytes ?? empty)
    const pastKey = historyKey(pastPrefix(key), number)
    const past = trie.getBinary(pastKey)
    if (past === undefined) {
      trie.removeSync(key)
      continue
    }
    const before = decodeVersion(past, number)
    trie.putSync(key, currentRow(before.from, before.differences, contentOf(before, after?.bytes)))
    trie.removeSync(pastKey)
  }
  trieChanges.removeSync(numberKey(number))
}

/** Content of a version that `after` followed. */
function contentOf({ form, bytes }: TrieVersion, after: Uint8Array | undefined): Uint8Array {
  if (form === trieForms.whole) return bytes
  if (after === undefined) throw new RangeError('a difference to a trie row that is not there')
  const row = splitContent(after)
  applyDifference(row.children, bytes)
  return encodeTrieRow(row)
}

/** The row of the head; with `number` as it was after that block. Undefined where there was none. */
export function readTrieRow(trie: ReadTable, key: Uint8Array, number?: number): TrieRow | undefined {
  const row = trie.getBinary(key)
  const current = row && decodeVersion(row, undefined)
  if (number === undefined || (current !== undefined && current.from <= number)) {
    return current && decodeTrieRow(current.bytes)
  }
  const later: Uint8Array[] = []
  let whole = current?.bytes
  for (const { until, version } of pastVersions(trie, key, number + 1)) {
    // It was made anew since.
    if (later.length === 0 && version.from > number) return undefined
    if (version.form === trieForms.whole) {
      whole = version.bytes
      break
    }
    if (later.length === differencesLimit)
      throw new RangeError(`a trie row has too many differences before block ${until}`)
    later.push(version.bytes)
  }
  if (whole === undefined || (later.length === 0 && whole === current?.bytes)) return undefined
  const content = splitContent(whole)
  while (later.length > 0) applyDifference(content.children, later.pop() as Uint8Array)
  return unpackRow(content)
}

/** What was replaced in a row from block `first` on, oldest first. */
function* pastVersions(
  trie: ReadTable,
  key: Uint8Array,
  first: number,
): Generator<{ readonly until: number; readonly version: TrieVersion }> {
  const prefix = pastPrefix(key)
  const end = keyAfterPrefix(prefix) as Uint8Array
  for (const row of trie.getRange({ start: historyKey(prefix, first), end })) {
    const until = readUint64(row.key, prefix.length)
    yield { until, version: decodeVersion(Uint8Array.from(row.value), until) }
  }
}

/** Removes what block `number` replaced; returns how many rows that were. */
export function cutTries({ trie, trieChanges }: TrieTables, number: number): number {
  let removed = 1
  for (const key of readTrieChanges(trieChanges, number)) {
    trie.removeSync(historyKey(pastPrefix(key), number))
    removed++
  }
  trieChanges.removeSync(numberKey(number))
  if (number === 1) trieChanges.removeSync(numberKey(0))
  return removed
}

/** Keys of the rows that a block changed, in order. Throws where they are not kept. */
export function readTrieChanges(trieChanges: ReadTable, number: number): Uint8Array[] {
  const row = trieChanges.getBinary(numberKey(number))
  if (row === undefined) throw new Error(`what block ${number} changed in the tries is missing`)
  return decodeKeys(row)
}

/** Of each key the bytes that it shares with the one before, and how many others, which follow. */
function encodeKeys(keys: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const key of keys) length += key.length + 2
  const row = new Uint8Array(length)
  let used = 0
  let before: Uint8Array = empty
  for (const key of keys) {
    let shared = 0
    while (shared < before.length && shared < key.length && before[shared] === key[shared]) shared++
    row[used++] = shared
    row[used++] = key.length - shared
    row.set(key.subarray(shared), used)
    used += key.length - shared
    before = key
  }
  return row.slice(0, used)
}

function decodeKeys(row: Uint8Array): Uint8Array[] {
  const keys: Uint8Array[] = []
  let before: Uint8Array = empty
  for (let at = 0; at < row.length; ) {
    const [shared, more] = [row[at] as number, row[at + 1] as number]
    at += 2
    if (shared > before.length || at + more > row.length || shared + more === 0)
      throw new RangeError('not a list of trie rows')
    const key = new Uint8Array(shared + more)
    key.set(before.subarray(0, shared))
    key.set(row.subarray(at, at + more), shared)
    keys.push(key)
    before = key
    at += more
  }
  return keys
}

function sidePrefix(number: number, hash: Uint8Array): Uint8Array {
  return concatBytes(numberKey(number), hash)
}

/** What a block that was unwound made of a row: null where it removed it, undefined where it did not change it. */
export function readSideRow(
  sideTries: ReadTable,
  { number, hash }: { readonly number: number; readonly hash: Uint8Array },
  key: Uint8Array,
): TrieRow | null | undefined {
  const content = sideTries.getBinary(concatBytes(sidePrefix(number, hash), key))
  if (content === undefined) return undefined
  return content.length === 0 ? null : decodeTrieRow(content)
}

/** Rows of them that one transaction removes: they take some 20 ms. */
const sideRowsPerCut = 4_096

/** Removes some rows of blocks that were unwound long before the head. */
export function cutSideTries({ sideTries }: TrieTables, head: number): void {
  if (head < undoBlocks) return
  const range = { end: numberKey(head - undoBlocks), limit: sideRowsPerCut }
  const keys = Array.from(sideTries.getRange(range), ({ key }) => Uint8Array.from(key))
  for (const key of keys) sideTries.removeSync(key)
}

/** Removes the rows of a block that was unwound and is canonical again. */
export function dropSideTries({ sideTries }: TrieTables, number: number, hash: Uint8Array): void {
  const start = sidePrefix(number, hash)
  const end = keyAfterPrefix(start) as Uint8Array
  const keys = Array.from(sideTries.getRange({ start, end }), ({ key }) => Uint8Array.from(key))
  for (const key of keys) sideTries.removeSync(key)
}

/** A row that a block made which is no longer canonical. */
export interface SideTrieRow {
  readonly number: number
  readonly hash: Hash32
  /** Owner ‖ path. */
  readonly key: Uint8Array
  /** Empty where the block removed it. */
  readonly content: Uint8Array
}

export function* sideTrieRows(sideTries: ReadTable): Generator<SideTrieRow> {
  for (const { key, value } of sideTries.getRange()) {
    const hash = toHash32(key.slice(8, 40))
    yield { number: readUint64(key, 0), hash, key: key.slice(40), content: Uint8Array.from(value) }
  }
}
