import t from 'tap'
import { startService } from '../service/service.js'
import { blocks, quantity, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, refusalsOfBlock } from './questions.js'

type Block = (typeof blocks)[number]

/** Checks a method that counts something in a block, by the block's number or hash. */
export async function checkBlockCounts(
  method: string,
  by: 'number' | 'hash',
  countOf: (block: Block) => number,
): Promise<void> {
  const service = await startService()
  t.teardown(() => service.stop())

  await t.test('every block has as many as the chain file', async (t) => {
    const answers = await askResults(
      service,
      blocks.map((block) => [method, [by === 'number' ? quantity(block.number) : block.hash]]),
    )
    t.strictSame(
      answers,
      blocks.map((block) => quantity(countOf(block))),
    )
    t.equal((await service.call(method, [by === 'number' ? '0xffff' : unknownHash])).result, null)
    if (by === 'hash') return
    t.equal((await service.call(method, ['pending'])).result, '0x0', 'pending')
    t.equal((await service.call(method, ['earliest'])).result, '0x0', 'genesis')
  })

  await t.test('wrong parameters are refused', async (t) => {
    await checkRefusals(t, service, method, refusalsOfBlock(by))
  })
}
