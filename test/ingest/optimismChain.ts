/**
 * The OP Stack chains of `../shared/chains/op`, made by op-geth; tests that need them are skipped if they are absent.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../src/sources/ingest/blocks/importer.js'

export type Json = Record<string, unknown>

/** One block in op-geth's answers. */
export interface OptimismBlock {
  readonly number: number
  readonly block: Json & { readonly hash: string; readonly transactions: readonly Json[] }
  readonly rlp: string
  readonly receipts: readonly Json[]
  readonly rawReceipts: readonly string[]
}

export interface OptimismCall {
  readonly method: string
  readonly params: readonly unknown[]
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export const optimismFolder = join(packageRoot(), '../shared/chains/op')
/** The `skip` option of a test. */
export const skipsOptimism = existsSync(optimismFolder) ? false : `${optimismFolder} is not there`

const read = (name: string, file: string) => readFileSync(join(optimismFolder, name, file))
const lines = <T>(bytes: Uint8Array): T[] =>
  gunzipSync(bytes)
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

export const optimismGenesis = (name: string): string => read(name, 'genesis.json').toString()
/** Blocks from the genesis on. */
export const optimismBlocks = (name: string): OptimismBlock[] => lines(read(name, 'blocks.jsonl.gz'))
export const optimismCalls = (name: string): OptimismCall[] => lines(read(name, 'calls.jsonl.gz'))

/** A store with the genesis of a chain, and the importer of its blocks. */
export function openOptimism(path: string, genesis: string) {
  const { identity, blockDiff, schedule } = parseGenesis(genesis)
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  store.initialize(identity, blockDiff)
  return { store, schedule, importer: new ChainImporter(store, schedule) }
}

/** Imports blocks in one batch. */
export async function importBlocks(
  { store, importer }: ReturnType<typeof openOptimism>,
  blocks: readonly Pick<OptimismBlock, 'rlp'>[],
): Promise<void> {
  store.beginBatch()
  for (const { rlp } of blocks) await importer.importBlock(parseBlock(hexToBytes(rlp)))
  await store.commitBatch()
}
