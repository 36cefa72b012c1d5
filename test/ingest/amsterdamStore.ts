/** Stores of the Amsterdam chains. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import type { PartThread } from '../../src/execution/evm/blocks/executeInParts.js'
import { parseBlock } from '../../src/sources/ingest/block.js'
import { readChainFile } from '../../src/sources/ingest/chainFile.js'
import { parseGenesis } from '../../src/sources/ingest/genesis.js'
import { ChainImporter, type ImporterOptions } from '../../src/sources/ingest/importer.js'
import { makeFolder } from '../library/folder.js'
import { ListExecutor } from '../library/listExecutor.js'
import { type AmsterdamBlock, type AmsterdamChain, amsterdamFile, readAmsterdamBlocks } from './amsterdam.js'

type ChainFile = 'chain.rlp.gz' | 'chain-with-bal.rlp.gz'

function openStore(t: Test, path: string): ChainWriter {
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  return store
}

function readGenesis(chain: AmsterdamChain) {
  return parseGenesis(readFileSync(amsterdamFile(chain, 'genesis.json'), 'utf8'))
}

/** A store with the genesis of a chain alone. */
export function newAmsterdamStore(t: Test, chain: AmsterdamChain) {
  const store = openStore(t, join(makeFolder(t), 'chain.mdb'))
  const genesis = readGenesis(chain)
  store.initialize(genesis.identity, genesis.blockDiff)
  return { store, schedule: genesis.schedule }
}

const blocksOf = new Map<AmsterdamChain, readonly AmsterdamBlock[]>()

/** The blocks of a chain, read once. */
function knownBlocks(chain: AmsterdamChain): readonly AmsterdamBlock[] {
  const blocks = blocksOf.get(chain) ?? readAmsterdamBlocks(chain)
  blocksOf.set(chain, blocks)
  return blocks
}

/** Imports a chain from one of its files, up to a block. */
async function importInto(
  store: ChainWriter,
  chain: AmsterdamChain,
  file: ChainFile,
  last: number,
  options: ImporterOptions,
) {
  const importer = new ChainImporter(store, readGenesis(chain).schedule, options)
  store.beginBatch()
  for await (const { rlp } of readChainFile(amsterdamFile(chain, file))) {
    const { number } = await importer.importBlock(parseBlock(rlp))
    if (number === last) break
  }
  await store.commitBatch()
}

/** Files of stores that were imported in this process. They stay until its end. */
const imported = new Map<string, Promise<string>>()

async function importOnce(
  chain: AmsterdamChain,
  file: ChainFile,
  how: 'executed' | 'by lists',
  last: number,
): Promise<string> {
  const { store, schedule } = newAmsterdamStore(t, chain)
  const executor = how === 'by lists' && new ListExecutor(schedule, knownBlocks(chain))
  await importInto(store, chain, file, last, executor === false ? {} : { executor })
  await store.close()
  return store.path
}

/**
 * A store with a chain, the whole one unless `last` says otherwise, imported from one of its files: executed in order or
 * in parts, or by its lists alone. What was imported in this way before is copied.
 */
export async function importAmsterdam(
  t: Test,
  chain: AmsterdamChain,
  file: ChainFile,
  how: 'executed' | 'by lists' | PartThread = 'by lists',
  last = Number.POSITIVE_INFINITY,
) {
  const blocks = knownBlocks(chain)
  const { schedule } = readGenesis(chain)
  if (typeof how !== 'string') {
    const { store } = newAmsterdamStore(t, chain)
    await importInto(store, chain, file, last, { partThread: how })
    return { store, schedule, blocks }
  }
  const key = `${chain} ${file} ${how} ${last}`
  const importing = imported.get(key) ?? importOnce(chain, file, how, last)
  imported.set(key, importing)
  const path = join(makeFolder(t), 'chain.mdb')
  copyFileSync(await importing, path)
  return { store: openStore(t, path), schedule, blocks }
}
