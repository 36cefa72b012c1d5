import t from 'tap'
import { startService } from '../service.js'
import { blockBytes, blocks, hex, quantity, unknownHash } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from './questions.js'

const method = 'debug_getRawBlock'
const service = await startService()
t.teardown(() => service.stop())

t.test('every block has the bytes of the chain file, by number and by hash', async (t) => {
  for (const name of [
    (block: (typeof blocks)[number]) => quantity(block.number),
    ({ hash }: { hash: string }) => hash,
  ]) {
    const answers = await askResults(
      service,
      blocks.map((block) => [method, [name(block)]]),
    )
    t.strictSame(
      answers,
      blocks.map((block) => hex(blockBytes[block.number - 1] as Uint8Array)),
    )
  }
  t.match((await service.call(method, ['earliest'])).result, /^0xf9[0-9a-f]+c0c0$/)
  t.equal((await service.call(method, ['0xffff'])).result, '0x')
})

t.test('wrong parameters and hashes of no block are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals(['latest']),
    ...blockRefusals(0, (block) => [block]),
    [[unknownHash], -32000, 'header for hash not found'],
  ])
})
