/**
 * Runs before the tests. Imports the demo chain, and the recorded chain if it is beside the package, into stores that
 * tests read. Finds the senders of the demo chain's transactions, and writes the declarations of methods. The import is
 * a test in itself, so it runs again whenever the program or a chain has changed. Tests in `rpc/` and `conformance/`
 * compare the heads with those of independent code.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { packageRoot } from '../src/primitives/packageRoot.js'
import { amsterdamFile, withoutAmsterdam } from './ingest/amsterdam.js'
import { joinPackages } from './runner/joinPackages.js'
import {
  fixtureConfig,
  fixtureDir,
  patientConfig,
  patientLimits,
  recordedConfig,
  recordings,
  withoutRecordings,
} from './service/fixtures.js'

const root = packageRoot()
const devnet = join(root, 'data/devnet')
const genesis = join(devnet, 'genesis.json')

/** Imports a chain as network `name`, by the program. */
async function importChain(name: string, genesisPath: string, chain: string): Promise<void> {
  const flags = ['--network', name, '--data', fixtureDir, '--genesis', genesisPath]
  const words = [join(root, 'dist/src/main.js'), 'import', ...flags, chain]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] })
  const said = text(child.stderr)
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error(`the import of ${chain} ended with status ${status}: ${await said}`)
}

/** Time of the last change of a file that the fixtures depend on, in ms. */
function changedMs(): number {
  const compiled = ['dist/chunks', 'dist/src', 'dist/workers'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .map((name) => join(root, folder, name)),
  )
  const packages = join(root, 'package-lock.json')
  const files = [...compiled, import.meta.filename, packages, genesis, join(devnet, 'chain.rlp')]
  return Math.max(...files.map((path) => statSync(path).mtimeMs))
}

await joinPackages()
/** The configuration is written last. */
const preparedMs = statSync(fixtureConfig, { throwIfNoEntry: false })?.mtimeMs ?? 0
if (preparedMs < changedMs()) {
  rmSync(fixtureDir, { recursive: true, force: true })
  mkdirSync(fixtureDir, { recursive: true })
  const imports = [importChain('demo', genesis, join(devnet, 'chain.rlp'))]
  if (withoutRecordings === false) {
    imports.push(importChain('recorded', join(recordings, 'genesis.json'), join(recordings, 'chain.rlp')))
  }
  if (withoutAmsterdam === false) {
    const file = (name: string) => amsterdamFile('a1-cross', name)
    imports.push(importChain('cross', file('genesis.json'), file('chain-with-bal.rlp.gz')))
  }
  // Meanwhile, on a core of its own if there is one.
  const { writeSenders } = await import('./rpc/transactionOracle.js')
  writeSenders()
  const { writeDeclared } = await import('./rpc/writeDeclared.js')
  writeDeclared()
  await Promise.all(imports)
  const writeConfig = (path: string, network: object) => {
    // Without a source no process writes into the store, with any number of servers.
    writeFileSync(path, JSON.stringify({ dataDir: fixtureDir, limits: patientLimits, networks: [network] }))
  }
  writeFileSync(patientConfig, JSON.stringify({ limits: patientLimits }))
  writeConfig(recordedConfig, { name: 'recorded', genesis: join(recordings, 'genesis.json') })
  writeConfig(fixtureConfig, { name: 'demo', genesis, storageLayouts: join(devnet, 'layouts.json') })
}
