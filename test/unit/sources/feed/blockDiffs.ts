/** Blocks of every kind with the stores before and after them, for tests of bundles. */
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ForkSchedule } from '../../../../src/data/chain/forks.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { hexToBytes } from '../../../../src/primitives/bytes.js'
import { type BlockDiffParts, readBlockDiffParts } from '../../../../src/sources/feed/blockDiffCodec.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { ChainMaker, contracts, storeInput, testAddresses } from '../../../ingest/chainMaker.js'

type GethGenesis = Parameters<typeof ChainMaker.create>[0]

const destination = `0x${'0b'.repeat(20)}`
/** Stores 1 under 1 when it is created, and has one byte of code. */
const creation = hexToBytes('600160015560fe60005360016000f3')

export const plans = [
  { transactions: [{ to: destination, value: 1n }] },
  {
    transactions: [
      { to: contracts.store, data: storeInput(1n, 2n) },
      { from: 1, to: contracts.store, data: storeInput(2n, 3n) },
      { from: 1, to: testAddresses[2]?.toString() ?? '', value: 5n },
      { from: 2, data: creation },
    ],
  },
  { transactions: [{ to: contracts.mortal }, { from: 1, to: contracts.mortal, value: 9n }] },
  {
    transactions: [
      { to: contracts.store, data: storeInput(1n, 0n) },
      { from: 2, data: creation },
    ],
  },
  {},
]

/** A store with the genesis of a chain alone. */
export function newStore(t: Test, genesisText: string): { store: ChainWriter; schedule: ForkSchedule } {
  const { identity, blockDiff, schedule } = parseGenesis(genesisText)
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  return { store, schedule }
}

/** The blocks of {@link plans} on a genesis, executed, and the published parts of each. */
export async function executedChain(t: Test, genesis: GethGenesis) {
  const maker = await ChainMaker.create(genesis)
  const { store, schedule } = newStore(t, maker.genesisText)
  const importer = new ChainImporter(store, schedule)
  for (const { rlp } of await maker.extendBy(maker.genesis, plans))
    await importer.importBlock(parseBlock(rlp))
  const sent = plans.map((_, index) => readBlockDiffParts(store, index + 1) as BlockDiffParts)
  return { genesisText: maker.genesisText, store, schedule, sent }
}
