/**
 * The networks for benchmarks: the demo chain and synthetic ones, identified by their contents. Each is made once and
 * stored outside the repository. Its name contains everything on which it depends, so that a change makes a new one.
 */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { schemaVersion } from '../../src/data/store/tables.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { cores, endWithThisProcess } from '../servers/serverProcess.js'
import { devnetFolder } from './demoFacts.js'
import { syntheticGenesis } from './diffBuilder.js'
import type { ImportChainKind } from './importChains.js'
import { keptFolder, keptPath } from './keptFolders.js'
import { blocksVersion, writeSyntheticBlocks } from './syntheticBlocks.js'
import { logsVersion, writeSyntheticLogs } from './syntheticLogs.js'
import { generatorVersion, type StateSize, writeSyntheticNetwork } from './syntheticState.js'

/** A network ready to be served. */
export interface BenchNetwork {
  readonly name: string
  /** Contains `chain.mdb`. */
  readonly folder: string
  readonly genesisPath: string
}

export type NetworkPlan =
  | { readonly kind: 'demo' }
  | ({ readonly kind: 'state' } & StateSize)
  | { readonly kind: 'blocks' | 'logs' | 'full'; readonly count: number }
  | { readonly kind: 'import'; readonly chain: ImportChainKind; readonly blocks: number }

/**
 * Blocks of these chains without those that set them up; enough, also in a short run, for a second thread to take part.
 */
export function importPlan(chain: ImportChainKind, isQuick: boolean) {
  return { kind: 'import', chain, blocks: isQuick ? 300 : chain === 'mixed' ? 600 : 1_000 } as const
}

/** Full blocks of the scenario `engine`; the first ones warm up. */
export const fullBlocks = { kind: 'full', count: 30 } as const

/** The program of a checkout. */
export const programOf = (checkout: string) => join(checkout, 'dist/src/main.js')
export const programPath = programOf(packageRoot())

/** Makes a network: its folder gets `genesis.json`, `chain.mdb`, and `chain.rlp` if it is imported. */
interface Recipe {
  /** Name of its folder in the cache. */
  readonly key: string
  readonly what: string
  /** CPU time to make it, on a quiet core of 2026. */
  readonly seconds: number
  make(folder: string): Promise<void>
}

/** Raised with every change of the chains that `importChains.ts` generates. */
const importChainsVersion = 3
/** Raised with every change of the chain that `fullChain.ts` makes. */
const fullBlocksVersion = 1

function recipeOf(plan: NetworkPlan): Recipe {
  const schema = `schema${schemaVersion}`
  const synthetic = (write: (storePath: string) => Promise<void>) => async (folder: string) => {
    writeFileSync(join(folder, 'genesis.json'), syntheticGenesis)
    await write(join(folder, 'chain.mdb'))
  }
  switch (plan.kind) {
    case 'demo': {
      const files = ['genesis.json', 'chain.rlp'] as const
      const content = createHash('sha256')
      for (const name of files) content.update(readFileSync(join(devnetFolder, name)))
      return {
        key: `demo2-${schema}-${content.digest('hex').slice(0, 16)}`,
        what: 'importing the demo chain',
        seconds: 5,
        async make(folder) {
          for (const name of files) copyFileSync(join(devnetFolder, name), join(folder, name))
          importIn(folder)
        },
      }
    }
    case 'state': {
      const { accounts, slotsPerAccount, slots } = plan
      return {
        key: `synthetic${generatorVersion}-${schema}-${accounts}x${slotsPerAccount}-${slots}`,
        what: `making a network of ${accounts} accounts and ${slots} slots`,
        seconds: accounts / 10_000 + slots / 65_000,
        make: synthetic((path) => writeSyntheticNetwork(path, plan)),
      }
    }
    case 'blocks':
      return {
        key: `blocks${blocksVersion}-${schema}-${plan.count}`,
        what: `making a chain of ${plan.count} blocks`,
        seconds: plan.count / 800,
        make: synthetic((path) => writeSyntheticBlocks(path, plan.count)),
      }
    case 'logs':
      return {
        key: `logs${logsVersion}-${schema}-${plan.count}`,
        what: `making a chain of ${plan.count} blocks with logs`,
        seconds: plan.count / 3_300,
        make: synthetic((path) => writeSyntheticLogs(path, plan.count)),
      }
    case 'full':
      return {
        key: `full${fullBlocksVersion}-${schema}-${plan.count}`,
        what: `making a chain of ${plan.count} full blocks`,
        seconds: 15 + plan.count,
        async make(folder) {
          // Loaded only when needed, because it needs a compiler and @ethereumjs.
          const { writeFullBlocks } = await import('./fullChain.js')
          await writeFullBlocks(folder, plan.count)
        },
      }
    case 'import': {
      const { chain, blocks } = plan
      return {
        key: `import-${chain}${importChainsVersion}-${schema}-${blocks}`,
        what: `making a chain of ${blocks} blocks of ${chain}`,
        seconds: blocks / 7,
        async make(folder) {
          // Loaded only when needed, because it needs a compiler and @ethereumjs.
          const { writeImportChain } = await import('./importChains.js')
          await writeImportChain(chain, blocks, folder)
          importIn(folder)
        },
      }
    }
  }
}

/** Imports the chain file of a folder by the program itself. */
function importIn(folder: string): void {
  const data = mkdtempSync(join(folder, 'data-'))
  const flags = ['--network', 'made', '--data', data, '--genesis', join(folder, 'genesis.json')]
  execFileSync(process.execPath, [programPath, 'import', ...flags, join(folder, 'chain.rlp')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  renameSync(join(data, 'networks/made/chain.mdb'), join(folder, 'chain.mdb'))
  rmSync(data, { recursive: true })
}

/** Found among the kept folders, or made there. */
export async function findNetwork(name: string, plan: NetworkPlan): Promise<BenchNetwork> {
  const { key, what, make } = recipeOf(plan)
  const folder = await keptFolder(key, what, make)
  return { name, folder, genesisPath: join(folder, 'genesis.json') }
}

/**
 * Reads a network's store once, so that the operating system's file cache contains it, and the server is measured, not
 * the disk.
 */
export async function readThrough({ folder }: BenchNetwork): Promise<void> {
  const pieces = createReadStream(join(folder, 'chain.mdb'), { highWaterMark: 2 ** 22 })
  await once(pieces.resume(), 'end')
}

/** CPU time to make it, on a quiet core of 2026. */
export function secondsToMake(plan: NetworkPlan): number {
  return recipeOf(plan).seconds
}

/** Makes the missing networks, each in a process of its own, as many at once as there are cores, the longest first. */
export async function makeMissing(plans: readonly NetworkPlan[]): Promise<void> {
  const missing = plans
    .filter((plan) => !existsSync(keptPath(recipeOf(plan).key)))
    .sort((a, b) => secondsToMake(b) - secondsToMake(a))
  if (missing.length === 0) return
  const lanes = Math.min(cores, missing.length)
  const seconds = missing.reduce((sum, plan) => sum + secondsToMake(plan), 0)
  console.error(`${missing.length} networks are made, once, in about ${Math.ceil(seconds / lanes / 60)} min`)
  const lane = async () => {
    for (let plan = missing.shift(); plan !== undefined; plan = missing.shift()) await makeApart(plan)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

async function makeApart(plan: NetworkPlan): Promise<void> {
  const program = fileURLToPath(new URL('./makeNetwork.js', import.meta.url))
  const words = [program, JSON.stringify(plan)]
  const child = endWithThisProcess(spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] }))
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) throw new Error(`making a network ended with ${code ?? signal}: ${JSON.stringify(plan)}`)
}
