import { AppendedTable } from './appendedTable.js'
import { type PendingRows, PendingTable } from './pendingTable.js'
import type { WriteTable } from './readTable.js'
import type { ChainTables, TableName } from './tables.js'

/** The tables of a chain as their writer has them. */
export type PendingTables = { readonly [name in TableName]: WriteTable & PendingRows }

/**
 * Rows that stay in memory after they are on disk, of a table that every block reads and changes: they take some 15 MB,
 * those of the log index up to 30.
 */
const keptMax = 50_000

export function pendingTables(tables: ChainTables): PendingTables {
  const names = Object.keys(tables) as TableName[]
  const pending = Object.fromEntries(names.map((name) => [name, new PendingTable(tables[name])]))
  return {
    ...(pending as Record<TableName, PendingTable>),
    accounts: new PendingTable(tables.accounts, keptMax),
    slots: new PendingTable(tables.slots, keptMax),
    logs: new PendingTable(tables.logs, keptMax),
    locations: new AppendedTable(tables.locations),
    accountHistory: new AppendedTable(tables.accountHistory),
    slotHistory: new AppendedTable(tables.slotHistory),
    nodes: new AppendedTable(tables.nodes, true),
  }
}
