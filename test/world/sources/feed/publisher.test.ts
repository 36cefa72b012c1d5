/** The publisher beside a statement whose answer was lost, and which the database carried out later. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { encodeBlockDiff, readBlockDiffParts } from '../../../../src/sources/feed/blockDiffCodec.js'
import type { FeedEvent } from '../../../../src/sources/feed/blockDiffLog.js'
import { PostgresLog } from '../../../../src/sources/feed/postgresLog.js'
import { Publisher } from '../../../../src/sources/feed/publisher.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../../src/sources/ingest/blocks/chainFile.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { startPostgres, withoutPostgres } from '../../../feed/postgres.js'
import { makeFolder } from '../../../library/folder.js'
import { until } from '../../../library/until.js'

const devnet = join(packageRoot(), 'data/devnet')
const leaseMs = 600_000

/** A store with the genesis of the demo chain, and a function that imports its next blocks. */
function openChain(t: Test) {
  const { identity, schedule, blockDiff } = parseGenesis(readFileSync(join(devnet, 'genesis.json'), 'utf8'))
  const store = ChainWriter.openForWriting({ path: join(makeFolder(t), 'chain.mdb'), mapBytes: 2 ** 28 })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const importer = new ChainImporter(store, schedule, {})
  const blocks = readChainFile(join(devnet, 'chain.rlp'))[Symbol.asyncIterator]()
  const grow = async (count: number) => {
    store.beginBatch()
    for (let at = 0; at < count; at++) {
      const { value } = await blocks.next()
      await importer.importBlock(parseBlock(value.rlp))
    }
    await store.commitBatch()
  }
  return { store, identity, grow }
}

/** The event that the publisher appends for a block. */
function eventOf(store: ChainWriter, number: number): FeedEvent {
  const parts = readBlockDiffParts(store, number)
  if (parts === undefined) throw new Error('the block is not whole')
  const { parentHash } = decodeHeader(parts.header)
  return { kind: 'block', block: { number, hash: parts.hash }, parentHash, blockDiff: encodeBlockDiff(parts) }
}

t.test(
  'an append that comes in after the tip was read costs no lease',
  { skip: withoutPostgres },
  async (t) => {
    const { url } = await startPostgres(t, {})
    const { store, identity, grow } = openChain(t)
    await grow(2)
    const plan = { url, schema: 'tidegate_late', feedAheadMax: 10, retainBlocks: 1_000, leaseMs }
    const late = await PostgresLog.connect(plan, identity, true)
    t.teardown(() => late.close())
    const epoch = (await late.acquire('publisher', leaseMs)) ?? 0
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    const publisher = new Publisher(
      plan,
      { epoch, holder: 'publisher', tip: await late.readTip() },
      store,
      t.comment,
      stop.signal,
    )
    await until(() => publisher.figures().sequence === 2)
    // Three blocks were committed. The connection was lost while two of them were being sent.
    await grow(3)
    await late.append(epoch, 2, [eventOf(store, 3), eventOf(store, 4)])
    await publisher.committed()
    await until(() => publisher.figures().sequence === 5 || publisher.fenced.aborted)
    t.equal(publisher.fenced.aborted, false)
    await grow(1)
    await publisher.committed()
    await publisher.end()
    const entries = await late.read(0)
    t.strictSame(
      entries.filter(({ kind }) => kind === 'block').map(({ block }) => block.number),
      [1, 2, 3, 4, 5, 6],
      'each block is in the log once',
    )
  },
)
