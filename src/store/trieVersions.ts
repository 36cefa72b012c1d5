/**
 * A walk over all rows of tries, of the head and the past, in the order in which they stand, as changes: what each block
 * made of each row. For checks of a whole store; memory does not grow with it.
 */
import { equalBytes, readUint64 } from '../primitives/bytes.js'
import type { Entry, ReadTable } from './readTable.js'
import { applyDifference, encodeTrieRow, splitContent, type TrieRow } from './trieRow.js'
import {
  decodeVersion,
  differencesLimit,
  readTrieChanges,
  type SideTrieRow,
  sideTrieRows,
  type TrieTables,
  type TrieVersion,
  trieForms,
} from './trieRows.js'

/** The row of a path as a block found and left it; as {@link splitContent} has them. */
export interface TrieTransition {
  /** Owner ‖ path. */
  readonly key: Uint8Array
  /** Bytes of the owner. */
  readonly ownerBytes: number
  /** The block; of rows from before the oldest that is kept, that one. */
  readonly at: number
  readonly before: TrieRow | undefined
  readonly after: TrieRow | undefined
}

/** All rows of the tries of a store. */
export class AllTries {
  readonly #tables: TrieTables<ReadTable>

  constructor(tables: TrieTables<ReadTable>) {
    this.#tables = tables
  }

  get rowCount(): number {
    return this.#tables.trie.getCount()
  }

  /** Throws RangeError for rows that do not fit each other, and for what is no row. */
  transitions(oldest: number): Iterable<TrieTransition> {
    return trieTransitions(this.#tables.trie.getRange(), oldest)
  }

  /** Keys of the rows that a canonical block changed. Throws where they are not kept. */
  changesOf(number: number): readonly Uint8Array[] {
    return readTrieChanges(this.#tables.trieChanges, number)
  }

  /** Rows that blocks made which are no longer canonical. */
  sideRows(): Iterable<SideTrieRow> {
    return sideTrieRows(this.#tables.sideTries)
  }
}

interface Version extends TrieVersion {
  readonly until: number | undefined
}

const addressBytes = 20

function* trieTransitions(rows: Iterable<Entry>, oldest: number): Generator<TrieTransition> {
  let path: TriePath | undefined
  for (const { key, value } of rows) {
    const { ownerBytes, length, until } = partsOf(key)
    const version = { ...decodeVersion(Uint8Array.from(value), until), until }
    if (path === undefined || !equalBytes(path.key, key.subarray(0, length))) {
      if (path !== undefined) yield* path.end()
      path = new TriePath(key.slice(0, length), ownerBytes, oldest)
    }
    if (until === undefined) path.current = version
    else yield* path.add(version)
  }
  if (path !== undefined) yield* path.end()
}

/** The parts of a key. */
function partsOf(key: Uint8Array): { ownerBytes: number; length: number; until: number | undefined } {
  const ownerBytes = key[0] === 0 ? 1 : key[0] === 1 ? 1 + addressBytes : Number.NaN
  let length = ownerBytes
  while (length < key.length && (key[length] as number) > 0 && (key[length] as number) <= 16) length++
  if (length === key.length) return { ownerBytes, length, until: undefined }
  if (!(ownerBytes <= length) || key[length] !== 0 || key.length !== length + 9)
    throw new RangeError(`no row of a trie has the key ${Buffer.from(key).toString('hex')}`)
  return { ownerBytes, length, until: readUint64(key, length + 1) }
}

/** The rows of one path: that of the head, if there is one, then those of the past from the oldest on. */
class TriePath {
  current: Version | undefined
  /** Differences until a whole content comes. */
  #waiting: Version[] = []
  #last: { readonly version: Version; readonly row: TrieRow } | undefined

  constructor(
    readonly key: Uint8Array,
    readonly ownerBytes: number,
    readonly oldest: number,
  ) {}

  *add(version: Version): Generator<TrieTransition> {
    this.#waiting.push(version)
    if (version.form === trieForms.whole) yield* this.#settle()
    else if (this.#waiting.length > differencesLimit) throw this.#fault('has too many differences in a row')
  }

  *end(): Generator<TrieTransition> {
    if (this.current !== undefined) this.#waiting.push(this.current)
    if (this.#waiting.length > 0 && this.#waiting.at(-1)?.form === trieForms.difference)
      throw this.#fault('differs from a row that is missing')
    yield* this.#settle()
    const { version, row } = this.#last ?? {}
    if (version?.until !== undefined) yield this.#transition(version.until, row, undefined)
  }

  /** Passes on the versions that wait, of which the last is whole. */
  *#settle(): Generator<TrieTransition> {
    const rows: TrieRow[] = []
    for (const { form, bytes } of [...this.#waiting].reverse()) {
      const next = rows.at(-1)
      if (form === trieForms.difference) {
        const row = { ...(next as TrieRow), children: [...(next as TrieRow).children] }
        applyDifference(row.children, bytes)
        rows.push(row)
        continue
      }
      const row = splitContent(bytes)
      if (!equalBytes(encodeTrieRow(row), bytes)) throw this.#fault('is not as it is written')
      rows.push(row)
    }
    for (const version of this.#waiting) yield* this.#follow(version, rows.pop() as TrieRow)
    this.#waiting = []
  }

  *#follow(version: Version, row: TrieRow): Generator<TrieTransition> {
    const { from, until, differences } = version
    const before = this.#last
    this.#last = { version, row }
    if (until !== undefined && (from >= until || until <= this.oldest))
      throw this.#fault('is of another block')
    const end = before?.version.until
    const isNext = end === from
    if (end !== undefined && !isNext) {
      // It was gone for a while.
      if (from < end || before?.version.form !== trieForms.whole) throw this.#fault('is of another block')
      yield this.#transition(end, before.row, undefined)
    }
    const isCounted = before !== undefined || this.oldest === 0 || from > this.oldest
    const counted =
      isNext && before?.version.form === trieForms.difference ? before.version.differences + 1 : 0
    if (isCounted && differences !== counted) throw this.#fault('counts its differences wrongly')
    yield this.#transition(Math.max(from, this.oldest), isNext ? before?.row : undefined, row)
  }

  #transition(at: number, before: TrieRow | undefined, after: TrieRow | undefined): TrieTransition {
    return { key: this.key, ownerBytes: this.ownerBytes, at, before, after }
  }

  #fault(what: string): RangeError {
    return new RangeError(`the row ${Buffer.from(this.key).toString('hex')} ${what}`)
  }
}
