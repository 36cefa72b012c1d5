/** Importers into stores of their own, for chains that tests make. */
import { join } from 'node:path'
import { createBlock } from '@ethereumjs/block'
import type { TypedTransaction } from '@ethereumjs/tx'
import type { Test } from 'tap'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter, type ImporterOptions } from '../../../../src/sources/ingest/blocks/importer.js'
import { verifyChain } from '../../../../src/sources/ingest/verify/verifyChain.js'
import {
  type BlockPlan,
  ChainMaker,
  contracts,
  londonConfig,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../../ingest/chainMaker.js'
import { ComparedExecutor } from '../../../library/comparedExecutor.js'
import { differences, dumpStore } from '../../../store/storeDump.js'

type GethGenesis = Parameters<typeof ChainMaker.create>[0]

export const london = () => testGenesis(londonConfig())
export const merged = () => testGenesis(mergedConfig(), { difficulty: '0x0' })
/** A transaction that stores a value, and blocks of such. */
export const write = (slot: bigint, value: bigint) => ({ to: contracts.store, data: storeInput(slot, value) })
export const writes = (tag: bigint, count: number, more: BlockPlan = {}): BlockPlan[] =>
  Array.from({ length: count }, (_, index) => ({
    transactions: [write(BigInt(index), tag), write(tag, BigInt(index) + 1n)],
    ...more,
  }))

let stores = 0

/** A store of the chain's genesis, and an importer into it. */
export async function openImporter(t: Test, maker: ChainMaker, options: ImporterOptions = {}) {
  const path = join(t.testdirName, `${stores++}.mdb`)
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const { identity, blockDiff, schedule } = parseGenesis(maker.genesisText)
  store.initialize(identity, blockDiff)
  const importer = new ChainImporter(store, schedule, {
    executor: new ComparedExecutor(schedule),
    ...options,
  })
  const importRlp = async (rlp: Uint8Array) => importer.importBlock(parseBlock(rlp))
  const importAll = async (blocks: readonly MadeBlock[]) => {
    const outcomes = []
    for (const { rlp } of blocks) outcomes.push((await importRlp(rlp)).outcome)
    await importer.finish()
    return outcomes.join(' ')
  }
  return { store, schedule, importer, importRlp, importAll }
}

export function mustBeSound(t: Test, store: ChainWriter): void {
  t.strictSame(verifyChain(store, { blocks: 100, seed: 1, onProgress: () => undefined }).faults, [])
}

/** A store that imported the winning branch alone must have the same canonical rows. */
export async function mustEqualFresh(
  t: Test,
  maker: ChainMaker,
  store: ChainWriter,
  blocks: readonly MadeBlock[],
) {
  const fresh = await openImporter(t, maker)
  await fresh.importAll(blocks)
  t.strictSame(differences(dumpStore(store), dumpStore(fresh.store)), [])
  mustBeSound(t, store)
}

/** A maker of chains on this genesis, for a test that keeps stores. */
export async function make(t: Test, genesis: GethGenesis) {
  t.testdir()
  return ChainMaker.create(genesis)
}

/** The block with other header fields, and maybe other transactions; nothing else of it changes. */
export function change(
  made: MadeBlock,
  fields: Record<string, unknown>,
  transactions: readonly TypedTransaction[] = made.block.transactions,
): MadeBlock {
  const { header, uncleHeaders, withdrawals } = made.block
  const block = createBlock(
    {
      header: { ...header, ...fields } as never,
      transactions: [...transactions],
      uncleHeaders,
      ...(withdrawals === undefined ? {} : { withdrawals }),
    },
    { common: header.common, skipConsensusFormatValidation: true, freeze: false },
  )
  return { ...made, block, rlp: block.serialize(), hash: block.hash() }
}
