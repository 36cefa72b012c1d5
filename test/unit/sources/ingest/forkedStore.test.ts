/** The store of a fork: the bases that it had, and what is left of another one. */
import { join } from 'node:path'
import t from 'tap'
import { decodeHeader, encodeHeader, headerHash } from '../../../../src/data/chain/header.js'
import { bytesToHex, equalBytes, type Hash32, toAddress, toHash32 } from '../../../../src/primitives/bytes.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { developGenesis } from '../../../../src/sources/ingest/develop/developGenesis.js'
import { ForkedWriter } from '../../../../src/sources/ingest/develop/forkedStore.js'
import { makeFolder } from '../../../library/folder.js'

const address = toAddress(new Uint8Array(20).fill(7))
const { identity, blockDiff } = parseGenesis(developGenesis({ chainId: 1, addresses: [address], balance: 3 }))

function headerAt(number: number) {
  const header = encodeHeader({ ...decodeHeader(blockDiff.header), number })
  return { number, hash: headerHash(header) as Hash32, header, totalDifficulty: undefined }
}

t.test('the first base and the last 63 others are remembered', async (t) => {
  const store = ForkedWriter.open({ path: join(makeFolder(t), 'fork.mdb'), mapBytes: 2 ** 26 })
  t.teardown(() => store.close())
  const first = headerAt(1_000)
  store.beginAt(identity, first, { hash: bytesToHex(first.hash), chainId: '1' })
  // Up and down, beyond the blocks that BLOCKHASH reads and within them.
  const numbers = Array.from({ length: 70 }, (_, at) => 1_000 + (at % 2 === 0 ? 1 : -1) * (at + 1) * 7)
  for (const number of numbers) {
    const base = headerAt(number)
    store.moveBase(base)
    t.equal(store.base.number, number)
    t.ok(equalBytes(store.head.hash, base.hash))
    t.ok(equalBytes(store.readCanonicalHash(number) ?? new Uint8Array(0), base.hash))
    t.equal(store.readLinkedFrom(), number)
  }
  t.equal(store.firstBase, 1_000)
  t.ok(store.baseAt(1_000))
  t.strictSame(
    numbers.map((number) => store.baseAt(number) !== undefined),
    numbers.map((_, at) => at >= 7),
  )
  store.moveBase(first)
  t.equal(store.firstBase, 1_000, 'it is the base again')
})

t.test('another base has no blocks, changes and settings of the one before', async (t) => {
  const store = ForkedWriter.open({ path: join(makeFolder(t), 'fork.mdb'), mapBytes: 2 ** 26 })
  t.teardown(() => store.close())
  const first = headerAt(10)
  store.beginAt(identity, first, { hash: bytesToHex(first.hash), chainId: '1' })
  const stateRoot = toHash32(new Uint8Array(32).fill(9))
  store.changeByHand({ what: 'a change', stateRoot, accounts: [], slots: [], trie: [] })
  store.writeNextBlock({ interval: 5 })
  t.equal(store.countByHand(10), 1)
  store.moveBase(headerAt(12))
  t.equal(store.readByHand()?.changes, 0)
  t.equal(store.readByHand()?.next, undefined)
  store.moveBase(first)
  t.equal(store.countByHand(10), 0)
  t.equal(store.readRootByHand(first.hash), undefined)
})
