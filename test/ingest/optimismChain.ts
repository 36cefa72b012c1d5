/**
 * The OP Stack chains of `../shared/chains/op`, made by op-geth; tests that need them are skipped if they are absent.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../src/sources/ingest/blocks/importer.js'
import type { Subjects } from '../feed/replicaAnswers.js'
import { makeFolder } from '../library/folder.js'
import { runProgram } from '../service/program.js'
import { type Service, startService } from '../service/service.js'
import type { AskedBlock } from './amsterdamReplay.js'
import { lastOf, makeCompetingReplay } from './competingReplay.js'
import type { PlayedBlock, PlayOptions, ReplayedChain } from './replayedChain.js'

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
/** For a test's options. */
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

/** Serves a chain as network `optimism`, imported. */
export async function serveOptimism(t: Test, name = 'a', folder = makeFolder(t)): Promise<Service> {
  const network = ['--network', 'optimism', '--data', folder]
  const file = (part: string) => join(optimismFolder, name, part)
  const words = ['import', ...network, '--genesis', file('genesis.json'), file('chain.rlp.gz')]
  const { status, err } = await runProgram(words)
  if (status !== 0) throw new Error(err)
  return startService([...network, '--no-auth'])
}

/** Plays the chain `a`, with competing blocks. */
export function makeOptimismReplay(t: Test, options: PlayOptions): Promise<ReplayedChain<PlayedBlock>> {
  const blocks = optimismBlocks('a').slice(1, lastOf(options) + 1)
  const originals = blocks.map(({ number, rlp, block }) => {
    return { number, rlp: hexToBytes(rlp), hash: hexToBytes(block.hash) }
  })
  return makeCompetingReplay(t, optimismGenesis('a'), originals, options)
}

/** Subjects of questions about a block: the attributes of L1, withdrawals, and accounts that the block touches. */
export function optimismSubjects(_node: Service, { miner, transactions }: AskedBlock): Subjects {
  const attributes = '0x4200000000000000000000000000000000000015'
  const passer = `0x42${'0'.repeat(36)}16`
  const touched = transactions.slice(0, 2).flatMap(({ from, to }) => [from, to ?? []].flat())
  return {
    places: [attributes, passer, miner, ...touched].map((address) => ({ address, slot: '0x3' })),
    // Reads the hash of the L1 block.
    call: { from: miner, to: attributes, data: '0x09bd5a60' },
  }
}
