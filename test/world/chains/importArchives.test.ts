import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { EpochTree } from '../../../src/data/ssz/epochTree.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { anyLogKey } from '../../../src/data/store/layouts/logKeys.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../src/primitives/bytes.js'
import { FaultError, OperatorError } from '../../../src/primitives/faults.js'
import { importArchives } from '../../../src/sources/ingest/era/importArchives.js'
import type {
  ArchiveTask,
  ImportedEpoch,
  IngestMessage,
} from '../../../src/sources/ingest/thread/messages.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import {
  archivedConfig,
  type MadeBlock,
  makeBlocks,
  sepoliaArchive,
  withoutSepolia,
  writeArchive,
  writeEre,
} from '../../ingest/eraArchives.js'
import { makeFolder } from '../../library/folder.js'

/** Two epochs and the beginning of a third. */
const chain = makeBlocks(2 * 8_192 + 30)
const epochs = [chain.slice(0, 8_192), chain.slice(8_192, 16_384), chain.slice(16_384)]
const identity = {
  chainId: '1',
  networkId: '1',
  genesisHash: bytesToHex((chain[0] as MadeBlock).hash),
  config: JSON.stringify(archivedConfig),
}

/** Archives of the chain, by epoch. */
function writeEpochs(t: Test, ...wanted: number[]): { folder: string; paths: string[] } {
  const folder = makeFolder(t)
  const paths = wanted.map((epoch) => {
    const path = join(folder, `toy-0000${epoch}-aaaaaaaa.era1`)
    writeArchive(path, epochs[epoch] as MadeBlock[])
    return path
  })
  return { folder, paths }
}

interface Imported {
  readonly epochs: ImportedEpoch[]
  readonly error: Error | undefined
  readonly last: Extract<IngestMessage, { type: 'finished' }> | undefined
}

async function importInto(
  folder: string,
  archives: readonly string[],
  { stopsAfter = Number.POSITIVE_INFINITY, ...more }: Partial<ArchiveTask> & { stopsAfter?: number } = {},
): Promise<Imported> {
  const found: ImportedEpoch[] = []
  let last: Imported['last']
  let turns = 0
  const task = { storePath: join(folder, 'chain.mdb'), mapBytes: 2 ** 30, identity, archives, bytesTotal: 1 }
  try {
    const signal = {
      get aborted() {
        return ++turns > stopsAfter
      },
    } as AbortSignal
    const report = (message: IngestMessage) => {
      if (message.type === 'epoch') found.push(message)
      if (message.type === 'finished') last = message
    }
    await importArchives({ ...task, accumulators: undefined, ...more }, { report, signal })
    return { epochs: found, error: undefined, last }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { epochs: found, error, last }
  }
}

async function withStore<T>(folder: string, look: (store: ChainReader) => T): Promise<T> {
  const store = ChainReader.open({ path: join(folder, 'chain.mdb') })
  try {
    return look(store)
  } finally {
    await store.close()
  }
}

function verify(store: ChainReader) {
  return verifyChain(store, { blocks: 3, seed: 1, onProgress: () => {} })
}

t.test('epochs from the genesis on are stored, linked and verified', async (t) => {
  const { folder, paths } = writeEpochs(t, 0, 1, 2)
  const { epochs: found, error, last } = await importInto(folder, paths)
  t.equal(error, undefined)
  t.match(found, [
    { first: 0, last: 8_191, link: 'genesis', isTrusted: false },
    { first: 8_192, last: 16_383, link: 'previous' },
    { first: 16_384, last: 16_413, link: 'previous' },
  ])
  t.match(last, { stopped: false, progress: { executed: chain.length, known: 0, number: 16_413 } })
  await withStore(folder, (store) => {
    t.equal(store.readHead()?.number, 16_413)
    for (const { number, hash, header, body, receipts } of chain.filter(
      (_, n) => n % 997 === 5 || n % 512 === 15,
    )) {
      t.ok(equalBytes(store.readCanonicalHash(number) as Hash32, hash))
      t.ok(equalBytes(store.readHeader(hash as Hash32) as Uint8Array, header))
      t.ok(equalBytes(store.readBody(hash as Hash32) as Uint8Array, body))
      t.ok(equalBytes(store.readReceipts(hash as Hash32) as Uint8Array, receipts))
    }
    t.equal(store.readLogChunk(anyLogKey, 0)[0], 5)
    t.throws(() => store.readAccount(new Uint8Array(20) as never), FaultError)
    const report = verify(store)
    t.strictSame(report.faults, [])
    t.match(report.epochs, [{ link: 'genesis' }, { first: 8_192 }, { last: 16_413 }])
  })
  const again = await importInto(folder, paths)
  t.match(again, { epochs: [], error: undefined, last: { progress: { executed: 0, known: chain.length } } })
})

t.test('a list of accumulators is trust, and what it lacks is refused', async (t) => {
  const { folder, paths } = writeEpochs(t, 1)
  const root = bytesToHex(new EpochTree(epochs[1] as MadeBlock[]).root)
  const refused = await importInto(folder, paths, { accumulators: [identity.genesisHash] })
  t.match(
    refused.error?.message,
    /accumulator record at byte \d+ is 0x.{64}, which is not in the list of trusted/,
  )
  const { epochs: found } = await importInto(folder, paths, { accumulators: [root] })
  t.match(found, [{ first: 8_192, link: 'none', isTrusted: true }])
  await withStore(folder, (store) => {
    const report = verify(store)
    t.strictSame(report.faults, [])
    t.match(report.epochs, [{ link: 'none', isTrusted: true, first: 8_192 }])
    t.equal(report.blocks, 8_192)
  })
})

t.test('gaps, other chains and other genesis blocks are named', async (t) => {
  const { folder, paths } = writeEpochs(t, 0, 2)
  const gap = await importInto(folder, paths)
  t.match(gap.error?.message, /begins with block 16384, and blocks 8192 to 16383 are missing/)
  t.equal(gap.epochs.length, 1)
  await withStore(folder, (store) => t.equal(store.readHead()?.number, 8_191))
  const genesis = { ...identity, genesisHash: `0x${'11'.repeat(32)}` }
  const wrong = await importInto(makeFolder(t), paths, { identity: genesis })
  t.match(wrong.error?.message, /its block 0 is 0x.{64}, this network's genesis is 0x1111/)
  const stranger = join(folder, 'stranger.era1')
  writeArchive(stranger, makeBlocks(10, 8_192))
  const foreign = await importInto(folder, [stranger])
  t.match(
    foreign.error?.message,
    /stranger.era1: the header record at byte 8 has the parent 0x0{64}, expected 0x/,
  )
  const amid = join(folder, 'amid.era1')
  writeArchive(amid, makeBlocks(10, 100))
  t.match((await importInto(folder, [amid])).error?.message, /begins with block 100, and no epoch does/)
})

t.test('a damaged epoch leaves those before it, and nothing of itself', async (t) => {
  const { folder, paths } = writeEpochs(t, 0, 1)
  const [, second = ''] = paths
  const bytes = readFileSync(second)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 70_000) ^ 1, bytes.length - 70_000)
  writeFileSync(second, bytes)
  const { error, epochs: found } = await importInto(folder, paths)
  t.match(error?.message, /toy-00001-aaaaaaaa.era1: the .+ record at byte \d+ /)
  t.equal(found.length, 1)
  await withStore(folder, (store) => {
    t.equal(store.readHead()?.number, 8_191)
    t.equal(store.readCanonicalHash(8_192), undefined)
    t.strictSame(verify(store).faults, [])
  })
  writeArchive(join(folder, 'whole.era1'), epochs[1] as MadeBlock[])
  t.equal((await importInto(folder, [join(folder, 'whole.era1')])).error, undefined)
  await withStore(folder, (store) => t.strictSame(verify(store).faults, []))
})

t.test('an import that was stopped begins its last epoch again', async (t) => {
  const { folder, paths } = writeEpochs(t, 0, 1)
  const first = await importInto(folder, paths.slice(0, 1))
  t.equal(first.last?.stopped, false)
  const stopped = await importInto(folder, paths.slice(1), { stopsAfter: 1 })
  t.match(stopped, { last: { stopped: true }, epochs: [] })
  await withStore(folder, (store) => t.equal(store.readHead()?.number, 8_191))
  const resumed = await importInto(folder, paths)
  t.match(resumed, { last: { stopped: false, progress: { known: 8_192, executed: 8_192 } } })
  await withStore(folder, (store) => t.strictSame(verify(store).faults, []))
})

t.test('a store without receipts says so, and takes no archive with them', async (t) => {
  const folder = makeFolder(t)
  const part = epochs[2] as MadeBlock[]
  const path = join(folder, 'toy-00002-aaaaaaaa-noreceipts.ere')
  writeEre(path, part, { receipts: false, accumulator: new EpochTree(part).root })
  t.equal((await importInto(folder, [path])).error, undefined)
  const { hash } = part[5] as MadeBlock
  await withStore(folder, (store) => {
    t.throws(() => store.readReceipts(hash as Hash32), { message: 'NoReceipts' })
    t.throws(() => store.readLogChunk(anyLogKey, 0), { message: 'NoReceipts' })
    t.ok(store.readBody(hash as Hash32))
    t.strictSame(verify(store).faults, [])
  })
  const inFull = join(folder, 'more.era1')
  writeArchive(inFull, makeBlocks(8_192, 16_384))
  t.match((await importInto(folder, [inFull])).error?.message, /it has receipts, the store has none/)
})

t.test('8,192 blocks of Sepolia are stored and verified', { skip: withoutSepolia }, async (t) => {
  const folder = makeFolder(t)
  const sepolia = {
    chainId: '11155111',
    networkId: '11155111',
    genesisHash: `0x${'25'.repeat(32)}`,
    config: JSON.stringify({ ...archivedConfig, chainId: 11155111 }),
  }
  const { error, epochs: found } = await importInto(folder, [sepoliaArchive], { identity: sepolia })
  t.equal(error, undefined)
  t.match(found, [{ first: 172_032, last: 180_223, link: 'none' }])
  t.ok(statSync(join(folder, 'chain.mdb')).size > 0)
  await withStore(folder, (store) => {
    const report = verify(store)
    t.strictSame(report.faults, [])
    t.match(report, { blocks: 8_192, transactions: 93 })
  })
})
