/**
 * Runs tap with the arguments given, as `npm test` and `npm run check` do.
 *
 * First it builds tap for the plugins of `.taprc` where that has not been done: a fresh install holds a build with the
 * TypeScript plugin, which does not load beside this project's compiler, and left to itself tap notices only in the
 * middle of its first run and fails that run. Coverage is switched off where it is gathered, in each process: tap's
 * own flag only leaves the report out, and gathering makes everything slower.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const tap = require.resolve('tap/package.json').replace(/package\.json$/, 'dist/esm/run.mjs')
const built = readFileSync(require.resolve('@tapjs/test/test-built'), 'utf8')
if (built.includes('@tapjs/typescript')) {
  console.log('# building the test runner, once after each install')
  execFileSync(process.execPath, [tap, 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
}
const env = { ...process.env, _TAPJS_PROCESSINFO_COVERAGE_: '0' }
const { status } = spawnSync(process.execPath, [tap, ...process.argv.slice(2)], { stdio: 'inherit', env })
process.exitCode = status ?? 1
