import t from 'tap'
import { startService } from '../service.js'
import { blocks, quantity } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from './questions.js'

const method = 'eth_getBlockTransactionCountByNumber'
const service = await startService()
t.teardown(() => service.stop())

t.test('every block has as many as the chain file', async (t) => {
  const answers = await askResults(
    service,
    blocks.map((block) => [method, [quantity(block.number)]]),
  )
  t.strictSame(
    answers,
    blocks.map(({ transactions }) => quantity(transactions.length)),
  )
  t.equal((await service.call(method, ['0xffff'])).result, null)
  t.equal((await service.call(method, ['pending'])).result, '0x0', 'pending')
  t.equal((await service.call(method, ['earliest'])).result, '0x0', 'genesis')
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals(['latest']),
    ...blockRefusals(0, (block) => [block]),
  ])
})
