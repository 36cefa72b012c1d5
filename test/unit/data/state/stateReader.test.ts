/** State is read of the requested block, even if the head moves between two reads of one thread. */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { Chain } from '../../../../src/data/chain/chain.js'
import { buildProofJson } from '../../../../src/data/state/proof.js'
import { StateReader } from '../../../../src/data/state/stateReader.js'
import { triesAfter } from '../../../../src/data/state/tries.js'
import type { BlockDiff } from '../../../../src/data/store/blockDiff.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import {
  type Address,
  concatBytes,
  type Hash32,
  toAddress,
  toHash32,
} from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { LateRows } from '../../../rpc/lateRows.js'
import { demoStorePath } from '../../../store/storedMessages.js'

const mapBytes = 2 ** 30
const address: Address = toAddress(new Uint8Array(20).fill(7))
const slot: Hash32 = toHash32(new Uint8Array(32).fill(9))

function valueAfter(number: number): Uint8Array {
  return Uint8Array.of(1 + number)
}

/** A block that changes the slot. */
function blockDiff(number: number, parentHash: Hash32): BlockDiff {
  const hash = keccak256(concatBytes(parentHash, Uint8Array.of(number)))
  return {
    number,
    hash,
    parentHash,
    header: hash,
    body: hash,
    senders: new Uint8Array(0),
    receipts: Uint8Array.of(0xc0),
    totalDifficulty: Uint8Array.of(1),
    accounts: [],
    trie: [],
    code: [],
    slots: [[concatBytes(address, slot), valueAfter(number)]],
  }
}

t.test('a slot is that of the block asked for while blocks come', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  const writer = ChainWriter.openForWriting({ path, mapBytes })
  const genesis = blockDiff(0, toHash32(new Uint8Array(32)))
  writer.initialize({ chainId: '1', networkId: '1', genesisHash: '0x01', config: '{}' }, genesis)
  const store = ChainReader.open({ path, mapBytes })
  const reader = new StateReader(store)
  const read = (block: BlockDiff) => reader.readSlot(block, address, slot)
  let head = genesis
  t.same(read(head), valueAfter(0))
  for (let number = 1; number <= 40; number++) {
    const parent = head
    head = blockDiff(number, parent.hash)
    writer.beginBatch()
    writer.apply(parent.number, [head])
    await writer.commitBatch()
    // After the pause, this thread either reads a new snapshot or still the earlier one.
    if (number % 2 === 0) await setTimeout(2)
    else store.refresh()
    t.same(read(parent), valueAfter(number - 1))
    t.same(read(head), valueAfter(number))
    t.same(read(genesis), valueAfter(0))
  }
  await store.close()
  await writer.close()
})

t.test('what the head is, is looked for once in a snapshot', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  const writer = ChainWriter.openForWriting({ path, mapBytes })
  const genesis = blockDiff(0, toHash32(new Uint8Array(32)))
  writer.initialize({ chainId: '1', networkId: '1', genesisHash: '0x01', config: '{}' }, genesis)
  let gets = 0
  const store = ChainReader.open({
    path,
    mapBytes,
    guard: (read) => {
      gets++
      return read()
    },
  })
  const reader = new StateReader(store)
  store.refresh()
  gets = 0
  for (let times = 0; times < 10; times++) t.same(reader.readSlot(genesis, address, slot), valueAfter(0))
  t.equal(gets, 11)
  for (let times = 0; times < 10; times++) t.ok(store.isCanonical(0, genesis.hash, times > 0))
  t.equal(gets, 12)
  const next = blockDiff(1, genesis.hash)
  writer.beginBatch()
  writer.apply(0, [next])
  await writer.commitBatch()
  store.refresh()
  // The read begins another snapshot.
  store.readSlot(address, slot)
  t.notOk(store.isHead(genesis.hash, true))
  t.ok(store.isHead(next.hash, true))
  t.ok(store.isCanonical(0, genesis.hash, true))
  await store.close()
  await writer.close()
})

t.test('a proof of one key at the head is made at once, and is that of the pool', async (t) => {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  const reader = new StateReader(store)
  const chain = new Chain(store, { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 })
  const { hash: block, number, header } = chain.head
  const { stateRoot } = header
  const key = (slot: Uint8Array, writtenBytes = 32) => ({ slot: toHash32(slot), writtenBytes })
  const absent = toAddress(new Uint8Array(20).fill(0xee))
  let proofs = 0
  for (const [account] of [...store.accounts(), [absent] as const]) {
    const slots = [...store.slotsOf(account)].slice(0, 5).map(([slot]) => key(slot))
    for (const keys of [[], [key(new Uint8Array(32), 1)], ...slots.map((slot) => [slot])]) {
      const request = { number, block, stateRoot, address: account, keys }
      const own = reader.proveShort(request)
      const pool = buildProofJson(triesAfter(store, { number, hash: block }), request)
      t.equal(own && Buffer.from(own).toString(), Buffer.from(pool).toString())
      proofs++
    }
  }
  t.ok(proofs > 20)
  const request = { number, block, stateRoot, address: absent, keys: [key(new Uint8Array(32))] }
  const two = { ...request, keys: [...request.keys, key(new Uint8Array(32).fill(1))] }
  t.equal(reader.proveShort(two), undefined, 'two keys')
  const parent = chain.readHeader(block)?.parentHash as Hash32
  t.equal(reader.proveShort({ ...request, number: number - 1, block: parent }), undefined, 'another block')
  const late = new LateRows(store)
  t.equal(new StateReader(late).proveShort(request), undefined, 'rows that may not be at hand')
})
