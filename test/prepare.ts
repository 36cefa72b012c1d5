/**
 * Runs once before all tests: imports the demo chain into a store that tests of the service read. The import is a
 * test in itself, so it is made anew each time; the head that comes out is compared in `rpc/` with the one that
 * independent code computed when the chain was made.
 */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../src/config.js'
import { fixtureConfig, fixtureDir } from './service.js'

rmSync(fixtureDir, { recursive: true, force: true })
const devnet = join(packageRoot(), 'data/devnet')
const genesis = join(devnet, 'genesis.json')
const flags = ['--network', 'demo', '--data', fixtureDir, '--genesis', genesis]
execFileSync(
  process.execPath,
  [join(packageRoot(), 'dist/src/main.js'), 'import', ...flags, join(devnet, 'chain.rlp')],
  {
    stdio: ['ignore', 'ignore', 'inherit'],
  },
)
// Without a source nothing writes into the store, however many servers read it.
const storageLayouts = join(devnet, 'layouts.json')
writeFileSync(
  fixtureConfig,
  JSON.stringify({ dataDir: fixtureDir, networks: [{ name: 'demo', genesis, storageLayouts }] }),
)
