/**
 * The networks that benchmarks read: the demo chain and synthetic networks. Each is made once and kept outside the
 * repository, under a name that contains everything it depends on, so that a change makes a new one.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { schemaVersion } from '../../src/store/tables.js'
import { syntheticGenesis } from './diffBuilder.js'
import { blocksVersion, writeSyntheticBlocks } from './syntheticBlocks.js'
import { logsVersion, writeSyntheticLogs } from './syntheticLogs.js'
import { generatorVersion, type StateSize, writeSyntheticNetwork } from './syntheticState.js'

/** A network ready to be served. */
export interface BenchNetwork {
  readonly name: string
  /** Holds `chain.mdb`. */
  readonly folder: string
  readonly genesisPath: string
  /** The configuration's `source`, for a network that gets new blocks; its folder must be the run's own. */
  readonly source?: object
}

export const devnetFolder = join(packageRoot(), 'data/devnet')
export const programPath = join(packageRoot(), 'dist/src/main.js')

/** `TIDEGATE_BENCH_CACHE`, or a folder in the user's cache. */
export function cacheFolder(): string {
  return (
    process.env.TIDEGATE_BENCH_CACHE ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tidegate-bench')
  )
}

const genesisPath = join(devnetFolder, 'genesis.json')
const chainPath = join(devnetFolder, 'chain.rlp')

/** Names under which networks are kept; each contains everything that the network depends on. */
export const keptNames = {
  demo() {
    const content = createHash('sha256').update(readFileSync(genesisPath)).update(readFileSync(chainPath))
    return `demo-schema${schemaVersion}-${content.digest('hex').slice(0, 16)}`
  },
  state: ({ accounts, slotsPerAccount, slots }: StateSize) =>
    `synthetic${generatorVersion}-schema${schemaVersion}-${accounts}x${slotsPerAccount}-${slots}`,
  blocks: (count: number) => `blocks${blocksVersion}-schema${schemaVersion}-${count}`,
  logs: (count: number) => `logs${logsVersion}-schema${schemaVersion}-${count}`,
} as const

/** The demo chain, imported by the program itself. */
export async function demoNetwork(): Promise<BenchNetwork> {
  const folder = await makeOnce(keptNames.demo(), 'importing the demo chain', (folder) =>
    importWith({ name: 'demo', folder, genesisPath, chainPath }),
  )
  return { name: 'demo', folder: join(folder, 'networks/demo'), genesisPath }
}

interface ImportRun {
  readonly name: string
  readonly folder: string
  readonly genesisPath: string
  readonly chainPath: string
}

/** Imports a chain file by the program itself: network `name` of the data folder `folder`. */
export async function importWith({ name, folder, genesisPath, chainPath }: ImportRun): Promise<void> {
  const flags = ['--network', name, '--data', folder, '--genesis', genesisPath]
  execFileSync(process.execPath, [programPath, 'import', ...flags, chainPath], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** A synthetic network of this size. A million accounts of three slots take two minutes to make and 2 GB. */
export async function syntheticNetwork(name: string, size: StateSize): Promise<BenchNetwork> {
  const what = `making a network of ${size.accounts} accounts and ${size.slots} slots`
  const folder = await makeOnce(keptNames.state(size), what, async (folder) => {
    writeFileSync(join(folder, 'genesis.json'), syntheticGenesis)
    let told = Date.now()
    await writeSyntheticNetwork(join(folder, 'chain.mdb'), size, (done, total) => {
      if (Date.now() - told < 10_000) return
      told = Date.now()
      console.error(`  ${Math.round((done * 100) / total)} %`)
    })
  })
  return { name, folder, genesisPath: join(folder, 'genesis.json') }
}

/** A chain of `count` synthetic blocks. 50,000 take a minute to make and 390 MB. */
export async function syntheticBlocks(name: string, count: number): Promise<BenchNetwork> {
  const folder = await makeOnce(
    keptNames.blocks(count),
    `making a chain of ${count} blocks`,
    async (folder) => {
      writeFileSync(join(folder, 'genesis.json'), syntheticGenesis)
      await writeSyntheticBlocks(join(folder, 'chain.mdb'), count)
    },
  )
  return { name, folder, genesisPath: join(folder, 'genesis.json') }
}

/** A chain of `count` blocks with logs. 1,000,000 take five minutes to make and 3 GB. */
export async function syntheticLogs(name: string, count: number): Promise<BenchNetwork> {
  const folder = await makeOnce(
    keptNames.logs(count),
    `making a chain of ${count} blocks with logs`,
    async (folder) => {
      writeFileSync(join(folder, 'genesis.json'), syntheticGenesis)
      await writeSyntheticLogs(join(folder, 'chain.mdb'), count)
    },
  )
  return { name, folder, genesisPath: join(folder, 'genesis.json') }
}

/**
 * Reads a network's store once, so that the operating system has it in its file cache, and the server is measured,
 * not the disk.
 */
export async function readThrough({ folder }: BenchNetwork): Promise<void> {
  const pieces = createReadStream(join(folder, 'chain.mdb'), { highWaterMark: 2 ** 22 })
  await once(pieces.resume(), 'end')
}

/** Whether the cache has a folder with this name. */
export function isKept(name: string): boolean {
  return existsSync(join(cacheFolder(), name))
}

/** In the names of folders that this run, a process with its children, has begun and not finished. */
const draftMark = `.draft-${process.env.TIDEGATE_BENCH_RUN ?? process.pid}-`

/** Removes what a run that was ended has begun; `run` is what it had as TIDEGATE_BENCH_RUN. */
export function removeDrafts(run: string): void {
  if (!existsSync(cacheFolder())) return
  for (const name of readdirSync(cacheFolder())) {
    if (name.includes(`.draft-${run}-`)) rmSync(join(cacheFolder(), name), { recursive: true, force: true })
  }
}

/** The folder with this name in the cache, made by `make` if it is missing; unfinished ones are never used. */
export async function makeOnce(
  name: string,
  what: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(cacheFolder(), name)
  if (existsSync(folder)) return folder
  mkdirSync(cacheFolder(), { recursive: true })
  const startedAtMs = Date.now()
  console.error(`${what}, once; it is kept in ${folder} …`)
  const draft = mkdtempSync(join(cacheFolder(), `${name}${draftMark}`))
  try {
    await make(draft)
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    throw error
  }
  console.error(`  done in ${Math.round((Date.now() - startedAtMs) / 1000)} s`)
  return folder
}
