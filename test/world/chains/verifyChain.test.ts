// @shares
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { keepsAll } from '../../../src/data/store/keptHistory.js'
import { closeEnvironment, openEnvironment } from '../../../src/data/store/lmdb/environment.js'
import { type ChainTables, openChainTables, type TableName } from '../../../src/data/store/tables.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import {
  ChainMaker,
  contracts,
  londonConfig,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../ingest/chainMaker.js'
import { Dice, propertyRuns, runsFactor, someOf } from '../../library/property.js'
import { dumpTables } from '../../store/storeDump.js'

type GethGenesis = Parameters<typeof ChainMaker.create>[0]

interface MadeStore {
  readonly store: ChainReader
  /** Tables for damaging the store: each change is a transaction. */
  readonly tables: ChainTables
}

async function makeStore(name: string, genesis: GethGenesis, history = keepsAll): Promise<MadeStore> {
  const maker = await ChainMaker.create(genesis)
  const path = join(t.testdirName, `${name}.mdb`)
  const writer = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30, history })
  const { identity, blockDiff, schedule } = parseGenesis(maker.genesisText)
  writer.initialize(identity, blockDiff)
  const importer = new ChainImporter(writer, schedule)
  const uncle = await maker.extend(maker.genesis, { extraData: Uint8Array.of(1) })
  let parent = maker.genesis
  const isMerged = genesis.difficulty === '0x0'
  for (let number = 1; number <= 6; number++) {
    parent = await maker.extend(parent, {
      transactions: [
        ...(number % 2 === 1
          ? [{ to: contracts.store, data: storeInput(BigInt(number % 3), BigInt(number % 4)) }]
          : [{ from: 1, to: `0x${number.toString(16).padStart(2, '0').repeat(20)}`, value: BigInt(number) }]),
        ...(number === 4 ? [{ from: 2, to: contracts.mortal }] : []),
        ...(number === 5
          ? [{ from: 2, data: Buffer.from('6005600c60003960056000f3600160015500', 'hex') }]
          : []),
      ],
      ...(number === 2 && !isMerged ? { uncles: [uncle] } : {}),
      ...(isMerged
        ? {
            withdrawals: [
              { index: number, validatorIndex: 1, address: `0x${'77'.repeat(20)}`, amount: 5 } as never,
            ],
          }
        : {}),
    })
    await importer.importBlock(parseBlock(parent.rlp))
  }
  while (writer.cutHistory());
  await writer.close()
  const environment = openEnvironment({ path, readOnly: false, mapBytes: 2 ** 30 })
  const store = ChainReader.open({ path, mapBytes: 2 ** 30 })
  t.teardown(async () => {
    await store.close()
    await closeEnvironment(environment)
  })
  return { store, tables: openChainTables(environment) as ChainTables }
}

const verify = (store: ChainReader) => verifyChain(store, { blocks: 6, seed: 1, onProgress: () => undefined })

/** At most this many rows of a table are damaged, evenly spread. */
const rowsMax = 3

function some<T>(rows: readonly T[]): T[] {
  const step = Math.max(1, Math.floor(rows.length / rowsMax))
  return rows.filter((_, index) => index % step === 0)
}

const checkedTables: readonly TableName[] = [
  'blocks',
  'numbers',
  'bodies',
  'receipts',
  'locations',
  'trie',
  'trieChanges',
  'code',
  'contracts',
  'accounts',
  'slots',
  'accountHistory',
  'slotHistory',
  'changes',
  'logs',
]

t.testdir()
/** Each test repairs the damage that it makes. */
const work = await makeStore('work', testGenesis(londonConfig()))
const merged = await makeStore('merged', testGenesis(mergedConfig(), { difficulty: '0x0' }))
const cut = await makeStore('cut', testGenesis(londonConfig()), { state: 3, receipts: 2, bodies: 3, trie: 3 })

for (const [name, { store, tables }, { oldest, transactions }] of [
  ['proof of work', work, { oldest: 0, transactions: 8 }],
  ['merged', merged, { oldest: 0, transactions: 8 }],
  ['without its past', cut, { oldest: 3, transactions: 6 }],
] as const) {
  t.test(`${name}: a sound store has no fault, and every kind of row was looked at`, async (t) => {
    const report = verify(store)
    t.strictSame(report.faults, [])
    t.equal(report.blocks, 7)
    t.equal(report.transactions, transactions)
    t.strictSame(report.stateBlocks, [0, 1, 2, 3, 4, 5, 6].slice(oldest))
    const dump = dumpTables(tables)
    for (const table of checkedTables) {
      // No slot of that chain changes twice.
      if (table === 'slotHistory' && name === 'merged') continue
      t.not(Object.keys(dump[table]).length, 0, table)
    }
  })

  t.test(`${name}: every row that is deleted is missed`, async (t) => {
    const dump = dumpTables(tables)
    for (const name of checkedTables) {
      const table = tables[name]
      const unnoticed: string[] = []
      for (const [key, value] of some(Object.entries(dump[name]))) {
        table.removeSync(Buffer.from(key, 'hex'))
        store.refresh()
        if (verify(store).faults.length === 0) unnoticed.push(key)
        table.putSync(Buffer.from(key, 'hex'), Buffer.from(value, 'hex'))
      }
      t.strictSame(unnoticed, [], `${name}: ${Object.keys(dump[name]).length} rows`)
    }
    store.refresh()
    t.strictSame(verify(store).faults, [])
  })

  t.test(`${name}: wrong lengths in the rows of blocks are found`, async (t) => {
    const { blocks } = tables
    const unnoticed: string[] = []
    const rows = some(Object.entries(dumpTables(tables).blocks))
    // One block without its body is enough.
    const lengths = Array.from({ length: 9 * 8 }, (_, at) => 32 * 8 + at)
    for (const [keyHex, valueHex] of oldest > 0 ? rows.slice(0, 1) : rows) {
      const key = Buffer.from(keyHex, 'hex')
      const value = Buffer.from(valueHex, 'hex')
      // Lengths of the body, the header and the total difficulty, after the hash.
      for (const bit of someOf(lengths, 12)) {
        const damaged = Buffer.from(value)
        damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7))
        blocks.putSync(key, damaged)
        store.refresh()
        if (verify(store).faults.length === 0) unnoticed.push(`bit ${bit} of ${keyHex}`)
      }
      blocks.putSync(key, value)
    }
    store.refresh()
    t.strictSame(unnoticed, [])
  })

  t.test(`${name}: a flipped bit is found in whatever row it is`, async (t) => {
    const dump = dumpTables(tables)
    const runs = propertyRuns(rowsMax)
    for (const name of checkedTables) {
      const table = tables[name]
      const rows = Object.entries(dump[name]).filter(([, value]) => value.length > 0)
      if (rows.length === 0) continue
      fc.assert(
        fc.property(fc.constantFrom(...rows), fc.nat(), fc.nat(7), ([keyHex, valueHex], position, bit) => {
          const key = Buffer.from(keyHex, 'hex')
          const value = Buffer.from(valueHex, 'hex')
          // The part of an index row about removed blocks is never read.
          const at = name === 'logs' && oldest > 0 ? 0 : position % value.length
          const damaged = Buffer.from(value)
          damaged[at] = (damaged[at] as number) ^ (1 << bit)
          table.putSync(key, damaged)
          store.refresh()
          try {
            const { faults } = verify(store)
            if (faults.length === 0)
              throw new Error(`${name}: byte ${at} of ${bytesToHex(key)} may be anything`)
          } finally {
            table.putSync(key, value)
          }
        }),
        runs,
      )
      t.pass(name)
    }
    store.refresh()
    t.strictSame(verify(store).faults, [])
  })
}

const flips = 60 * Math.max(1, runsFactor)
t.test(`each of ${flips} flipped bits, in keys and values of all kinds of rows, is found`, async (t) => {
  const { store, tables } = work
  const dump = dumpTables(tables)
  const dice = new Dice(propertyRuns(1).seed as number)
  const unnoticed: string[] = []
  for (let flip = 0; flip < flips; flip++) {
    const name = checkedTables[flip % checkedTables.length] as TableName
    const rows = Object.entries(dump[name])
    const [keyHex = '', valueHex = ''] = rows[dice.throw(rows.length)] ?? []
    const key = Buffer.from(keyHex, 'hex')
    const value = Buffer.from(valueHex, 'hex')
    const damaged = Buffer.concat([key, value])
    const bit = dice.throw(8 * damaged.length)
    damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7))
    const table = tables[name]
    const otherKey = damaged.subarray(0, key.length)
    const hidden = dump[name][otherKey.toString('hex')]
    table.removeSync(key)
    table.putSync(otherKey, damaged.subarray(key.length))
    store.refresh()
    if (verify(store).faults.length === 0) unnoticed.push(`${name}: bit ${bit} of ${keyHex} ${valueHex}`)
    table.removeSync(otherKey)
    if (hidden !== undefined) table.putSync(otherKey, Buffer.from(hidden, 'hex'))
    table.putSync(key, value)
  }
  store.refresh()
  t.strictSame(unnoticed, [])
  t.strictSame(verify(store).faults, [])
})

t.test('rows that belong to no block are found', async (t) => {
  const { store, tables } = work
  const dump = dumpTables(tables)
  for (const name of ['accounts', 'slots', 'accountHistory', 'slotHistory'] as const) {
    const [key = '', value = ''] = Object.entries(dump[name]).at(-1) ?? []
    const stray = Buffer.from(key, 'hex')
    stray[3] = (stray[3] as number) ^ 1
    tables[name].putSync(stray, Buffer.from(value, 'hex'))
    store.refresh()
    t.not(verify(store).faults.length, 0, name)
    tables[name].removeSync(stray)
  }
  const head = Buffer.from(dump.meta[Buffer.from('head').toString('hex')] ?? '', 'hex')
  const wrong = Buffer.from(head)
  wrong[20] = (wrong[20] as number) ^ 1
  tables.meta.putSync(Buffer.from('head'), wrong)
  store.refresh()
  t.not(verify(store).faults.length, 0, 'the head')
  tables.meta.putSync(Buffer.from('head'), head)
  store.refresh()
  t.strictSame(verify(store).faults, [])
})

t.test('a store damaged all over stops after twenty faults', async (t) => {
  const { store, tables } = await makeStore('wrecked', testGenesis(londonConfig()))
  const dump = dumpTables(tables)
  for (const name of ['trie', 'locations', 'changes', 'slots', 'accounts'] as const) {
    for (const key of Object.keys(dump[name])) tables[name].removeSync(Buffer.from(key, 'hex'))
  }
  store.refresh()
  t.equal(verify(store).faults.length, 20)
})
