/** Tables with numbers of contracts in their keys, against tables with the same rows under the keys that callers see. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ContractIds, idKey } from '../../../../src/data/store/contractIds.js'
import { bufferByContract, readByContract } from '../../../../src/data/store/contractRows.js'
import { commitRowsSync } from '../../../../src/data/store/lmdb/commitRows.js'
import {
  closeEnvironment,
  commitSync,
  openEnvironment,
  openTable,
  type Table,
} from '../../../../src/data/store/lmdb/environment.js'
import { bufferTables, WriteBuffer } from '../../../../src/data/store/lmdb/writeBuffer.js'
import type { Entry, Range, ReadTable, RowBuffer } from '../../../../src/data/store/readTable.js'
import {
  type ChainTables,
  type ContractTableName,
  historyKey,
  keyAfterPrefix,
  openChainTables,
  slotKey,
} from '../../../../src/data/store/tables.js'
import { accountTrie, storageTrie, trieKey } from '../../../../src/data/store/trieRows.js'
import {
  type Address,
  concatBytes,
  type Hash32,
  hexDigits,
  hexToBytes,
} from '../../../../src/primitives/bytes.js'
import { Dice, propertyRuns } from '../../../library/property.js'

const addresses = [
  '00'.repeat(20),
  `${'00'.repeat(19)}01`,
  '7f'.repeat(20),
  `${'ff'.repeat(19)}fe`,
  'ff'.repeat(20),
].map((hex) => hexToBytes(hex) as Address)
const slots = ['00'.repeat(32), `${'00'.repeat(31)}01`, 'ff'.repeat(32)].map(
  (hex) => hexToBytes(hex) as Hash32,
)
const owners = [accountTrie, ...addresses.map(storageTrie)]
const paths = [[], [0], [15], [0, 0], Array<number>(64).fill(15)].map((path) => Uint8Array.from(path))
const names = ['slots', 'slotHistory', 'trie'] as const
const slotKeys = addresses.flatMap((address) => slots.map((slot) => slotKey(address, slot)))
const keysOf: { readonly [name in ContractTableName]: readonly Uint8Array[] } = {
  slots: slotKeys,
  slotHistory: slotKeys.flatMap((key) => [historyKey(key, 1), historyKey(key, 2 ** 40)]),
  trie: owners.flatMap((owner) =>
    paths.flatMap((path) => [
      trieKey(owner, path),
      historyKey(concatBytes(trieKey(owner, path), Uint8Array.of(0)), 3),
    ]),
  ),
}
const ownersOf: { readonly [name in ContractTableName]: readonly Uint8Array[] } = {
  slots: addresses,
  slotHistory: addresses,
  trie: owners,
}

const shown = (value: Uint8Array | undefined) => value && hexDigits(value)
const shownRows = (entries: Iterable<Entry>) =>
  Array.from(entries, ({ key, value }) => `${shown(key)} ${shown(value)}`)

interface Files {
  readonly path: string
  readonly environment: ReturnType<typeof openEnvironment>
  readonly tables: ChainTables
  /** Tables of the same names, with the same rows under the keys of callers. */
  readonly plain: { readonly [name in ContractTableName]: Table }
}

function openFiles(t: Test): Files {
  const path = join(t.testdir(), 'rows.mdb')
  const environment = openEnvironment({ path, readOnly: false, mapBytes: 2 ** 28 })
  t.teardown(() => closeEnvironment(environment))
  const plain = names.map((name) => [
    name,
    openTable(environment, name === 'trie' ? 'plainTrie' : 'plainSlots'),
  ])
  return {
    path,
    environment,
    tables: openChainTables(environment) as ChainTables,
    plain: Object.fromEntries(plain) as Files['plain'],
  }
}

/** A range over the rows of one contract, over all, or from a row on. */
function rangeOf(name: ContractTableName, dice: Dice): Range {
  const limit = dice.throw(2) === 0 ? {} : { limit: dice.throw(4) }
  const keys = keysOf[name]
  const owner = ownersOf[name][dice.throw(ownersOf[name].length)] as Uint8Array
  const own = keys.filter((key) => Buffer.compare(key.subarray(0, owner.length), owner) === 0)
  const [one, other] = [own[dice.throw(own.length)], own[dice.throw(own.length)]] as [Uint8Array, Uint8Array]
  switch (dice.throw(4)) {
    case 0:
      return { start: owner, end: keyAfterPrefix(owner), ...limit }
    case 1:
      return { start: one, end: keyAfterPrefix(dice.throw(2) === 0 ? one : owner), ...limit }
    case 2:
      return { start: one, end: other, reverse: true, ...limit }
    default:
      return { start: one, end: other, ...limit }
  }
}

/** The rows of `all` in the order of their contracts' numbers, from a row on if there is one. */
function inOrder(all: readonly string[], compare: (a: string, b: string) => number, from?: string): string[] {
  const sorted = [...all].sort(compare)
  return from === undefined ? sorted : sorted.filter((row) => compare(row, from) >= 0)
}

function findDifference(
  name: ContractTableName,
  table: ReadTable | RowBuffer,
  plain: ReadTable | RowBuffer,
  dice: Dice,
): string | undefined {
  for (const key of keysOf[name]) {
    const want = shown(plain.getBinary(key))
    const bytesMax = dice.throw(3)
    const got = [
      shown(table.getBinary(key)),
      shown(table.viewUntilNextRead(key)),
      shown(table.getBrief(key)),
      shown(table.getBrief(key, bytesMax)),
      table.doesExist(key),
    ]
    const wanted = [want, want, want, want?.slice(0, 2 * bytesMax), want !== undefined]
    if (JSON.stringify(got) !== JSON.stringify(wanted))
      return `${name} ${shown(key)} is ${got}, not ${wanted}`
  }
  const range = rangeOf(name, dice)
  const found = shownRows(table.getRange(range))
  const wanted = shownRows(plain.getRange(range))
  if (`${found}` !== `${wanted}`) return `${name}: a range has ${found}, not ${wanted}`
  if (table.getCount() !== plain.getCount())
    return `${name}: ${table.getCount()} rows, not ${plain.getCount()}`
  const all = shownRows(table.getRange())
  const allWanted = shownRows(plain.getRange())
  if (`${[...all].sort()}` !== `${[...allWanted].sort()}`) return `${name}: all are ${all}, not ${allWanted}`
  if (!('compare' in table)) return undefined
  const keyIn = (row: string) => hexToBytes(row.split(' ')[0] as string)
  const compare = (a: string, b: string) => table.compare(keyIn(a), keyIn(b))
  if (`${all}` !== `${inOrder(all, compare)}`) return `${name}: ${all} are in another order`
  const from = all[dice.throw(all.length)]
  if (from === undefined) return undefined
  const rest = shownRows(table.getRange({ start: keyIn(from) }))
  return `${rest}` === `${inOrder(all, compare, from)}`
    ? undefined
    : `${name}: from ${from} on there are ${rest}`
}

function runOnce(files: Files, dice: Dice): string | undefined {
  const { path, environment, tables, plain } = files
  commitSync(environment, path, () => {
    for (const table of [tables.contracts, tables.slots, tables.trie, ...Object.values(plain)])
      table.clearSync()
  })
  const buffers = bufferTables(tables)
  const { named, ids } = bufferByContract(buffers)
  const plainBuffers = {
    slots: new WriteBuffer(plain.slots),
    slotHistory: new WriteBuffer(plain.slotHistory),
    trie: new WriteBuffer(plain.trie),
  }
  const waiting = [...Object.values(buffers), ...Object.values(plainBuffers)]
  const commit = () => {
    commitRowsSync(environment, path, waiting)
    for (const buffer of waiting) buffer.flushed()
  }
  const forget = () => {
    for (const buffer of waiting) buffer.forget()
    ids.forget()
  }
  for (let step = 0; step < 30; step++) {
    const kind = dice.throw(16)
    if (kind === 0) commit()
    else if (kind === 1) forget()
    else {
      const name = names[dice.throw(names.length)] as ContractTableName
      const key = (keysOf[name][dice.throw(keysOf[name].length)] as Uint8Array).slice()
      const value = Uint8Array.from(dice.times(dice.throw(4), () => dice.throw(256)))
      for (const buffer of [named[name], plainBuffers[name]]) {
        if (kind < 5) buffer.removeSync(key)
        else buffer.putSync(key, value)
        if (kind === 15) buffer.noteMoved(key, historyKey(key, 9))
      }
      const [moved, wanted] = [named[name].movedFrom(key), plainBuffers[name].movedFrom(key)].map(shown)
      if (moved !== wanted) return `moved to ${moved}, not ${wanted}`
      const [stored, wantedStored] = [named[name].stored(key), plainBuffers[name].stored(key)].map(shown)
      if (stored !== wantedStored) return `stored is ${stored}, not ${wantedStored}`
    }
    for (const name of names) {
      const difference = findDifference(name, named[name], plainBuffers[name], dice)
      if (difference !== undefined) return `step ${step}: ${difference}`
    }
  }
  commit()
  const reader = readByContract(tables)
  for (const name of names) {
    const difference = findDifference(name, reader[name], plain[name], dice)
    if (difference !== undefined) return `as others read it: ${difference}`
  }
  return [...new ContractIds(tables.contracts).faults()][0]
}

t.test('rows read, change, wait and are forgotten as those of plain tables', async (t) => {
  const files = openFiles(t)
  const { numRuns = 1, seed = 0 } = propertyRuns(50)
  for (let run = 0; run < numRuns; run++) {
    const difference = runOnce(files, new Dice(seed + run))
    if (difference !== undefined) return t.fail(`SEED=${seed + run}: ${difference}`)
  }
  t.pass(`${numRuns} runs`)
})

t.test(
  'more contracts than a thread remembers have each their own number, and a reader sees new ones',
  async (t) => {
    const { path, environment, tables } = openFiles(t)
    const buffers = bufferTables(tables)
    const { named } = bufferByContract(buffers)
    const reader = readByContract(tables)
    const addressOf = (index: number) =>
      concatBytes(idKey(index), new Uint8Array(16).fill(index)) as Uint8Array as Address
    const keyOf = (index: number) => slotKey(addressOf(index), slots[1] as Hash32)
    const count = 20_000
    t.equal(reader.slots.getBrief(keyOf(7)), undefined)
    for (let index = 0; index < count; index++) named.slots.putSync(keyOf(index), idKey(index))
    commitRowsSync(environment, path, Object.values(buffers))
    environment.resetReadTxn()
    const wrong: number[] = []
    for (let index = 0; index < count; index++) {
      // Each twice, from the table and as it is remembered.
      for (const value of [reader.slots.getBrief(keyOf(index)), reader.slots.getBrief(keyOf(index))])
        if (shown(value) !== shown(idKey(index))) wrong.push(index)
    }
    t.strictSame(wrong, [])
    t.equal(tables.contracts.getCount(), 2 * count + 1)
    t.strictSame([...new ContractIds(tables.contracts).faults()], [])
  },
)

t.test(
  'a range over some contracts, which have no order, and a number without address are refused',
  async (t) => {
    const { path, environment, tables } = openFiles(t)
    const buffers = bufferTables(tables)
    const { named } = bufferByContract(buffers)
    const [first, , third] = addresses as [Address, Address, Address]
    for (const address of [first, third])
      named.slots.putSync(slotKey(address, slots[0] as Hash32), Uint8Array.of(1))
    commitRowsSync(environment, path, Object.values(buffers))
    const { slots: rows } = readByContract(tables)
    t.throws(() => [...rows.getRange({ end: third })], /several contracts/)
    t.throws(() => [...rows.getRange({ start: first, end: third })], /several contracts/)
    t.throws(() => [...rows.getRange({ start: third, end: first, reverse: true })], /several contracts/)
    commitSync(environment, path, () => tables.contracts.removeSync(idKey(2)))
    t.equal([...rows.getRange({ start: third, end: keyAfterPrefix(third) })].length, 1)
    t.throws(() => [...rows.getRange()], /no contract has the number 2 that rows are of/)
    t.strictSame(
      [...new ContractIds(tables.contracts).faults()],
      [`the row ${'7f'.repeat(20)} has no other that names it`, 'there are 3 rows of 2 numbers'],
    )
  },
)
