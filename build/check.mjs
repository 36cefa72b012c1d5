/**
 * `npm run check`: figures of the source, lint and format, types, and the import table. Without the packages of tests,
 * which `npm test` installs, it skips the checks that need them and reports that.
 */
import '../src/requireNode.cjs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { hasTestPackages } from './testPackages.mjs'

const root = join(import.meta.dirname, '..')

function run(program, ...words) {
  const path = program === 'node' ? process.execPath : join(root, 'node_modules/.bin', program)
  const { status } = spawnSync(path, words, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exitCode = 1
  return status === 0
}

run('node', 'build/measure.mjs')
run('biome', 'check', '--error-on-warnings', '.')
run('tsc', '-p', 'src/operation/admin/page')
run('tsc', '-p', 'src/verify')
if (hasTestPackages()) {
  const isTyped = run('tsc')
  if (isTyped && run('node', 'build/build.mjs', 'all')) {
    run('node', 'dist/modules/test/runTests.js', 'test/unit/architecture.test.ts')
  }
} else {
  run('tsc', '-p', 'src')
  console.error('Types of tests and the import table were not checked; `npm test` installs what they need.')
}
