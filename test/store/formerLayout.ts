/** Stores as earlier versions left them, made of stores of today by writing their rows as those did. */
import { Packr, unpack } from 'msgpackr'
import { concatBytes } from '../../src/primitives/bytes.js'
import { ChainReader } from '../../src/store/chainReader.js'
import { readByContract } from '../../src/store/contractRows.js'
import { datedValue } from '../../src/store/datedValue.js'
import { closeEnvironment, openEnvironment, openTable, type Table } from '../../src/store/environment.js'
import { unpackReceipts } from '../../src/store/packedReceipts.js'
import { fullValue, stateKinds } from '../../src/store/stateRows.js'
import { StoredBlock, transactionHashes } from '../../src/store/storedBlock.js'
import { type ChainTables, historyKey, metaKeys, numberKey, openChainTables } from '../../src/store/tables.js'

const mapBytes = 2 ** 30
const packr = new Packr({ useRecords: false })
const empty = new Uint8Array(0)

type Replaced = { accounts: [Uint8Array, Uint8Array][]; slots: [Uint8Array, Uint8Array][] }

/** Takes a store that keeps all history back to version 3. Tables that version 3 did not have, and nodes, stay as they are. */
export async function takeBackToBlockRows(path: string): Promise<void> {
  const reader = ChainReader.open({ path, mapBytes })
  const head = reader.readHead()?.number ?? 0
  const rows = stateKinds.flatMap((kind) => Array.from(reader.stateRows(kind), (row) => ({ kind, ...row })))
  await reader.close()
  const environment = openEnvironment({ path, mapBytes, readOnly: false })
  const tables = openChainTables(environment) as ChainTables
  const history = {
    accounts: openTable(environment, 'accountHistory') as Table,
    slots: openTable(environment, 'slotHistory') as Table,
  }
  const replaced = Array.from({ length: head + 1 }, (): Replaced => ({ accounts: [], slots: [] }))
  environment.transactionSync(() => {
    for (const name of ['accounts', 'slots', 'changes'] as const)
      for (const key of [...tables[name].getKeys()]) tables[name].removeSync(key)
    let key: Uint8Array | undefined
    let before: Uint8Array = empty
    for (const { kind, key: own, since, value: stored } of rows) {
      const value = stored.length === 0 ? empty : fullValue(kind, stored)
      if (key === undefined || Buffer.compare(key, own) !== 0) before = empty
      key = own
      replaced[since]?.[kind].push([own, before])
      before = value
      history[kind].putSync(historyKey(own, since), value)
      if (value.length === 0) tables[kind].removeSync(own)
      else tables[kind].putSync(own, value)
    }
    for (const [number, each] of replaced.entries()) {
      // Rows of contracts are in the order of their numbers now.
      each.slots.sort(([a], [b]) => Buffer.compare(a, b))
      tables.changes.putSync(numberKey(number), packr.pack(each))
    }
    for (const { key: hash, value } of [...tables.receipts.getRange()])
      tables.receipts.putSync(hash, unpackReceipts(value))
    for (const place of [...tables.locations.getKeys()]) tables.locations.removeSync(place)
    for (const { value } of [...tables.blocks.getRange()]) {
      const { hash, senders } = new StoredBlock(value)
      for (const [index, transaction] of transactionHashes(senders))
        tables.locations.putSync(transaction, concatBytes(hash, numberKey(index)))
    }
    tables.meta.removeSync(metaKeys.stateDigests)
    const identity = unpack(tables.meta.getBinary(metaKeys.identity) as Uint8Array)
    tables.meta.putSync(metaKeys.identity, packr.pack({ ...identity, schema: 3 }))
  })
  await closeEnvironment(environment)
}

/**
 * Takes a store that keeps all history back to version 4. Its rows of tries, which differ from those of today and are not
 * read, are replaced by some that nobody understands.
 */
export async function takeBackToTrieRows(path: string): Promise<void> {
  const reader = ChainReader.open({ path, mapBytes })
  const rows = stateKinds.flatMap((kind) => Array.from(reader.stateRows(kind), (row) => ({ kind, ...row })))
  await reader.close()
  const environment = openEnvironment({ path, mapBytes, readOnly: false })
  const tables = openChainTables(environment) as ChainTables
  environment.transactionSync(() => {
    for (const name of stateKinds) for (const key of [...tables[name].getKeys()]) tables[name].removeSync(key)
    for (const { kind, key, since, value, isLatest } of rows) {
      if (isLatest) tables[kind].putSync(key, datedValue(since, value))
      else tables[kind].putSync(historyKey(key, since), value)
    }
    for (const table of [tables.trie, tables.trieChanges])
      for (const { key } of [...table.getRange()]) table.putSync(key, Uint8Array.of(0xff))
    const identity = unpack(tables.meta.getBinary(metaKeys.identity) as Uint8Array)
    tables.meta.putSync(metaKeys.identity, packr.pack({ ...identity, schema: 4 }))
  })
  await closeEnvironment(environment)
}

/** Takes a store back to version 5, which had addresses in the keys of slots and tries, and no numbers of contracts. */
export async function takeBackToAddressKeys(path: string): Promise<void> {
  const environment = openEnvironment({ path, mapBytes, readOnly: false })
  const tables = openChainTables(environment) as ChainTables
  const named = readByContract(tables)
  environment.transactionSync(() => {
    for (const name of ['slots', 'trie'] as const) {
      const rows = [...named[name].getRange()]
      for (const key of [...tables[name].getKeys()]) tables[name].removeSync(key)
      for (const { key, value } of rows) tables[name].putSync(key, value)
    }
    const identity = unpack(tables.meta.getBinary(metaKeys.identity) as Uint8Array)
    tables.meta.putSync(metaKeys.identity, packr.pack({ ...identity, schema: 5 }))
  })
  tables.contracts.dropSync()
  await closeEnvironment(environment)
}
