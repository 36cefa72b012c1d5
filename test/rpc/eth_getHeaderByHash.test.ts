import t from 'tap'
import { startService } from '../service.js'
import { hashOfBlockJson } from './blockOracle.js'
import type { Json } from './demoChain.js'
import { blocks, headBlock, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals } from './questions.js'

const method = 'eth_getHeaderByHash'
const service = await startService()
t.teardown(() => service.stop())

t.test('every header has the hash of its block, and the members of it', async (t) => {
  const headers: Json[] = await askResults(
    service,
    blocks.map((block) => [method, [block.hash]]),
  )
  for (const [at, { hash }] of blocks.entries()) {
    const header = headers[at] as Json
    const { result } = await service.call('eth_getBlockByHash', [hash, false])
    const { size, totalDifficulty, transactions, uncles, withdrawals, ...rest } = result
    t.equal(JSON.stringify(header), JSON.stringify(rest))
    t.equal(hashOfBlockJson(header), hash)
    t.strictSame(Object.keys(header), Object.keys(header).sort())
  }
  t.equal((await service.call(method, [unknownHash])).result, null)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [...countRefusals([headBlock.hash]), ...hashRefusals([])])
})
