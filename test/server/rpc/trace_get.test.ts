import t from 'tap'
import { blockAt, quantity, unknownHash } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const method = 'trace_get'
const service = await startService()
t.teardown(() => service.stop())

t.test('one call is found by its place', async (t) => {
  let inner = 0
  for (const { hash } of [...blockAt(45).transactions, ...blockAt(57).transactions]) {
    const all = (await service.call('trace_transaction', [hash])).result
    for (const call of all) {
      const place = call.traceAddress.map(quantity)
      t.strictSame((await service.call(method, [hash, place])).result, call)
      inner += place.length
    }
    t.equal((await service.call(method, [hash, ['0xff']])).result, null)
  }
  t.ok(inner > 0)
  t.equal((await service.call(method, [unknownHash, []])).result, null)
})
