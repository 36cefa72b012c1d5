/** Stores of the Amsterdam chains. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../src/sources/ingest/blocks/chainFile.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../src/sources/ingest/blocks/importer.js'
import { makeFolder } from '../library/folder.js'
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

/** A store with only the genesis of a chain. */
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
async function importInto(store: ChainWriter, chain: AmsterdamChain, file: ChainFile, last: number) {
  const importer = new ChainImporter(store, readGenesis(chain).schedule)
  store.beginBatch()
  for await (const { rlp } of readChainFile(amsterdamFile(chain, file))) {
    const { number } = await importer.importBlock(parseBlock(rlp))
    if (number === last) break
  }
  await store.commitBatch()
}

/** Store files imported by this process. They stay until its end. */
const imported = new Map<string, Promise<string>>()

async function importOnce(chain: AmsterdamChain, file: ChainFile, last: number): Promise<string> {
  const { store } = newAmsterdamStore(t, chain)
  await importInto(store, chain, file, last)
  await store.close()
  return store.path
}

/**
 * A store with a chain, imported from one of its files, whole or up to block `last`. A copy, if the same import was
 * done before.
 */
export async function importAmsterdam(
  t: Test,
  chain: AmsterdamChain,
  file: ChainFile,
  last = Number.POSITIVE_INFINITY,
) {
  const blocks = knownBlocks(chain)
  const { schedule } = readGenesis(chain)
  const key = `${chain} ${file} ${last}`
  const importing = imported.get(key) ?? importOnce(chain, file, last)
  imported.set(key, importing)
  const path = join(makeFolder(t), 'chain.mdb')
  copyFileSync(await importing, path)
  return { store: openStore(t, path), schedule, blocks }
}
