import t from 'tap'
import { examples, quantity } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { suggestedTip } from '../../rpc/tipOracle.js'
import { startService } from '../../service/service.js'

const method = 'eth_maxPriorityFeePerGas'
const service = await startService()
t.teardown(() => service.stop())

t.test('it follows the lowest tips of the last blocks', async (t) => {
  t.equal((await service.call(method)).result, quantity(await suggestedTip(service)))
  await checkRefusals(t, service, method, countRefusals([]))
})

t.test('a chain of one block has a suggestion too', async (t) => {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method, at: examples.genesisHash })
  t.equal(JSON.parse((await service.post('/', call)).text).result, '0xf4240')
})
