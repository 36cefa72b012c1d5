/** Runs of empty blocks of a developer chain, in a store of their own: every read, and every form of unwinding. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { nextStep } from '../../../../src/data/chain/chainSteps.js'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import type { EmptyRun } from '../../../../src/data/store/emptyRuns.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { BlockMaker } from '../../../../src/sources/ingest/develop/blockMaker.js'
import { developGenesis } from '../../../../src/sources/ingest/develop/developGenesis.js'
import { makeFolder } from '../../../library/folder.js'
import { mustBeSound } from './importing.js'

const begun = 1_800_000_000

/** A chain whose base fee is the least one, so that a run can begin at any block. */
function openChain(t: Test, timestamp = begun) {
  const text = developGenesis({ chainId: 1337, addresses: [new Uint8Array(20).fill(1)], balance: 1 })
  const genesis = JSON.stringify({
    ...JSON.parse(text),
    timestamp: `0x${timestamp.toString(16)}`,
    baseFeePerGas: '0x7',
  })
  const { identity, blockDiff, schedule } = parseGenesis(genesis)
  const path = join(makeFolder(t), 'chain.mdb')
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 28 })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const maker = new BlockMaker(store, schedule, () => undefined)
  const time = () => Number(maker.head.timestamp)
  const makeOne = () => maker.make(time() + 1)
  const makeRun = (count: number, step: number) => {
    const run = maker.emptyRun(time() + step, step, count)
    if (run === undefined) throw new Error('no run is possible')
    store.appendRun(run)
  }
  return { path, store, maker, makeOne, makeRun }
}

/** Checks blocks against each other, and their content. */
function checkBlocks(t: Test, rows: ChainReader, first: number, last: number, step: number): void {
  const faults: string[] = []
  const expect = (isTrue: boolean, what: string) => {
    if (!isTrue && faults.length < 10) faults.push(what)
  }
  let before = decodeHeader(rows.readHeader(rows.readCanonicalHash(first - 1) as Hash32) as Uint8Array)
  let parentHash = rows.readCanonicalHash(first - 1) as Hash32
  for (let number = first; number <= last; number++) {
    const hash = rows.readCanonicalHash(number) as Hash32
    const rlp = rows.readHeader(hash) as Uint8Array
    const header = decodeHeader(rlp)
    expect(equalBytes(keccak256(rlp), hash), `hash of ${number}`)
    expect(header.number === number, `number of ${number}`)
    expect(equalBytes(header.parentHash, parentHash), `parent of ${number}`)
    expect(equalBytes(header.mixHash, keccak256(parentHash)), `randomness of ${number}`)
    expect(Number(header.timestamp) === Number(before.timestamp) + step, `time of ${number}`)
    expect(equalBytes(header.stateRoot, before.stateRoot), `state of ${number}`)
    expect(rows.isCanonical(number, hash) && rows.hasHeader(hash), `${number} is canonical`)
    expect(bytesToHex(rows.readBody(hash) ?? hash) === '0xc3c0c0c0', `body of ${number}`)
    expect(bytesToHex(rows.readReceipts(hash) ?? hash) === '0xc0', `receipts of ${number}`)
    expect(rows.readTotalDifficulty(hash)?.length === 0, `difficulty of ${number}`)
    before = header
    parentHash = hash
  }
  t.strictSame(faults, [])
  const listed = Array.from(rows.blocksFrom(first, last - first + 1), ({ hash }) => bytesToHex(hash))
  const hashes = Array.from({ length: last - first + 1 }, (_, at) =>
    bytesToHex(rows.readCanonicalHash(first + at) as Hash32),
  )
  t.strictSame(listed, hashes, 'a walk over all blocks finds those of runs')
  const named = hashes.map((hash) => rows.readBlock(Buffer.from(hash.slice(2), 'hex') as never)?.hash)
  t.ok(
    named.every((hash, at) => hash !== undefined && bytesToHex(hash) === hashes[at]),
    'by their hashes',
  )
}

t.test('blocks of a run are read like any others, by other readers too', async (t) => {
  const { path, store, maker, makeOne, makeRun } = openChain(t)
  makeOne()
  // Numbers of one and two bytes, and hashes of several rows.
  const sizes = [1, 2, 130, 1_050]
  for (const [at, size] of sizes.entries()) {
    const { number } = store.head
    makeRun(size, at + 1)
    t.equal(store.head.number, number + size)
    checkBlocks(t, store, number + 1, number + Math.min(size, 130), at + 1)
    checkBlocks(t, store, number + Math.max(1, size - 40), number + size, at + 1)
    t.equal(store.lastOfRun(number + 1), size === 1 ? undefined : number + size - 1)
  }
  const { number } = store.head
  t.equal(number, 1 + 1_183)
  const reader = ChainReader.open({ path })
  t.teardown(() => reader.close())
  checkBlocks(t, reader, number - 9, number, 4)
  t.equal(store.readCanonicalHash(number + 1), undefined)
  t.equal(reader.readHeader(keccak256(new Uint8Array(1))), undefined)
  makeOne()
  makeOne()
  const { parentHash } = maker.head
  t.ok(equalBytes(parentHash, store.readCanonicalHash(number + 1) as Hash32))
  mustBeSound(t, store)
})

t.test('a run of blocks whose time needs more bytes', async (t) => {
  const { store, makeOne, makeRun } = openChain(t)
  makeOne()
  makeRun(300, 2 ** 24)
  checkBlocks(t, store, 130, 301, 2 ** 24)
})

t.test('a chain goes back to a block of a run, and below it', async (t) => {
  const { store, makeOne, makeRun } = openChain(t)
  makeOne()
  makeOne()
  makeRun(1_100, 12)
  makeRun(300, 12)
  makeOne()
  const { number } = store.head
  const hashAt = (at: number) => bytesToHex(store.readCanonicalHash(at) as Hash32)
  const [inSecond, inFirst, second] = [hashAt(1_200), hashAt(1_050), hashAt(2)]
  const left = store.readCanonicalHash(1_060) as Hash32
  t.equal(store.countOwnAbove(2), 3, 'the blocks after runs, and the last one')
  const cursor = store.head

  store.apply(1_200, [])
  t.equal(bytesToHex(store.head.hash), inSecond)
  t.equal(store.readCanonicalHash(1_201), undefined)
  makeOne()
  makeOne()
  t.equal(store.head.number, 1_202)
  checkBlocks(t, store, 1_020, 1_110, 12)
  mustBeSound(t, store)

  const steps = []
  let at = cursor
  for (;;) {
    const step = nextStep(store, at, store.head.number)
    if (step === undefined) break
    steps.push(`${step.kind} ${step.number}`)
    at = step.cursor
  }
  const removed = [`removed ${number}`, `removed ${number - 1}`]
  t.strictSame(steps, [...removed, 'added 1201', 'added 1202'], 'a step over a run leads to its end')

  store.apply(1_050, [])
  t.equal(bytesToHex(store.head.hash), inFirst)
  t.equal(store.readHeader(left), undefined, 'blocks of runs that were left are forgotten')
  store.apply(1_049, [])
  store.apply(2, [])
  t.equal(bytesToHex(store.head.hash), second)
  t.equal(store.lastOfRun(3), undefined)
  makeRun(50, 3)
  makeOne()
  checkBlocks(t, store, 3, 52, 3)
  mustBeSound(t, store)
  store.apply(0, [])
  t.equal(store.head.number, 0)
})

t.test('a step from the genesis leads over runs', async (t) => {
  const { store, makeOne, makeRun } = openChain(t)
  makeOne()
  makeRun(400, 1)
  makeOne()
  const first = { number: 1, hash: store.readCanonicalHash(1) as Hash32 }
  const step = nextStep(store, first, store.head.number)
  t.match(step, { kind: 'added', number: 401 })
  t.match(nextStep(store, (step as NonNullable<typeof step>).cursor, 402), { kind: 'added', number: 402 })
})

t.test('blocks that differ in more than a run can are made one by one', async (t) => {
  const { store, maker, makeOne } = openChain(t)
  makeOne()
  const next = Number(maker.head.timestamp) + 1
  const run = maker.emptyRun(next, 1, 10) as EmptyRun
  t.equal(run.last, store.head.number + 10)
  store.writeNextBlock({ prevRandao: `0x${'11'.repeat(32)}` })
  t.equal(maker.emptyRun(next, 1, 10), undefined, 'randomness of the next block alone')
  store.writeNextBlock({ baseFeePerGas: '0x3b9aca00' })
  t.equal(maker.emptyRun(next, 1, 10), undefined, 'a base fee of the next block alone')
  store.writeNextBlock({ coinbase: `0x${'22'.repeat(20)}` })
  const { header } = maker.emptyRun(next, 1, 10) as EmptyRun
  t.equal(bytesToHex(decodeHeader(header).miner), `0x${'22'.repeat(20)}`, 'a fee recipient stays')
})

t.test('while the base fee falls, each block is stored by itself', async (t) => {
  const { store, maker, makeOne, makeRun } = openChain(t)
  store.writeNextBlock({ baseFeePerGas: '0x64' })
  makeOne()
  store.writeNextBlock(undefined)
  let blocks = 0
  while ((maker.head.baseFeePerGas as bigint) > 8n) {
    const before = maker.head
    makeRun(100, 1)
    t.equal(store.head.number, before.number + 1)
    t.ok((maker.head.baseFeePerGas as bigint) < (before.baseFeePerGas as bigint))
    blocks++
  }
  t.ok(blocks > 5)
  makeRun(100, 1)
  t.equal(store.lastOfRun(store.head.number - 1), store.head.number - 1)
  checkBlocks(t, store, 2, store.head.number, 1)
  mustBeSound(t, store)
})

t.test('a store that removes old state has no runs', async (t) => {
  const history = { state: 100, trie: 100, receipts: Infinity, bodies: Infinity }
  const path = join(makeFolder(t), 'cut.mdb')
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 28, history })
  t.teardown(() => store.close())
  t.equal(store.canHaveRuns, false)
})
