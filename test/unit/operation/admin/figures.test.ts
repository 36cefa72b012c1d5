/** Figures of the dashboard. Its modules are for browsers; this test compiles them for Node.js. */
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'

t.test('figures have three digits and a unit', async (t) => {
  const path = join(packageRoot(), 'src/operation/admin/page/format.ts')
  const { outputFiles } = await build({ entryPoints: [path], format: 'esm', write: false })
  const code = Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')
  const { formatBytes, formatMs, formatRate } = await import(`data:text/javascript;base64,${code}`)
  t.strictSame(
    [0, 52.933671672790915, 160, 1_000, 1_536, 99.97 * 1_024].map((bytes) => formatBytes(bytes)),
    ['0 B', '52.9 B', '160 B', '1,000 B', '1.5 KiB', '100 KiB'],
  )
  t.strictSame(
    [0, 0.00993, 0.5, 10, 99.96, 1_234.5].map((rate) => formatRate(rate)),
    ['0', '0.00993', '0.5', '10', '100', '1,235'],
  )
  t.strictSame(
    [0.0274, 9.996, 1_030].map((ms) => formatMs(ms)),
    ['27 µs', '10 ms', '1.03 s'],
  )
})
