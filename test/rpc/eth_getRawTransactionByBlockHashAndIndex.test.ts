import t from 'tap'
import { startService } from '../service.js'
import { blocks, headBlock, hex, quantity, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals, indexRefusals } from './questions.js'

const method = 'eth_getRawTransactionByBlockHashAndIndex'
const service = await startService()
t.teardown(() => service.stop())

t.test('every transaction has the bytes of the chain file', async (t) => {
  const places = blocks.flatMap((block) =>
    block.transactions.map(({ bytes }, index) => ({ block, bytes, index })),
  )
  const answers = await askResults(
    service,
    places.map(({ block, index }) => [method, [block.hash, quantity(index)]]),
  )
  t.strictSame(
    answers,
    places.map(({ bytes }) => hex(bytes)),
  )
})

t.test('what is not there has no bytes', async (t) => {
  for (const params of [
    [headBlock.hash, '0x7fffffff'],
    [headBlock.hash, '0xffffffffffffffff'],
    [unknownHash, '0x0'],
  ]) {
    t.strictSame(await service.call(method, params), { jsonrpc: '2.0', id: 1, result: '0x' })
  }
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals([headBlock.hash, '0x0']),
    ...hashRefusals(['0x0']),
    ...indexRefusals(headBlock.hash),
  ])
})
