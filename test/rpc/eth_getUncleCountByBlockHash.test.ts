import t from 'tap'
import { startService } from '../service.js'
import { blocks, headBlock, quantity, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals } from './questions.js'

const method = 'eth_getUncleCountByBlockHash'
const service = await startService()
t.teardown(() => service.stop())

t.test('every block has as many as the chain file', async (t) => {
  const answers = await askResults(
    service,
    blocks.map((block) => [method, [block.hash]]),
  )
  t.strictSame(
    answers,
    blocks.map(({ uncles }) => quantity(uncles.length)),
  )
  t.equal((await service.call(method, [unknownHash])).result, null)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [...countRefusals([headBlock.hash]), ...hashRefusals([])])
})
