import t from 'tap'
import { startService } from '../service/service.js'
import { examples, headBlock, quantity } from './demoChain.js'
import { checkRefusals, countRefusals } from './questions.js'
import { suggestedTip } from './tipOracle.js'
import { baseFeeOf } from './transactionOracle.js'

const method = 'eth_gasPrice'
const service = await startService()
t.teardown(() => service.stop())

t.test('it follows the lowest tips of the last blocks', async (t) => {
  t.equal((await service.call(method)).result, quantity((await suggestedTip(service)) + baseFeeOf(headBlock)))
  await checkRefusals(t, service, method, countRefusals([]))
})

t.test('a chain of one block has a suggestion too', async (t) => {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method, at: examples.genesisHash })
  t.equal(JSON.parse((await service.post('/', call)).text).result, '0xf4240')
})
