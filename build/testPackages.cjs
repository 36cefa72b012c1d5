/**
 * Installs what only tests, checks and benchmarks use (test/package.json), where that is missing: `npm ci` alone
 * installs what the program is built of. JavaScript, because it runs before anything is compiled.
 */
const { execSync } = require('node:child_process')
const { existsSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..')
const { devDependencies } = JSON.parse(readFileSync(join(root, 'test/package.json'), 'utf8'))
const missing = Object.keys(devDependencies).filter((name) => !existsSync(join(root, 'node_modules', name)))
if (missing.length > 0) {
  console.error('Installing what tests and benchmarks use, 700 MB, once …')
  execSync('npm ci --workspaces --include-workspace-root --no-audit --no-fund', {
    cwd: root,
    stdio: 'inherit',
  })
}
