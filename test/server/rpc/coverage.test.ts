import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { methods as archiveMethods } from '../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../src/serving/rpc/rollup/rollupRegistry.js'

const methods = { ...archiveMethods, ...rollupMethods }

t.test('every method has a test of its own', async (t) => {
  const folders = ['server', 'world'].map((kind) => join(packageRoot(), `test/${kind}/rpc`))
  for (const method of Object.keys(methods)) {
    const file = `${method}.test.ts`
    const found = folders.filter((folder) => existsSync(join(folder, file)))
    t.equal(found.length, 1, file)
  }
})

t.test('every method is declared in one line, by its name on the wire', async (t) => {
  const folder = join(packageRoot(), 'src/serving/rpc/methods')
  const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
  for (const [name, method] of Object.entries(methods)) {
    t.equal(method.name, name)
    const lines = sources.flatMap((source) => source.match(new RegExp(`^ +${name}: `, 'gm')) ?? [])
    t.equal(lines.length, 1, name)
  }
})
