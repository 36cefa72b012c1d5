import { join } from 'node:path'
import t from 'tap'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { verifyChain } from '../../../../src/sources/ingest/verify/verifyChain.js'
import {
  ChainMaker,
  contracts,
  frontierConfig,
  londonConfig,
  mergedConfig,
  mergingConfig,
  storeInput,
  testGenesis,
} from '../../../ingest/chainMaker.js'

const destination = `0x${'0b'.repeat(20)}`
const plans = [
  { transactions: [{ to: destination, value: 1n }] },
  { transactions: [{ to: contracts.store, data: storeInput(1n, 2n) }] },
  {
    transactions: [
      { to: contracts.mortal },
      { from: 1, to: contracts.mortal, value: 9n },
      { from: 2, data: hexToBytes('6005600c60003960056000f3600160015500') },
    ],
  },
  { transactions: [{ to: contracts.store, data: storeInput(1n, 0n) }] },
]

for (const [name, genesis] of Object.entries({
  Frontier: testGenesis(frontierConfig()),
  London: testGenesis(londonConfig()),
  merging: testGenesis(mergingConfig(3)),
  merged: testGenesis(mergedConfig(), { difficulty: '0x0' }),
})) {
  t.test(`a ${name} chain made by other code executes to the same roots`, async (t) => {
    const maker = await ChainMaker.create(genesis)
    const parsed = parseGenesis(maker.genesisText)
    t.equal(parsed.identity.genesisHash, bytesToHex(maker.genesis.hash))
    const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
    t.teardown(() => store.close())
    store.initialize(parsed.identity, parsed.blockDiff)
    const importer = new ChainImporter(store, parsed.schedule)
    for (const made of await maker.extendBy(maker.genesis, plans)) {
      const result = await importer.importBlock(parseBlock(made.rlp))
      t.equal(result.outcome, 'canonical')
    }
    t.equal(store.readHead()?.number, plans.length)
    const report = verifyChain(store, { blocks: 10, seed: 1, onProgress: () => undefined })
    t.strictSame(report.faults, [])
  })
}
