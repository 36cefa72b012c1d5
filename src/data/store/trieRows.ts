/**
 * The tries of a chain by owner and path. Applies the changes of a block, reverts them, and reads tries after any
 * stored block. Owns the keys and versions of rows; trieRow.ts owns their content.
 *
 *   trie         owner ‖ path → the row as it is at the head: form ‖ block that made it (6 bytes) ‖ body
 *                owner ‖ path ‖ 0 ‖ block → the row before that block, if the block removed it, or had no room for it
 *                beside the new one: form ‖ blocks for which it had been so (number) ‖ body
 *   trieChanges  block → keys of the rows that it changed, in order
 *   sideTries    number ‖ hash of a block that was unwound ‖ owner ‖ path → content after that block; empty for none
 *
 * An owner is 0 for the trie of accounts, 1 ‖ address for the trie of an account's slots. In the file, rows of `trie`
 * have the number of the account instead (contractRows.ts). A path has one byte per nibble: the nibble plus 1. So all
 * versions of one place of a trie are in neighbouring rows, mostly on the same page.
 *
 * Older content is in the row of the head as long as there is room. Otherwise all replaced versions move as a whole
 * into one past row, whose content needs no other row. So reading a row after any block takes at most one range read.
 * An old block needs only rows that later blocks replaced. So history is cut by removing the rows that the oldest
 * blocks replaced; no other row changes.
 */
import {
  concatBytes,
  equalBytes,
  type Hash32,
  latin1Key,
  noBytes,
  readUint64,
  toHash32,
} from '../../primitives/bytes.js'
import type { Change } from './blockDiff.js'
import { decodeTrieRow, type TrieRow } from './layouts/trieRow.js'
import {
  currentRow,
  decodeVersions,
  olderThan,
  olderVersions,
  pastRow,
  rowAfter,
  type TrieVersions,
  versionBefore,
} from './layouts/trieValues.js'
import { RowChanges } from './lmdb/writeBuffer.js'
import type { Range, ReadTable, RowBuffer, WriteTable } from './readTable.js'
import { historyKey, keyAfterPrefix, numberKey, undoBlocks } from './tables.js'

export type TrieTables<T extends ReadTable = WriteTable> = {
  readonly [name in 'trie' | 'trieChanges' | 'sideTries']: T
}

type WriterTables = TrieTables & { readonly trie: RowBuffer }

/** Owner of the trie of accounts. */
export const accountTrie = Uint8Array.of(0)

/** Owner of the trie of an account's slots. */
export function storageTrie(address: Uint8Array): Uint8Array {
  const owner = new Uint8Array(1 + address.length)
  owner[0] = 1
  owner.set(address, 1)
  return owner
}

/** Key of a row. `path`: a nibble per byte. */
export function trieKey(owner: Uint8Array, path: Uint8Array): Uint8Array {
  const key = new Uint8Array(owner.length + path.length)
  key.set(owner)
  for (let at = 0; at < path.length; at++) key[owner.length + at] = (path[at] as number) + 1
  return key
}

/** Stands after the path in keys of past rows; it is below every nibble. */
const pathEnd = 0

function pastPrefix(key: Uint8Array): Uint8Array {
  const prefix = new Uint8Array(key.length + 1)
  prefix.set(key)
  prefix[key.length] = pathEnd
  return prefix
}

/**
 * Writes the changes of block `number`: keys in order, each with its new content, empty if the row is removed. Rows
 * whose content does not change are skipped.
 */
export function replaceTries(
  { trie, trieChanges }: WriterTables,
  changes: readonly Change[],
  number: number,
): void {
  const changed: Uint8Array[] = []
  const rows = new RowChanges()
  for (const [key, content] of changes) {
    // The next read may overwrite the view, so everything kept is copied before.
    const row = trie.viewUntilNextRead(key)
    const before = row && decodeVersions(row, undefined)
    const isRemoved = content.length === 0
    if (before === undefined ? isRemoved : equalBytes(before.content, content)) continue
    const older = before && !isRemoved ? olderThan(content, before, number, key.length) : undefined
    // The past row is written before the row that it comes from: in the other order, pages are less full.
    const pastKey = before && older === undefined ? historyKey(pastPrefix(key), number) : undefined
    if (pastKey !== undefined) rows.add(pastKey, pastRow(before as TrieVersions, number))
    rows.add(key, isRemoved ? undefined : currentRow({ from: number, content, older: older ?? noBytes }))
    if (pastKey !== undefined) trie.noteMoved(key, pastKey)
    changed.push(key)
  }
  rows.putInto(trie)
  trieChanges.putSync(numberKey(number), encodeKeys(changed))
}

/** Reverts the changes of block `number`, and keeps them under the hash of the block. */
export function restoreTries(tables: TrieTables, number: number, hash: Uint8Array): void {
  const { trie, trieChanges, sideTries } = tables
  const side = sidePrefix(number, hash)
  for (const key of readTrieChanges(trieChanges, number)) {
    const row = trie.getBinary(key)
    const after = row && decodeVersions(row, undefined)
    sideTries.putSync(concatBytes(side, key), after?.content ?? noBytes)
    const pastKey = historyKey(pastPrefix(key), number)
    const past = trie.getBinary(pastKey)
    if (past !== undefined) {
      trie.putSync(key, currentRow(decodeVersions(past, number)))
      trie.removeSync(pastKey)
      continue
    }
    const before = after && versionBefore(after)
    if (before === undefined) trie.removeSync(key)
    else trie.putSync(key, currentRow(before))
  }
  trieChanges.removeSync(numberKey(number))
}

/** The row at the head, or after block `number`. Undefined if there was none. */
export function readTrieRow(trie: ReadTable, key: Uint8Array, number?: number): TrieRow | undefined {
  // The next read may overwrite the view, so everything kept is copied before.
  const row = trie.viewUntilNextRead(key)
  const current = row && decodeVersions(row, undefined)
  const recent = current && rowAfter(current, number ?? Number.POSITIVE_INFINITY)
  if (recent !== undefined || number === undefined) return recent
  for (const past of trie.getRange(pastRange(key, number + 1)))
    return rowAfter(decodeVersions(past.value, readUint64(past.key, key.length + 1)), number)
  return undefined
}

/** Content of a row at the head, as changes have it; empty if there is none. */
export function contentOf(trie: ReadTable, key: Uint8Array): Uint8Array {
  const row = trie.getBinary(key)
  return row === undefined ? noBytes : decodeVersions(row, undefined).content
}

/** Range of the first past row of a key that was replaced by block `first` or a later one. */
function pastRange(key: Uint8Array, first: number): Range {
  const prefix = pastPrefix(key)
  return { start: historyKey(prefix, first), end: keyAfterPrefix(prefix), limit: 1 }
}

/**
 * Removes versions that blocks from `first` to `last` replaced; all are on disk. Goes on by whole blocks until
 * `rowsMax` rows lost something. Returns the number of blocks and rows. A row that many blocks changed is written only
 * once.
 */
export function cutTries(
  { trie, trieChanges }: WriterTables,
  first: number,
  last: number,
  rowsMax: number,
): { readonly blocks: number; readonly rows: number } {
  /** Rows by key, with the first of these blocks that changed the row. */
  const changed = new Map<string, readonly [key: Uint8Array, number: number]>()
  let next = first
  for (; next <= last && changed.size < rowsMax; next++) {
    for (const key of readTrieChanges(trieChanges, next)) {
      const name = latin1Key(key)
      if (!changed.has(name)) changed.set(name, [key, next])
    }
    trieChanges.removeSync(numberKey(next))
  }
  if (first === 1 && next > first) trieChanges.removeSync(numberKey(0))
  for (const [key, number] of changed.values()) cutKey(trie, key, number, next - 1)
  return { blocks: next - first, rows: changed.size }
}

/** Removes the versions of a row that blocks from `first` to `last` replaced; `first` is the first that did. */
function cutKey(trie: RowBuffer, key: Uint8Array, first: number, last: number): void {
  // Most rows have all of their past beside them; then no range has to be read.
  if (cutRow(trie, key, undefined, last) <= first) return
  const moved = trie.movedFrom(key)
  if (moved !== undefined && cutRow(trie, moved, readUint64(moved, key.length + 1), last) <= first) return
  for (const { key: own, until } of pastRows(trie, key, first, last)) {
    if (until <= last) trie.removeSync(own)
    else cutRow(trie, own, until, last)
  }
}

/** Past rows of a key, on disk, that blocks from `first` to `last` replaced, and the next one. */
function pastRows(
  trie: RowBuffer,
  key: Uint8Array,
  first: number,
  last: number,
): { readonly key: Uint8Array; readonly until: number }[] {
  const rows: { readonly key: Uint8Array; readonly until: number }[] = []
  for (const { key: own } of trie.storedRange({ ...pastRange(key, first), limit: last - first + 2 })) {
    const until = readUint64(own, key.length + 1)
    rows.push({ key: Uint8Array.from(own), until })
    if (until > last) break
  }
  return rows
}

/**
 * Removes the older versions in a row that blocks up to `last` replaced. Returns the block that replaced the oldest
 * version of the row; infinite if there was none.
 */
function cutRow(trie: RowBuffer, own: Uint8Array, until: number | undefined, last: number): number {
  // The next read may overwrite the view, so everything kept is copied before.
  const value = trie.viewUntilNextRead(own)
  if (value === undefined) return Number.POSITIVE_INFINITY
  const row = decodeVersions(value, until)
  let oldest = Number.POSITIVE_INFINITY
  let kept = 0
  for (const version of olderVersions(row.older, row.from)) {
    oldest = version.until
    if (oldest > last) kept = version.end
  }
  if (kept < row.older.length) {
    const left = { ...row, older: row.older.subarray(0, kept) }
    trie.putSync(own, until === undefined ? currentRow(left) : pastRow(left, until))
  }
  return oldest
}

/** Keys of the rows that a block changed, in order. Throws if they are not kept. */
export function readTrieChanges(trieChanges: ReadTable, number: number): Uint8Array[] {
  const row = trieChanges.getBinary(numberKey(number))
  if (row === undefined) throw new Error(`the trie changes of block ${number} are missing`)
  return decodeKeys(row)
}

/** Encodes for each key: how many bytes it shares with the key before, how many others, and these. */
function encodeKeys(keys: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const key of keys) length += key.length + 2
  const row = new Uint8Array(length)
  let used = 0
  let before: Uint8Array = noBytes
  for (const key of keys) {
    let shared = 0
    while (shared < before.length && shared < key.length && before[shared] === key[shared]) shared++
    row[used++] = shared
    row[used++] = key.length - shared
    for (let at = shared; at < key.length; at++) row[used++] = key[at] as number
    before = key
  }
  return row.slice(0, used)
}

function decodeKeys(row: Uint8Array): Uint8Array[] {
  const keys: Uint8Array[] = []
  let before: Uint8Array = noBytes
  for (let at = 0; at < row.length; ) {
    const shared = row[at] as number
    const more = row[at + 1] as number
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

/** The row that an unwound block wrote. Null if the block removed the row, undefined if it did not change the row. */
export function readSideRow(
  sideTries: ReadTable,
  { number, hash }: { readonly number: number; readonly hash: Uint8Array },
  key: Uint8Array,
): TrieRow | null | undefined {
  const content = sideTries.getBinary(concatBytes(sidePrefix(number, hash), key))
  if (content === undefined) return undefined
  return content.length === 0 ? null : decodeTrieRow(content)
}

/** Rows of `sideTries` that one transaction removes: they take some 20 ms. */
const sideRowsPerCut = 4_096

/**
 * Removes some rows of blocks that were unwound long before the head. Returns the hashes of blocks with no rows left.
 */
export function cutSideTries({ sideTries }: TrieTables, head: number): Hash32[] {
  if (head < undoBlocks) return []
  const range = { end: numberKey(head - undoBlocks), limit: sideRowsPerCut }
  const keys = Array.from(sideTries.getRange(range), ({ key }) => Uint8Array.from(key))
  for (const key of keys) sideTries.removeSync(key)
  const hashes = new Map(keys.map((key) => [latin1Key(key.subarray(0, 40)), toHash32(key.slice(8, 40))]))
  // The last block may have more rows.
  if (keys.length === sideRowsPerCut) hashes.delete(latin1Key((keys.at(-1) as Uint8Array).subarray(0, 40)))
  return [...hashes.values()]
}

/** Removes the rows of a block that was unwound and is canonical again. */
export function dropSideTries({ sideTries }: TrieTables, number: number, hash: Uint8Array): void {
  const start = sidePrefix(number, hash)
  const end = keyAfterPrefix(start)
  const keys = Array.from(sideTries.getRange({ start, end }), ({ key }) => Uint8Array.from(key))
  for (const key of keys) sideTries.removeSync(key)
}

/** A row written by a block that is no longer canonical. */
export interface SideTrieRow {
  readonly number: number
  readonly hash: Hash32
  /** Owner ‖ path. */
  readonly key: Uint8Array
  /** Empty if the block removed it. */
  readonly content: Uint8Array
}

export function* sideTrieRows(sideTries: ReadTable): Generator<SideTrieRow> {
  for (const { key, value } of sideTries.getRange()) {
    const hash = toHash32(key.slice(8, 40))
    yield { number: readUint64(key, 0), hash, key: key.slice(40), content: Uint8Array.from(value) }
  }
}
