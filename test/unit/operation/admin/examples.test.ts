/** Examples of the playground, whose modules only browsers load: made for Node.js here. */
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../../src/serving/rpc/rollup/rollupRegistry.js'
import { checkResult } from '../../../rpc/openRpc.js'

t.test('the example of each method fits what the method declares', async (t) => {
  const path = join(packageRoot(), 'src/operation/admin/page/schemas.ts')
  const { outputFiles } = await build({ entryPoints: [path], format: 'esm', write: false })
  const code = Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')
  const { exampleOf } = await import(`data:text/javascript;base64,${code}`)
  for (const { name, result } of Object.values({ ...methods, ...rollupMethods })) {
    t.doesNotThrow(() => checkResult(name, exampleOf(result)), name)
  }
  t.equal(exampleOf(methods.eth_blockNumber.result), '0x1b4')
  t.match(exampleOf(methods.eth_getBlockByNumber.result), {
    hash: /^0x[0-9a-f]{64}$/,
    transactions: [String],
  })
  t.match(exampleOf(methods.eth_getTransactionReceipt.result), { logs: [{ topics: [String] }] })
})
