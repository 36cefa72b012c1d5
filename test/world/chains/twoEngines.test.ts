// @shares
/** Chains imported with both engines, the kernel and @ethereumjs: both must give the same result for each block. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../src/sources/ingest/blocks/chainFile.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { ComparedExecutor } from '../../library/comparedExecutor.js'
import { recordings, withoutRecordings } from '../../service/fixtures.js'

async function importWithBoth(t: Test, genesisPath: string, chainPath: string): Promise<number> {
  const path = join(t.testdir(), 'chain.mdb')
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const { identity, blockDiff, schedule } = parseGenesis(readFileSync(genesisPath, 'utf8'))
  store.initialize(identity, blockDiff)
  const executor = new ComparedExecutor(schedule)
  const importer = new ChainImporter(store, schedule, { executor })
  for await (const { rlp } of readChainFile(chainPath)) await importer.importBlock(parseBlock(rlp))
  await importer.finish()
  return executor.compared
}

t.test('the demo chain', async (t) => {
  const folder = join(packageRoot(), 'data/devnet')
  const compared = await importWithBoth(t, join(folder, 'genesis.json'), join(folder, 'chain.rlp'))
  t.ok(compared > 250, `${compared} blocks`)
})

t.test('the recorded chain', { skip: withoutRecordings }, async (t) => {
  const compared = await importWithBoth(t, join(recordings, 'genesis.json'), join(recordings, 'chain.rlp'))
  t.ok(compared > 30, `${compared} blocks`)
})
