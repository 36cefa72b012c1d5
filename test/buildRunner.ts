/**
 * Builds tap for the plugins of `.taprc` where that has not been done. A fresh install holds a build with the
 * TypeScript plugin, which does not load beside this project's compiler; left to itself tap notices only in the
 * middle of its first run and fails that run.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const built = readFileSync(require.resolve('@tapjs/test/test-built'), 'utf8')
if (built.includes('@tapjs/typescript')) {
  console.log('# building the test runner, once after each install')
  execFileSync(
    process.execPath,
    [require.resolve('tap/package.json').replace(/package\.json$/, 'dist/esm/run.mjs'), 'build'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
}
