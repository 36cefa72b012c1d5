import t from 'tap'
import { startService } from '../service.js'
import { blocks, bytesOf, encode, examples, hex, keccak, quantity, unknownHash } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from './questions.js'

const method = 'debug_getRawHeader'
const service = await startService()
t.teardown(() => service.stop())

t.test('every header has the bytes of the chain file, by number and by hash', async (t) => {
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
      blocks.map((block) => hex(encode(block.header))),
    )
  }
  t.equal(keccak(bytesOf((await service.call(method, ['earliest'])).result)), examples.genesisHash)
  t.equal((await service.call(method, ['0xffff'])).result, '0x')
})

t.test('wrong parameters and hashes of no block are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals(['latest']),
    ...blockRefusals(0, (block) => [block]),
    [[unknownHash], -32000, 'header for hash not found'],
  ])
})
