/** npm installs what the lock file names by its hash. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'

interface LockedPackage {
  readonly link?: true
  readonly version?: string
  readonly integrity?: string
}

const read = (path: string) => JSON.parse(readFileSync(join(packageRoot(), path), 'utf8'))

t.test('every package of the lock file has a hash', async (t) => {
  const packages: Readonly<Record<string, LockedPackage>> = read('package-lock.json').packages
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.startsWith('node_modules/') && !link,
  )
  t.ok(installed.length > 500)
  for (const [path, { integrity }] of installed) t.match(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, path)
})

t.test('every version that is asked for is exact', async (t) => {
  for (const path of ['package.json', 'test/package.json']) {
    const { dependencies = {}, devDependencies = {} } = read(path)
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      t.match(version, /^(?:npm:(?:@[\w-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/, `${path}: ${name}`)
    }
  }
})
