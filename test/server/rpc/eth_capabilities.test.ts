import t from 'tap'
import { examples, quantity } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_capabilities'
const service = await startService()
t.teardown(() => service.stop())

t.test('an archive has everything since genesis', async (t) => {
  const { head, ...held } = (await service.call(method)).result
  t.strictSame(head, { number: quantity(examples.head.number), hash: examples.head.hash })
  t.strictSame(Object.keys(held), ['state', 'tx', 'logs', 'receipts', 'blocks', 'stateproofs'])
  for (const each of Object.values(held)) t.strictSame(each, { disabled: false, oldestBlock: '0x0' })
  await checkRefusals(t, service, method, countRefusals([]))
})
