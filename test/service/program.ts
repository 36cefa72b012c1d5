/** Running the built program, with its stores and configurations. */
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { writeInto } from '../library/folder.js'
import { once } from '../library/until.js'
import { fixtureDir, patientConfig, patientLimits } from './fixtures.js'

const main = join(packageRoot(), 'dist/src/main.js')

export interface Outcome {
  /** Exit status; null if a signal ended the program. */
  readonly status: number | null
  readonly out: string
  readonly err: string
}

export interface Run {
  readonly process: ChildProcess
  /** Output of the process so far. */
  readonly said: { out: string; err: string }
  readonly finished: Promise<Outcome>
}

/** Starts `tidegate` with these words, standard streams as pipes. */
export function startProgram(
  words: readonly string[],
  { cwd, env }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Run {
  const child = spawn(process.execPath, [main, ...words], {
    cwd,
    env: { ...process.env, TIDEGATE_DEBUG: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  const finished = once(child, 'close').then(([status]) => ({ status, ...said }))
  return { process: child, said, finished }
}

/** Runs `tidegate` to its end; a server without a configuration gets limits that a busy machine does not reach. */
export function runProgram(words: readonly string[], options = {}): Promise<Outcome> {
  const isPatient = words[0] === 'serve' && !words.includes('--config')
  return startProgram(isPatient ? [...words, '--config', patientConfig] : words, options).finished
}

/** Runs one command line in this process, which takes a hundredth of the time if all code is loaded. */
export async function runHere(words: readonly string[]): Promise<Outcome & { readonly status: number }> {
  // The module is imported only on demand, because it loads the whole program.
  const { runCommandLine } = await import('../../src/operation/commands/runCommandLine.js')
  const said = { out: '', err: '' }
  const status = await runCommandLine(words, {
    out: (text) => {
      said.out += `${text}\n`
    },
    err: (text) => {
      said.err += `${text}\n`
    },
  })
  return { status, ...said }
}

/**
 * Writes a configuration into a folder and returns its path. Unless it sets limits itself, calls may take as long as on
 * a slow and busy machine.
 */
export function writeConfig(
  folder: string,
  content: { readonly limits?: object; readonly [name: string]: unknown },
  name = 'tidegate.json',
): string {
  return writeInto(folder, name, { ...content, limits: { ...patientLimits, ...content.limits } })
}

export function storePathOf(dataDir: string, network: string): string {
  return join(dataDir, 'networks', network, 'chain.mdb')
}

/** Copies the store of the whole demo chain into a data folder, under any network name. */
export function copyDemoStore(dataDir: string, network: string): string {
  const path = storePathOf(dataDir, network)
  mkdirSync(dirname(path), { recursive: true })
  copyFileSync(storePathOf(fixtureDir, 'demo'), path)
  return path
}

/** Copies that store into a data folder as one made by the embedded network. */
export async function copyEmbeddedStore(dataDir: string): Promise<void> {
  const [{ openEnvironment, openTable }, { metaKeys }, { pack, unpack }] = await Promise.all([
    import('../../src/data/store/lmdb/environment.js'),
    import('../../src/data/store/tables.js'),
    import('msgpackr'),
  ])
  const path = copyDemoStore(dataDir, 'demo')
  const environment = openEnvironment({ path, readOnly: false })
  const meta = openTable(environment, 'meta')
  const identity = unpack(meta?.getBinary(metaKeys.identity) as Uint8Array)
  meta?.putSync(metaKeys.identity, pack({ ...identity, embedded: true }))
  await environment.close()
}
