import t from 'tap'
import { blocks, headBlock, quantity, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals, indexRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getUncleByBlockHashAndIndex'
const service = await startService()
t.teardown(() => service.stop())

t.test('an uncle is the same by the hash of its block and by its number', async (t) => {
  const places = blocks.flatMap(({ hash, number, uncles }) =>
    [...uncles, undefined].map((_, index) => ({ hash, number, index: quantity(index) })),
  )
  const byHash = await askResults(
    service,
    places.map(({ hash, index }) => [method, [hash, index]]),
  )
  const byNumber = await askResults(
    service,
    places.map(({ number, index }) => ['eth_getUncleByBlockNumberAndIndex', [quantity(number), index]]),
  )
  t.strictSame(byHash, byNumber)
  t.ok(byHash.some((uncle) => uncle !== null) && byHash.includes(null))
  t.equal((await service.call(method, [unknownHash, '0x0'])).result, null)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals([headBlock.hash, '0x0']),
    ...hashRefusals(['0x0']),
    ...indexRefusals(headBlock.hash),
  ])
})
