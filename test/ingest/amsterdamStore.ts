/** Stores of the Amsterdam chains. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { PartThread } from '../../src/evm/blocks/executeInParts.js'
import { parseBlock } from '../../src/ingest/block.js'
import { readChainFile } from '../../src/ingest/chainFile.js'
import { parseGenesis } from '../../src/ingest/genesis.js'
import { ChainImporter } from '../../src/ingest/importer.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { ListExecutor } from '../library/listExecutor.js'
import { makeFolder } from '../service/program.js'
import { type AmsterdamChain, amsterdamFile, readAmsterdamBlocks } from './amsterdam.js'

/** A store with the genesis of a chain alone. */
export function newAmsterdamStore(t: Test, chain: AmsterdamChain) {
  const store = ChainWriter.openForWriting({ path: join(makeFolder(t), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const genesis = parseGenesis(readFileSync(amsterdamFile(chain, 'genesis.json'), 'utf8'))
  store.initialize(genesis.identity, genesis.blockDiff)
  return { store, schedule: genesis.schedule }
}

/**
 * A store with a whole chain, imported from one of its files: executed in order or in parts, or by its lists alone.
 */
export async function importAmsterdam(
  t: Test,
  chain: AmsterdamChain,
  file: 'chain.rlp.gz' | 'chain-with-bal.rlp.gz',
  how: 'executed' | 'by lists' | PartThread = 'by lists',
) {
  const { store, schedule } = newAmsterdamStore(t, chain)
  const blocks = readAmsterdamBlocks(chain)
  const options =
    how === 'executed'
      ? {}
      : how === 'by lists'
        ? { executor: new ListExecutor(schedule, blocks) }
        : { partThread: how }
  const importer = new ChainImporter(store, schedule, options)
  store.beginBatch()
  for await (const { rlp } of readChainFile(amsterdamFile(chain, file)))
    await importer.importBlock(parseBlock(rlp))
  await store.commitBatch()
  return { store, schedule, blocks }
}
