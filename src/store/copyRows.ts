/**
 * A new store with the rows of one of version 5, which has addresses where numbers of contracts stand today
 * (contractIds.ts); all else is the same, whatever past was removed. Rows are copied in the order in which they stand, some
 * in each transaction, which notes how far they are: a copy that was cut short goes on there.
 */
import { setImmediate } from 'node:timers/promises'
import type { RootDatabase } from 'lmdb'
import { Packr, unpack } from 'msgpackr'
import { OperatorError } from '../primitives/faults.js'
import { isThere } from '../primitives/isThere.js'
import { NewContractIds } from './contractIds.js'
import { fileKey } from './contractRows.js'
import { closeEnvironment, commitSync, openEnvironment, openTable, type Table } from './environment.js'
import type { Entry, ReadTable } from './readTable.js'
import { type ChainTables, fileTables, metaKeys, openChainTables, schemaVersion } from './tables.js'

/** The version whose rows are copied. */
export const schemaOfAddressKeys = 5

/** Bytes of rows in one transaction: LMDB takes the longer for each, the more pages a transaction changes. */
const bytesPerCommitDefault = 8 * 2 ** 20

/** How far a copy is; in a new store that is not whole. */
interface Copied {
  /** The last transaction of the store that is copied: a later one may have changed any row. */
  readonly transaction: number
  readonly table: string
  /** The last row of that table; without bytes where it has none. */
  readonly key: Uint8Array
}

export interface StoreCopy {
  readonly path: string
  readonly newPath: string
  readonly mapBytes: number
}

const packr = new Packr({ useRecords: false })
const noKey = new Uint8Array(0)

/** Whether a new store was begun as a copy of the store at `path` as it is. */
export async function isCopyBegun({ path, newPath, mapBytes }: StoreCopy): Promise<boolean> {
  if (!isThere(newPath)) return false
  const environments: RootDatabase[] = []
  try {
    const [source, target] = [path, newPath].map((each) => {
      const environment = openEnvironment({ path: each, mapBytes, readOnly: true })
      environments.push(environment)
      return environment
    }) as [RootDatabase, RootDatabase]
    return readCopied(openTable(target, 'meta'))?.transaction === lastTransaction(source)
  } catch (error) {
    if (error instanceof OperatorError) return false
    throw error
  } finally {
    for (const environment of environments) await closeEnvironment(environment)
  }
}

/** Settles when the new store, which is not there or {@link isCopyBegun}, has all rows, on disk. */
export async function copyRows(
  { path, newPath, mapBytes }: StoreCopy,
  onProgress: (what: string, done: number) => void,
  bytesPerCommit = bytesPerCommitDefault,
): Promise<void> {
  const source = openEnvironment({ path, mapBytes, readOnly: true })
  const target = openEnvironment({ path: newPath, mapBytes, readOnly: false })
  try {
    // To open a table ends the transaction of this thread, so all are opened before the first is read.
    const { contracts, meta } = openChainTables(target) as ChainTables
    const metaBefore = openTable(source, 'meta') as Table
    const tables = fileTables.flatMap((name) => {
      const from = openTable(source, name)
      return from === undefined || name === 'meta'
        ? []
        : [{ name, from, to: openTable(target, name) as Table }]
    })
    const ids = new NewContractIds(contracts)
    const transaction = lastTransaction(source)
    const total = tables.reduce((sum, { from }) => sum + rowCount(from), 0)
    let done = tables.reduce((sum, { to }) => sum + rowCount(to), 0)
    const before = readCopied(meta)
    const first = tables.findIndex(({ name }) => name === before?.table)
    for (const { name, from, to } of tables.slice(Math.max(0, first))) {
      let last = name === before?.table ? before.key : noKey
      for (let isMore = true; isMore; await setImmediate()) {
        isMore = commitSync(target, newPath, () => {
          const rows = rowsAfter(from, last, bytesPerCommit)
          for (const { key, value } of rows) {
            to.putSync(fileKey(name, key, ids), value)
            last = key
            done++
          }
          meta.putSync(metaKeys.copied, packr.pack({ transaction, table: name, key: last } satisfies Copied))
          return rows.length > 0
        })
        onProgress('rows', total === 0 ? 1 : done / total)
      }
    }
    target.resetReadTxn()
    for (const { name, from, to } of tables)
      if (rowCount(from) !== rowCount(to))
        throw new Error(`the new table ${name} has ${rowCount(to)} rows, not ${rowCount(from)}`)
    commitSync(target, newPath, () => {
      for (const { key, value } of metaBefore.getRange()) meta.putSync(key, value)
      const identity = unpack(meta.getBinary(metaKeys.identity) as Uint8Array)
      meta.putSync(metaKeys.identity, packr.pack({ ...identity, schema: schemaVersion }))
      meta.removeSync(metaKeys.copied)
    })
  } finally {
    await closeEnvironment(target)
    await closeEnvironment(source)
  }
}

/** Rows after that of `last`, of so many bytes and one more. */
function rowsAfter(table: Table, last: Uint8Array, bytesMax: number): Entry[] {
  const rows: Entry[] = []
  let bytes = 0
  for (const row of table.getRange(last.length > 0 ? { start: last, exclusiveStart: true } : {})) {
    rows.push(row)
    bytes += row.key.length + row.value.length
    if (bytes >= bytesMax) break
  }
  return rows
}

function readCopied(meta: ReadTable | undefined): Copied | undefined {
  const row = meta?.getBinary(metaKeys.copied)
  return row && (unpack(row) as Copied)
}

function lastTransaction(environment: RootDatabase): number {
  return (environment.getStats() as { readonly lastTxnId: number }).lastTxnId
}

/** Takes no time, unlike lmdb's own count. */
function rowCount(table: Table): number {
  return (table.getStats() as { readonly entryCount: number }).entryCount
}
