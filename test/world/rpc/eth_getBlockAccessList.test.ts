// @shares
/** eth_getBlockAccessList, on a chain with lists and on one without. */
import t from 'tap'
import { readAmsterdamBlocks, serveCross, toExecutionApis, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { quantity, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, refusalsOfBlock } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getBlockAccessList'

t.test('a chain before Amsterdam has no lists', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [
    [['latest'], -32001, 'block 264 is from before Amsterdam and has no access list'],
    [['earliest'], -32001, 'block 0 is from before Amsterdam and has no access list'],
    [[{ blockNumber: '0x5' }], -32001, 'block 5 is from before Amsterdam and has no access list'],
    ...refusalsOfBlock('number'),
  ])
  for (const id of ['pending', '0xffff', unknownHash]) {
    t.equal((await service.call(method, [id])).result, null)
  }
})

t.test('a chain with Amsterdam has the lists of go-ethereum', { skip: withoutAmsterdam }, async (t) => {
  const service = await serveCross()
  t.teardown(() => service.stop())
  const listed = [...readAmsterdamBlocks('a1-cross').entries()].filter(([, block]) => block.amsterdam)
  t.equal(listed.length, 261)
  const lists = await askResults(
    service,
    listed.map(([number]) => [method, [quantity(number)]]),
  )
  for (const [at, [number, block]] of listed.entries()) {
    t.strictSame(lists[at], block.blockAccessList?.map(toExecutionApis), `block ${number}`)
  }
  const [number, { hash }] = listed[77] as (typeof listed)[number]
  for (const id of [hash, { blockHash: hash }, { blockNumber: quantity(number) }]) {
    t.strictSame((await service.call(method, [id])).result, lists[77])
  }
  t.strictSame((await service.call(method, ['latest'])).result, lists.at(-1))
  await checkRefusals(t, service, method, [
    [['0x27'], -32001, 'block 39 is from before Amsterdam and has no access list'],
  ])
})
