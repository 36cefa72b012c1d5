/**
 * A network whose head moves: the program plays a chain made for it, merged from the genesis on, with the
 * reorganisations of the test. All its heads are known in advance.
 */
import { join } from 'node:path'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { ReplayPlan } from '../../src/sources/ingest/thread/messages.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { writeConfig } from '../service/program.js'
import { type Service, startService } from '../service/service.js'
import {
  type BlockPlan,
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from './chainMaker.js'

/** Once block `after` is the head, `blocks` competing blocks replace the last `back` blocks. */
export interface Reorganisation {
  readonly after: number
  readonly back: number
  readonly blocks: number
}

export interface PlayOptions {
  /** Blocks of the chain file. */
  readonly length: number
  /** Last block imported at full speed. */
  readonly from: number
  readonly intervalMs: number
  /** Sorted by `after`. */
  readonly reorganisations?: readonly Reorganisation[]
}

export interface ReplayOptions extends PlayOptions {
  /** The contents of a branch's blocks; branch 0 is the chain file. By default 0 to 3 transactions with a log each. */
  readonly planOf?: (number: number, branch: number) => BlockPlan
}

/** The members of a block that a replay needs. */
export interface PlayedBlock {
  readonly rlp: Uint8Array
  readonly hash: Uint8Array
  readonly number: number
}

/** The blocks of a replay, however they were made. */
export interface PlayedBlocks<B extends PlayedBlock> {
  readonly genesisText: string
  readonly genesis: B
  /** Blocks of the chain file; index 0 is block 1. */
  readonly blocks: readonly B[]
  /** The blocks of each reorganisation. */
  readonly branches: readonly (readonly B[])[]
}

export interface ReplayedChain<B extends PlayedBlock = MadeBlock> extends PlayedBlocks<B> {
  /** Each head of a replay in order, from block `from` to the last. */
  readonly heads: readonly B[]
  readonly plan: ReplayPlan
  readonly configPath: string
  /** Serves the chain as network `tides` without keys; the next start on the same folder plays it again. */
  start(env?: Readonly<Record<string, string>>): Promise<Service>
}

/** Makes the chain and all files for the program to play it, in a folder of its own. */
export function makeReplayedChain(t: Test, options: ReplayOptions): Promise<ReplayedChain> {
  return makeReplayedChainIn(makeFolder(t), options)
}

/** Like {@link makeReplayedChain}, in an existing folder. */
export async function makeReplayedChainIn(folder: string, options: ReplayOptions): Promise<ReplayedChain> {
  const { length, reorganisations = [], planOf = planOfStores } = options
  const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
  const { genesisText, genesis } = maker
  const blocks = await maker.extendBy(
    genesis,
    Array.from({ length }, (_, index) => planOf(index + 1, 0)),
  )
  const branches: MadeBlock[][] = []
  for (const [index, { after, back, blocks: count }] of reorganisations.entries()) {
    const base = after - back
    const plans = Array.from({ length: count }, (_, i) => planOf(base + 1 + i, index + 1))
    branches.push(await maker.extendBy([genesis, ...blocks][base] as MadeBlock, plans))
  }
  return writeReplay(folder, { genesisText, genesis, blocks, branches }, options)
}

/** Writes all files for the program to play these blocks. */
export function writeReplay<B extends PlayedBlock>(
  folder: string,
  made: PlayedBlocks<B>,
  { length, from, intervalMs, reorganisations = [] }: PlayOptions,
): ReplayedChain<B> {
  const { genesisText, genesis, blocks, branches } = made
  const at = (number: number) => [genesis, ...blocks][number] as B
  const heads = [at(from)]
  for (let number = from + 1; number <= length; number++) {
    heads.push(at(number))
    const index = reorganisations.findIndex(({ after }) => after === number)
    heads.push(...(branches[index] ?? []))
  }
  writeInto(folder, 'genesis.json', genesisText)
  const writeChain = (name: string, part: readonly B[]) =>
    writeInto(folder, name, Buffer.concat(part.map(({ rlp }) => rlp)))
  const plan: ReplayPlan = {
    file: writeChain('chain.rlp', blocks),
    from,
    intervalMs,
    script: reorganisations.map(({ after, back }, index) => ({
      after,
      back,
      file: writeChain(`branch${index}.rlp`, branches[index] as B[]),
    })),
  }
  const configPath = writeConfig(folder, {
    dataDir: 'data',
    networks: [{ name: 'tides', genesis: 'genesis.json', source: { type: 'replay', ...plan } }],
  })
  return {
    ...made,
    heads,
    plan,
    configPath,
    start: (env) => startService(['--config', configPath, '--no-auth'], env),
  }
}

/** Path of the store of {@link ReplayedChain.start}. */
export function replayedStorePath({ configPath }: Pick<ReplayedChain, 'configPath'>): string {
  return join(configPath, '../data/networks/tides/chain.mdb')
}

/** Reorganisations that fit a chain of this length, of up to six blocks each. */
export function reorganisationsOf({
  length,
  from,
}: Pick<PlayOptions, 'length' | 'from'>): fc.Arbitrary<Reorganisation[]> {
  const one = fc.integer({ min: from + 1, max: length }).chain((after) =>
    fc.record({
      after: fc.constant(after),
      back: fc.integer({ min: 1, max: Math.min(6, after - from) }),
      blocks: fc.integer({ min: 1, max: 7 }),
    }),
  )
  return fc
    .uniqueArray(one, { selector: ({ after }) => after, minLength: 1, maxLength: 6 })
    .map((all) => all.sort((a, b) => a.after - b.after))
}

/** Blocks with 0 to 3 transactions with one log each; those of every branch differ. */
function planOfStores(number: number, branch: number): BlockPlan {
  const transactions = Array.from({ length: number % 4 }, (_, index) => ({
    to: contracts.store,
    data: storeInput(BigInt((number + index) % 8), BigInt(branch * 1_000_000 + number * 10 + index)),
  }))
  return { transactions, extraData: Buffer.from(`branch ${branch}`) }
}
