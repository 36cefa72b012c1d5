import t from 'tap'
import { blockAt, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_getModifiedAccountsByHash'
const service = await startService()
t.teardown(() => service.stop())

t.test('by hash the accounts are the same as by number', async (t) => {
  for (const [first, last] of [
    [1, 2],
    [45, 57],
    [100, 264],
  ] as const) {
    const [byHash, byNumber] = await askResults(service, [
      [method, [blockAt(first).hash, blockAt(last).hash]],
      ['debug_getModifiedAccountsByNumber', [first, last]],
    ])
    t.ok(byHash.length > 0)
    t.strictSame(byHash, byNumber)
  }
})

t.test('unknown blocks are refused', async (t) => {
  const known = blockAt(5).hash
  await checkRefusals(t, service, method, [
    [[unknownHash], -32000, `start block ${unknownHash} not found`],
    [[known, unknownHash], -32000, `end block ${unknownHash} not found`],
    [[known, known], -32000, 'start block height (5) must be less than end block height (5)'],
  ])
})
