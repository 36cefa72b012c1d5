/** docs/methods.md and docs/rollup.md list exactly the served methods. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../../src/serving/rpc/rollup/rollupRegistry.js'

/** Methods in the first column of a page's tables. */
function listed(page: string): string[] {
  const text = readFileSync(join(packageRoot(), 'docs', page), 'utf8')
  const cells = [...text.matchAll(/^\| (`[a-z0-9]+_[^|]*) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`([a-z0-9]+_\w+)`/g)].map(([, name = '']) => name)).sort()
}

t.test('every method stands in the documentation once, and no other does', async (t) => {
  t.strictSame(listed('methods.md'), Object.keys(methods).sort())
  t.strictSame(
    listed('rollup.md'),
    Object.values(rollupMethods)
      .map(({ name }) => name)
      .sort(),
  )
})
