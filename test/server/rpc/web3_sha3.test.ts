import t from 'tap'
import { keccak } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals, type ErrorCase } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'web3_sha3'
const service = await startService()
t.teardown(() => service.stop())

t.test('it is Keccak-256, of nothing and of a megabyte too', async (t) => {
  t.equal((await service.call(method, ['0x'])).result, keccak(new Uint8Array(0)))
  t.equal((await service.call(method, ['0x68656C6c6f'])).result, keccak(Buffer.from('hello')))
  const long = new Uint8Array(2 ** 20).fill(7)
  t.equal((await service.call(method, [`0x${'07'.repeat(2 ** 20)}`])).result, keccak(long))
})

t.test('wrong parameters are refused', async (t) => {
  const cases: [data: unknown, why: string][] = [
    ['', 'empty hex string'],
    ['68', 'hex string without 0x prefix'],
    ['0x1', 'hex string of odd length'],
    ['0xzz', 'invalid hex string'],
    [7, 'want a hex string, got number'],
  ]
  await checkRefusals(t, service, method, [
    ...countRefusals(['0x']),
    ...cases.map(([data, why]): ErrorCase => [[data], -32602, `invalid argument 0: ${why}`]),
  ])
})
