/**
 * A walk over all trie rows, of the head and the past, in stored order. It yields the change of each row by each block.
 * For checks of a whole store; its memory does not grow with the store.
 */
import { addressBytes, equalBytes, readUint64 } from '../../primitives/bytes.js'
import { encodeTrieRow, splitContent, type TrieRow } from './layouts/trieRow.js'
import { contentBefore } from './layouts/trieRowBefore.js'
import { agesSum, decodeVersions, olderVersions, type TrieVersions } from './layouts/trieValues.js'
import type { Entry, ReadTable } from './readTable.js'
import { readTrieChanges, type SideTrieRow, sideTrieRows, type TrieTables } from './trieRows.js'

/** The row of a path before and after a block; in the form of {@link splitContent}. */
export interface TrieTransition {
  /** Owner ‖ path. */
  readonly key: Uint8Array
  /** Bytes of the owner. */
  readonly ownerBytes: number
  /** Number of the block; rows older than the oldest kept block have that block's number. */
  readonly at: number
  readonly before: TrieRow | undefined
  readonly after: TrieRow | undefined
}

/** All rows of the tries of a store. */
export class AllTries {
  readonly #tables: TrieTables<ReadTable>
  readonly #isInRun: (number: number) => boolean

  /** `isInRun`: whether a block is in a run of empty blocks, which change nothing. */
  constructor(tables: TrieTables<ReadTable>, isInRun: (number: number) => boolean) {
    this.#tables = tables
    this.#isInRun = isInRun
  }

  get rowCount(): number {
    return this.#tables.trie.getCount()
  }

  /** Throws RangeError for malformed rows, and for rows that do not follow each other. */
  transitions(oldest: number): Iterable<TrieTransition> {
    return trieTransitions(this.#tables.trie.getRange(), oldest)
  }

  /** Keys of the rows that a canonical block changed. Throws if they are not kept. */
  changesOf(number: number): readonly Uint8Array[] {
    return this.#isInRun(number) ? [] : readTrieChanges(this.#tables.trieChanges, number)
  }

  /** Rows written by blocks that are no longer canonical. */
  sideRows(): Iterable<SideTrieRow> {
    return sideTrieRows(this.#tables.sideTries)
  }
}

function* trieTransitions(rows: Iterable<Entry>, oldest: number): Generator<TrieTransition> {
  let path: TriePath | undefined
  for (const { key, value } of rows) {
    const { ownerBytes, length, until } = partsOf(key)
    const versions = decodeVersions(Uint8Array.from(value), until)
    if (path === undefined || !equalBytes(path.key, key.subarray(0, length))) {
      if (path !== undefined) yield* path.end()
      path = new TriePath(key.slice(0, length), ownerBytes, oldest)
    }
    if (until === undefined) path.current = versions
    else yield* path.add(versions, until)
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

/** The rows of one path: the row of the head, if any, then past rows from the oldest on. */
class TriePath {
  current: TrieVersions | undefined
  #last: { readonly until: number | undefined; readonly row: TrieRow } | undefined

  constructor(
    readonly key: Uint8Array,
    readonly ownerBytes: number,
    readonly oldest: number,
  ) {}

  *add({ from, content, older, ages }: TrieVersions, until: number | undefined): Generator<TrieTransition> {
    const row = splitContent(content)
    if (!equalBytes(encodeTrieRow(row), content) || agesSum(older) !== ages)
      throw this.#fault('is not as it is written')
    const found = [{ from, until, row }]
    let later = content
    for (const { since, until: replaced, value } of olderVersions(older, from)) {
      later = contentBefore(later, value, [0, value.length])
      found.push({ from: since, until: replaced, row: splitContent(later) })
    }
    for (const version of found.reverse()) yield* this.#follow(version)
  }

  *end(): Generator<TrieTransition> {
    if (this.current !== undefined) yield* this.add(this.current, undefined)
    const { until, row } = this.#last ?? {}
    if (until !== undefined) yield this.#transition(until, row, undefined)
  }

  *#follow({
    from,
    until,
    row,
  }: {
    readonly from: number
    readonly until: number | undefined
    readonly row: TrieRow
  }): Generator<TrieTransition> {
    const before = this.#last
    this.#last = { until, row }
    if (until !== undefined && (from >= until || until <= this.oldest))
      throw this.#fault('is of another block')
    const end = before?.until
    const isNext = end === from
    if (end !== undefined && !isNext) {
      // The row was absent for a while.
      if (from < end) throw this.#fault('is of another block')
      yield this.#transition(end, before?.row, undefined)
    }
    yield this.#transition(Math.max(from, this.oldest), isNext ? before?.row : undefined, row)
  }

  #transition(at: number, before: TrieRow | undefined, after: TrieRow | undefined): TrieTransition {
    return { key: this.key, ownerBytes: this.ownerBytes, at, before, after }
  }

  #fault(what: string): RangeError {
    return new RangeError(`the row ${Buffer.from(this.key).toString('hex')} ${what}`)
  }
}
