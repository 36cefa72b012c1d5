import t from 'tap'
import { examples } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'net_version'
const service = await startService()
t.teardown(() => service.stop())

t.test('the network id, in decimal digits', async (t) => {
  for (const params of [[], null, undefined]) {
    t.strictSame(await service.call(method, params), {
      jsonrpc: '2.0',
      id: 1,
      result: String(examples.chainId),
    })
  }
})

t.test('parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    [['latest'], -32602, 'too many arguments, want at most 0'],
    [[null], -32602, 'too many arguments, want at most 0'],
    [{}, -32602, 'non-array args: params must be an array'],
  ])
})
