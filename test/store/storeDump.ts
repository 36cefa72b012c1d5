/** The content of a store, table by table, for tests that compare two stores or two moments of one. */

import type { ChainReader } from '../../src/data/store/chainReader.js'
import { metaKeys, type ReadTables, type TableName } from '../../src/data/store/tables.js'
import { hexDigits } from '../../src/primitives/bytes.js'

/** Key → value of each table, as hex. */
export type StoreDump = Readonly<Record<TableName, Readonly<Record<string, string>>>>

/** Tables in which a block leaves its rows when it is no longer canonical: data of a hash never changes. */
const addressedByContent: readonly TableName[] = ['sideBlocks', 'bodies', 'receipts', 'sideTries', 'code']

function tablesOf(store: ChainReader): ReadTables {
  return (store as unknown as { tables: ReadTables }).tables
}

/**
 * Without numbers of contracts: each store has its own, and those of blocks that were unwound stay. Without ready answers:
 * which blocks have them depends on the commits that added the blocks.
 */
export function dumpStore(store: ChainReader): StoreDump {
  store.refresh()
  const dump = dumpTables(tablesOf(store))
  const { [hexDigits(metaKeys.ready)]: _, ...meta } = dump.meta
  return { ...dump, contracts: {}, ready: {}, meta }
}

export function dumpTables(tables: ReadTables): StoreDump {
  const dumps = Object.entries(tables).map(([name, table]) => {
    const rows: Record<string, string> = {}
    for (const { key, value } of table.getRange()) rows[hexDigits(key)] = hexDigits(value)
    return [name, rows]
  })
  return Object.fromEntries(dumps) as StoreDump
}

/** Every difference except rows that blocks leave behind, as `table: key`. */
export function differences(got: StoreDump, want: StoreDump): string[] {
  const found: string[] = []
  for (const name of Object.keys(want) as TableName[]) {
    const keys = new Set([...Object.keys(want[name]), ...Object.keys(got[name])])
    for (const key of keys) {
      const mine = got[name][key]
      const other = want[name][key]
      if (mine === other || (other === undefined && addressedByContent.includes(name))) continue
      found.push(`${name}: ${key} is ${mine ?? 'absent'}, not ${other ?? 'absent'}`)
    }
  }
  return found
}
