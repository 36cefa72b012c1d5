import { renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { BlockDiff } from '../../../../src/data/store/blockDiff.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { concatBytes, toAddress, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'

const mapBytes = 2 ** 26
const identity = { chainId: '1', networkId: '1', genesisHash: '0x00', config: '{}' }
const empty = new Uint8Array(0)
const hashOf = (number: number) => keccak256(Uint8Array.of(number))

function blockDiff(number: number): BlockDiff {
  const parentHash = number === 0 ? toHash32(new Uint8Array(32)) : hashOf(number - 1)
  const rows = {
    header: empty,
    body: empty,
    senders: empty,
    receipts: Uint8Array.of(0xc0),
    totalDifficulty: empty,
  }
  return { number, hash: hashOf(number), parentHash, ...rows, accounts: [], slots: [], trie: [], code: [] }
}

function openStore(t: Test): { path: string; writer: ChainWriter; reader: ChainReader } {
  const path = join(t.testdir(), 'chain.mdb')
  const writer = ChainWriter.openForWriting({ path, mapBytes })
  writer.initialize(identity, blockDiff(0))
  return { path, writer, reader: ChainReader.open({ path, mapBytes }) }
}

const headSeenBy = (reader: ChainReader) => {
  reader.refresh()
  return reader.readHead()?.number
}

t.test('held commits are seen by their writer alone, then by all at once', async (t) => {
  const { writer, reader } = openStore(t)
  writer.beginBatch()
  writer.apply(0, [blockDiff(1)])
  writer.beginBatch()
  writer.apply(1, [blockDiff(2)])
  t.equal(writer.readHead()?.number, 2)
  t.equal(headSeenBy(reader), 0)
  await writer.commitBatch()
  t.equal(headSeenBy(reader), 2)
  writer.apply(2, [blockDiff(3)])
  t.equal(headSeenBy(reader), 3, 'what follows is committed at once again')
  await reader.close()
  await writer.close()
})

t.test('a write that fails ends all that is held, and the store goes on from before it', async (t) => {
  const { writer, reader } = openStore(t)
  writer.beginBatch()
  writer.apply(0, [blockDiff(1)])
  t.throws(() => writer.apply(1, [blockDiff(2), blockDiff(9)]), { message: /does not extend/ })
  await t.rejects(writer.commitBatch(), { message: /does not extend/ })
  t.equal(writer.readHead()?.number, 0)
  t.equal(headSeenBy(reader), 0)
  writer.beginBatch()
  writer.apply(0, [blockDiff(1)])
  await writer.commitBatch()
  t.equal(headSeenBy(reader), 1)
  await reader.close()
  await writer.close()
})

t.test(
  'writes that are made together are one commit; after a fault of their caller those before it stay',
  async (t) => {
    const { writer, reader } = openStore(t)
    const before = writer.commits.count
    writer.writeTogether(() => {
      writer.apply(0, [blockDiff(1)])
      writer.apply(1, [blockDiff(2)])
      t.equal(writer.readHead()?.number, 2)
      t.equal(headSeenBy(reader), 0)
    })
    t.equal(headSeenBy(reader), 2)
    t.equal(writer.commits.count, before + 1)
    t.throws(
      () =>
        writer.writeTogether(() => {
          writer.apply(2, [blockDiff(3)])
          throw new Error('no more')
        }),
      { message: 'no more' },
    )
    t.equal(headSeenBy(reader), 3)
    t.throws(
      () =>
        writer.writeTogether(() => {
          writer.apply(3, [blockDiff(4)])
          writer.apply(4, [blockDiff(9)])
        }),
      { message: /does not extend/ },
    )
    t.equal(headSeenBy(reader), 3, 'after a write that failed none is stored')
    writer.apply(3, [blockDiff(4)])
    t.equal(headSeenBy(reader), 4)
    await reader.close()
    await writer.close()
  },
)

const address = toAddress(new Uint8Array(20).fill(7))
const other = toAddress(new Uint8Array(20).fill(8))
const slot = toHash32(new Uint8Array(32).fill(9))

/** Sets the account and its slot to `value`; zero removes both. */
function changing(number: number, value: number): BlockDiff {
  const row = value === 0 ? empty : Uint8Array.of(value)
  return { ...blockDiff(number), accounts: [[address, row]], slots: [[concatBytes(address, slot), row]] }
}

const headStateOf = (store: ChainReader) => {
  store.refresh()
  return {
    account: store.readAccount(address)?.[0],
    slot: store.readSlot(address, slot)?.[0],
    accounts: [...store.accounts()].map(([, [value]]) => value),
    slots: [...store.slotsOf(address)].map(([, [value]]) => value),
    others: [...store.slotsOf(other)],
  }
}
const stateWith = (value: number) => ({
  account: value,
  slot: value,
  accounts: [value],
  slots: [value],
  others: [],
})
const noState = { account: undefined, slot: undefined, accounts: [], slots: [], others: [] }

t.test(
  'rows of the head that change in every held block are read as they are, and stored at last',
  async (t) => {
    const { writer, reader } = openStore(t)
    writer.beginBatch()
    for (let number = 1; number < 5; number++) writer.apply(number - 1, [changing(number, number)])
    t.strictSame(headStateOf(writer), stateWith(4))
    t.strictSame(headStateOf(reader), noState)
    writer.apply(3, [])
    t.strictSame(headStateOf(writer), stateWith(3), 'an unwound block gives back what it replaced')
    await writer.commitBatch()
    t.strictSame(headStateOf(reader), stateWith(3))
    t.equal(reader.readAccountAt(address, 2)?.[0], 2)
    writer.beginBatch()
    writer.apply(3, [changing(4, 0)])
    t.strictSame(headStateOf(writer), noState)
    await writer.commitBatch()
    t.strictSame(headStateOf(reader), noState)
    writer.apply(4, [changing(5, 9)])
    t.strictSame(headStateOf(reader), stateWith(9), 'without being held, too')
    await reader.close()
    await writer.close()
  },
)

t.test('a number that a contract got in a write that failed is given to the next one', async (t) => {
  for (const isHeld of [false, true]) {
    const { path, writer, reader } = openStore(t)
    if (isHeld) writer.beginBatch()
    // The second block reads the contract numbers that the first one gave.
    const failing = [changing(1, 1), changing(2, 2), changing(9, 9)]
    t.throws(() => writer.apply(0, failing), { message: /does not extend/ })
    if (isHeld) await t.rejects(writer.commitBatch(), { message: /does not extend/ })
    const ofOther: BlockDiff = { ...blockDiff(1), slots: [[concatBytes(other, slot), Uint8Array.of(6)]] }
    writer.apply(0, [ofOther])
    t.equal(writer.readSlot(address, slot), undefined)
    writer.beginBatch()
    writer.apply(1, [changing(2, 2)])
    await writer.abandonDelayed()
    writer.apply(1, [changing(2, 3)])
    await reader.close()
    await writer.close()
    const again = ChainReader.open({ path, mapBytes })
    t.strictSame([again.readSlot(other, slot)?.[0], again.readSlot(address, slot)?.[0]], [6, 3])
    t.strictSame([...again.slots()].length, 2)
    t.strictSame([...again.contractFaults()], [])
    await again.close()
  }
})

t.test('rows of the head are as before after a write that fails, held or not', async (t) => {
  const { writer, reader } = openStore(t)
  writer.apply(0, [changing(1, 1)])
  t.throws(() => writer.apply(1, [changing(2, 2), changing(9, 9)]), { message: /does not extend/ })
  t.strictSame(headStateOf(writer), stateWith(1))
  writer.beginBatch()
  writer.apply(1, [changing(2, 2)])
  t.throws(() => writer.apply(2, [changing(3, 3), changing(9, 9)]), { message: /does not extend/ })
  await t.rejects(writer.commitBatch(), { message: /does not extend/ })
  t.strictSame(headStateOf(writer), stateWith(1))
  writer.apply(1, [changing(2, 5)])
  t.strictSame(headStateOf(reader), stateWith(5))
  await reader.close()
  await writer.close()
})

t.test('the rows that wait are counted', async (t) => {
  const { writer, reader } = openStore(t)
  writer.beginBatch()
  writer.apply(0, [blockDiff(1)])
  const ofOne = writer.uncommittedRows
  t.ok(ofOne > 0)
  writer.apply(1, [blockDiff(2)])
  t.equal(writer.uncommittedRows, 2 * ofOne - 2, 'both change the rows of the head and of the digests')
  await writer.commitBatch()
  writer.beginBatch()
  t.equal(writer.uncommittedRows, 0)
  await reader.close()
  await writer.close()
})

t.test('blocks are applied, and given up, while earlier ones are under way to the disk', async (t) => {
  const { writer, reader } = openStore(t)
  writer.beginBatch()
  writer.apply(0, [changing(1, 1)])
  const first = writer.commitBatch()
  t.throws(() => writer.apply(1, [changing(2, 2)]), { message: /an earlier commit is under way/ })
  writer.beginBatch()
  writer.apply(1, [changing(2, 2)])
  t.strictSame(headStateOf(writer), stateWith(2))
  t.equal(writer.readAccountAt(address, 1)?.[0], 1, 'a range with rows under way and rows that wait')
  await first
  t.strictSame(headStateOf(reader), stateWith(1))
  t.strictSame(headStateOf(writer), stateWith(2), 'what is stored does not hide what is newer')
  const second = writer.commitBatch()
  writer.beginBatch()
  writer.apply(2, [changing(3, 3)])
  await writer.abandonDelayed()
  t.strictSame(headStateOf(reader), stateWith(2), 'the commit before is on disk')
  t.strictSame(headStateOf(writer), stateWith(2))
  await second
  writer.apply(2, [changing(3, 4)])
  t.strictSame(headStateOf(reader), stateWith(4))
  t.equal(writer.commits.count, 4, 'genesis, two that were held, and one that was not')
  await reader.close()
  await writer.close()
})

t.test('a write that fails while earlier ones are under way leaves those alone', async (t) => {
  const { writer, reader } = openStore(t)
  writer.beginBatch()
  writer.apply(0, [changing(1, 1)])
  const first = writer.commitBatch()
  writer.beginBatch()
  t.throws(() => writer.apply(1, [changing(2, 2), changing(9, 9)]), { message: /does not extend/ })
  t.throws(
    () => writer.apply(1, [changing(2, 2)]),
    { message: /does not extend/ },
    'nothing is written after it',
  )
  await t.rejects(writer.commitBatch(), { message: /does not extend/ })
  await first
  t.strictSame(headStateOf(writer), stateWith(1))
  t.strictSame(headStateOf(reader), stateWith(1))
  writer.apply(1, [changing(2, 2)])
  t.strictSame(headStateOf(reader), stateWith(2))
  await reader.close()
  await writer.close()
})

t.test('a commit that fails takes what was held since with it', async (t) => {
  const { writer, reader, path } = openStore(t)
  writer.beginBatch()
  writer.apply(0, [changing(1, 1)])
  // The free space of a missing folder cannot be read.
  renameSync(dirname(path), `${dirname(path)}-away`)
  const refused = writer.commitBatch()
  writer.beginBatch()
  await t.rejects(refused, { code: 'ENOENT' })
  t.throws(() => writer.apply(1, [changing(2, 2)]), { code: 'ENOENT' })
  await t.rejects(writer.commitBatch(), { code: 'ENOENT' })
  renameSync(`${dirname(path)}-away`, dirname(path))
  t.equal(writer.readHead()?.number, 0)
  t.strictSame(headStateOf(writer), noState)
  writer.apply(0, [changing(1, 5)])
  t.strictSame(headStateOf(reader), stateWith(5))
  await reader.close()
  await writer.close()
})

t.test('closing commits what is held', async (t) => {
  const { path, writer, reader } = openStore(t)
  await reader.close()
  writer.beginBatch()
  writer.apply(0, [blockDiff(1)])
  await writer.close()
  const again = ChainReader.open({ path, mapBytes })
  t.equal(again.readHead()?.number, 1)
  await again.close()
})
