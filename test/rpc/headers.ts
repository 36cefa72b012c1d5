import t from 'tap'
import { type Service, startService } from '../service/service.js'
import { hashOfBlockJson } from './blockOracle.js'
import { blocks, type Json, quantity, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, refusalsOfBlock } from './questions.js'

/** The header's members in a method's answer about a block. */
async function headerOf(service: Service, method: string, block: string): Promise<Json> {
  const { result } = await service.call(method, [block, false])
  const { size, totalDifficulty, transactions, uncles, withdrawals, ...header } = result
  return header
}

/** Checks a method that returns a header by a block's number or hash. */
export async function checkHeaders(method: string, by: 'number' | 'hash'): Promise<void> {
  const service = await startService()
  t.teardown(() => service.stop())

  await t.test('every header has the hash of its block, and the members of it', async (t) => {
    const headers: Json[] = await askResults(
      service,
      blocks.map(({ number, hash }) => [method, [by === 'number' ? quantity(number) : hash]]),
    )
    for (const [at, { hash }] of blocks.entries()) {
      const header = headers[at] as Json
      t.equal(JSON.stringify(header), JSON.stringify(await headerOf(service, 'eth_getBlockByHash', hash)))
      t.equal(hashOfBlockJson(header), hash)
      t.strictSame(Object.keys(header), Object.keys(header).sort())
    }
    t.equal((await service.call(method, [by === 'number' ? '0xffff' : unknownHash])).result, null)
  })

  if (by === 'number') {
    await t.test('the pending block has no header', async (t) => {
      t.equal((await service.call(method, ['pending'])).result, null)
    })
  }

  await t.test('wrong parameters are refused', async (t) => {
    await checkRefusals(t, service, method, refusalsOfBlock(by))
  })
}
