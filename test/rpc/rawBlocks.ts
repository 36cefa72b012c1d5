import t from 'tap'
import { startService } from '../service/service.js'
import { blocks, bytesOf, type DemoBlock, hex, quantity, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, refusalsOfBlock } from './questions.js'

/**
 * Checks a method that returns bytes of a block: `expectedOf` each block of the chain file, and of the genesis
 * `isGenesis`.
 */
export async function checkRawBlocks(
  method: string,
  expectedOf: (block: DemoBlock) => Uint8Array,
  isGenesis: (answer: Uint8Array) => boolean,
): Promise<void> {
  const service = await startService()
  t.teardown(() => service.stop())

  await t.test('every block has the bytes of the chain file, by number and by hash', async (t) => {
    const expected = blocks.map((block) => hex(expectedOf(block)))
    for (const nameOf of [({ number }: DemoBlock) => quantity(number), ({ hash }: DemoBlock) => hash]) {
      const answers = await askResults(
        service,
        blocks.map((block) => [method, [nameOf(block)]]),
      )
      t.strictSame(answers, expected)
    }
    t.ok(isGenesis(bytesOf((await service.call(method, ['earliest'])).result)))
    t.equal((await service.call(method, ['0xffff'])).result, '0x')
  })

  await t.test('wrong parameters and hashes of no block are refused', async (t) => {
    await checkRefusals(t, service, method, [
      ...refusalsOfBlock('number'),
      [[unknownHash], -32000, 'header for hash not found'],
    ])
  })
}
