import t from 'tap'
import { startService } from '../service.js'
import { blocks, hex, quantity } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals, indexRefusals } from './questions.js'

const method = 'eth_getRawTransactionByBlockNumberAndIndex'
const service = await startService()
t.teardown(() => service.stop())

t.test('every transaction has the bytes of the chain file', async (t) => {
  const places = blocks.flatMap((block) =>
    block.transactions.map(({ bytes }, index) => ({ block, bytes, index })),
  )
  const answers = await askResults(
    service,
    places.map(({ block, index }) => [method, [quantity(block.number), quantity(index)]]),
  )
  t.strictSame(
    answers,
    places.map(({ bytes }) => hex(bytes)),
  )
})

t.test('what is not there has no bytes', async (t) => {
  for (const params of [
    ['latest', '0x7fffffff'],
    ['latest', '0xffffffffffffffff'],
    ['0xffff', '0x0'],
  ]) {
    t.strictSame(await service.call(method, params), { jsonrpc: '2.0', id: 1, result: '0x' })
  }
  t.equal((await service.call(method, ['pending', '0x0'])).result, '0x')
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals(['latest', '0x0']),
    ...blockRefusals(0, (block) => [block, '0x0']),
    ...indexRefusals('latest'),
  ])
})
