/** Upgrades a store of an earlier version to the layout of tables.ts. The caller must be its only writer. */
import type { RootDatabase } from 'lmdb'
import { Packr, unpack } from 'msgpackr'
import { readUint64 } from '../primitives/bytes.js'
import { OperatorError } from '../primitives/faults.js'
import { type ChainIdentity, kindOf } from './chainRows.js'
import { needsMigration } from './checkSchema.js'
import { closeEnvironment, commitSync, openEnvironment, openTable, type Table } from './environment.js'
import { addToLogIndex } from './logIndex.js'
import { storedBlockRow } from './storedBlock.js'
import {
  type ChainTables,
  metaKeys,
  numberKey,
  openChainTables,
  schemaOldest,
  schemaVersion,
} from './tables.js'

/** Called with the step under way and its progress, from 0 to 1. */
export type OnUpgrade = (what: string, done: number) => void

/** The last version that was made by rewriting the rows of an archive where they are. */
const schemaOfBlockRows = 3
/** The first version with the log index. */
const schemaOfLogIndex = 2

/** Tables of earlier versions, in which a block was four rows under its hash and a fifth under its number. */
const formerTables = ['canonical', 'headers', 'senders', 'totalDifficulties'] as const
type FormerTables = { readonly [name in (typeof formerTables)[number]]: Table }

/**
 * Blocks rewritten in one transaction, which is also the most that an interrupted upgrade must repeat. Its writes
 * wait in memory: 100 MB for logs of blocks with 200 each.
 */
const blocksPerCommit = 4_096

const packr = new Packr({ useRecords: false })

interface Store {
  readonly environment: RootDatabase
  readonly path: string
  readonly tables: ChainTables
}

/**
 * Upgrades a store in place, which takes 0.1 ms per block; does nothing for one that is new, up to date, or of an
 * unknown version. Continues an interrupted upgrade. Throws OperatorError for a damaged store, and for an archive's,
 * which is made anew instead (`tidegate migrate`); StoreError where it cannot be written.
 */
export function upgradeStore(store: Store, onUpgrade: OnUpgrade): void {
  const { environment, path, tables } = store
  const row = tables.meta.getBinary(metaKeys.identity)
  const identity = row && (unpack(row) as StoredIdentity)
  if (identity === undefined || identity.schema < schemaOldest || identity.schema >= schemaVersion) return
  if (kindOf(identity) === 'archive') throw new OperatorError(needsMigration(path))
  upgradeBlockRows(store, onUpgrade)
  // Rows of such stores are read as earlier versions wrote them.
  commitSync(environment, path, () => putIdentity(tables, identity, schemaVersion))
}

/** Brings a store of version 1 or 2 to version 3. */
function upgradeBlockRows(store: Store, onUpgrade: OnUpgrade): void {
  const { environment, path, tables } = store
  const row = tables.meta.getBinary(metaKeys.identity)
  const identity = row && (unpack(row) as StoredIdentity)
  if (identity === undefined || identity.schema < schemaOldest || identity.schema >= schemaOfBlockRows) return
  joinBlockRows(store, onUpgrade)
  if (identity.schema < schemaOfLogIndex) addLogIndex(store, onUpgrade)
  commitSync(environment, path, () => {
    tables.meta.removeSync(metaKeys.logsIndexed)
    putIdentity(tables, identity, schemaOfBlockRows)
  })
}

/** The same for the store at a path, of which the caller is the only writer. */
export async function upgradeFormerRows(
  { path, mapBytes }: { readonly path: string; readonly mapBytes: number },
  onUpgrade: OnUpgrade,
): Promise<void> {
  const environment = openEnvironment({ path, mapBytes, readOnly: false })
  try {
    upgradeBlockRows({ environment, path, tables: openChainTables(environment) as ChainTables }, onUpgrade)
  } finally {
    await closeEnvironment(environment)
  }
}

type StoredIdentity = ChainIdentity & { readonly schema: number }

function putIdentity({ meta }: ChainTables, identity: StoredIdentity, schema: number): void {
  meta.putSync(metaKeys.identity, packr.pack({ ...identity, schema }))
}

/** Joins the rows of each block into one. Rows in the former tables are those still to be done. */
function joinBlockRows({ environment, path, tables }: Store, onUpgrade: OnUpgrade): void {
  const opened = formerTables.map((name) => [name, openTable(environment, name)] as const)
  const former = Object.fromEntries(opened) as unknown as FormerTables
  const total = headOf(tables) + 1
  const joinSome = (table: Table, join: (key: Uint8Array, value: Uint8Array) => void): number | undefined => {
    const rows = [...table.getRange({ limit: blocksPerCommit })]
    if (rows.length === 0) return undefined
    commitSync(environment, path, () => {
      for (const { key, value } of rows) join(key, value)
    })
    return rows.length
  }
  let last = 0
  const joinCanonical = (key: Uint8Array, hash: Uint8Array): void => {
    tables.blocks.putSync(key, takeBlock(path, tables, former, hash))
    tables.numbers.putSync(hash, key)
    former.canonical.removeSync(key)
    last = readUint64(key, 0)
  }
  while (joinSome(former.canonical, joinCanonical)) onUpgrade('blocks', (last + 1) / total)
  const joinSide = (hash: Uint8Array): void => {
    tables.sideBlocks.putSync(hash, takeBlock(path, tables, former, hash))
  }
  while (joinSome(former.headers, joinSide));
  for (const name of formerTables) former[name].dropSync()
}

/** Makes the row of a block and removes its former rows. */
function takeBlock(
  path: string,
  { bodies }: ChainTables,
  { headers, senders, totalDifficulties }: FormerTables,
  hash: Uint8Array,
): Uint8Array {
  const read = (table: Table): Uint8Array => {
    const row = table.getBinary(hash)
    if (row === undefined) {
      const name = Buffer.from(hash).toString('hex')
      throw new OperatorError(
        `the store ${path} is damaged: block 0x${name} is not whole; restore a copy, or make it anew`,
      )
    }
    return row
  }
  const row = storedBlockRow(hash, {
    header: read(headers),
    body: read(bodies),
    senders: read(senders),
    totalDifficulty: read(totalDifficulties),
  })
  for (const table of [headers, senders, totalDifficulties]) table.removeSync(hash)
  return row
}

function addLogIndex({ environment, path, tables }: Store, onUpgrade: OnUpgrade): void {
  const { meta, logs, blocks, receipts } = tables
  const head = headOf(tables)
  const indexed = meta.getBinary(metaKeys.logsIndexed)
  for (let next = indexed === undefined ? 0 : readUint64(indexed, 0) + 1; next <= head; ) {
    const last = Math.min(next + blocksPerCommit - 1, head)
    commitSync(environment, path, () => {
      for (; next <= last; next++) {
        const hash = blocks.getBrief(numberKey(next), 32)
        const row = hash && receipts.getBinary(hash)
        if (row === undefined) {
          throw new OperatorError(
            `the store ${path} is damaged: the receipts of block ${next} are missing; restore a copy, or make it anew`,
          )
        }
        addToLogIndex(logs, row, next)
      }
      meta.putSync(metaKeys.logsIndexed, numberKey(last))
    })
    onUpgrade('index of logs', (last + 1) / (head + 1))
  }
}

/** Number of the head; −1 for a store without blocks. */
function headOf({ meta }: ChainTables): number {
  const row = meta.getBinary(metaKeys.head)
  return row === undefined ? -1 : readUint64(row, 0)
}
