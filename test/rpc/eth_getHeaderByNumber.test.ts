import t from 'tap'
import { startService } from '../service.js'
import { hashOfBlockJson } from './blockOracle.js'
import type { Json } from './demoChain.js'
import { blocks, quantity } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from './questions.js'

const method = 'eth_getHeaderByNumber'
const service = await startService()
t.teardown(() => service.stop())

t.test('every header has the hash of its block, and the members of it', async (t) => {
  const headers: Json[] = await askResults(
    service,
    blocks.map((block) => [method, [quantity(block.number)]]),
  )
  for (const [at, { hash }] of blocks.entries()) {
    const header = headers[at] as Json
    const { result } = await service.call('eth_getBlockByHash', [hash, false])
    const { size, totalDifficulty, transactions, uncles, withdrawals, ...rest } = result
    t.equal(JSON.stringify(header), JSON.stringify(rest))
    t.equal(hashOfBlockJson(header), hash)
    t.strictSame(Object.keys(header), Object.keys(header).sort())
  }
  t.equal((await service.call(method, ['0xffff'])).result, null)
})

t.test('the pending header is that of the pending block', async (t) => {
  const { result: header } = await service.call(method, ['pending'])
  const { result: block } = await service.call('eth_getBlockByNumber', ['pending', false])
  const { size, totalDifficulty, transactions, uncles, withdrawals, ...rest } = block
  t.strictSame(header, rest)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals(['latest']),
    ...blockRefusals(0, (block) => [block]),
  ])
})
