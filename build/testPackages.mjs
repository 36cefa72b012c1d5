/** Packages that only tests and benchmarks use (test/package.json). `npm ci` alone leaves them out. */
import { execSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Whether everything that tests import is installed. */
export function hasTestPackages() {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'test/package.json'), 'utf8'))
  return Object.keys(devDependencies).every((name) => existsSync(join(root, 'node_modules', name)))
}

/** Installs missing packages. Throws Error if npm fails. */
export function installTestPackages() {
  if (hasTestPackages()) return
  console.error('Installing what tests and benchmarks use, 700 MB, once …')
  const command = 'npm ci --workspaces --include-workspace-root --no-audit --no-fund'
  execSync(command, { cwd: root, stdio: ['ignore', 2, 2] })
}
