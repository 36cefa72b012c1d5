/** Fields of the playground, whose modules only browsers load: made for Node.js here. */
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { decodeParams } from '../../../../src/serving/rpc/method.js'
import { methods } from '../../../../src/serving/rpc/registry.js'

t.test('what is written into a field is what the method takes', async (t) => {
  const path = join(packageRoot(), 'src/operation/admin/page/schemas.ts')
  const { outputFiles } = await build({ entryPoints: [path], format: 'esm', write: false })
  const code = Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')
  const { readField, writeField } = await import(`data:text/javascript;base64,${code}`)
  const address = `0x${'1'.repeat(40)}`
  for (const [method, args] of [
    [methods.eth_getBlockByNumber, ['0x5', true]],
    [methods.eth_getBlockByNumber, ['latest', false]],
    [methods.ots_searchTransactionsBefore, [address, 0, 25]],
    [methods.debug_getModifiedAccountsByNumber, [40, 60]],
    [methods.eth_call, [{ to: address, data: '0x1234' }, 'latest']],
    [methods.eth_getLogs, [{ address: [address] }]],
    [methods.web3_sha3, ['0x']],
  ] as const) {
    const read = args.map((value, at) => readField(method.params[at]?.schema, writeField(value)))
    t.strictSame(read, args, method.name)
    t.doesNotThrow(() => decodeParams(method, read), method.name)
  }
})
