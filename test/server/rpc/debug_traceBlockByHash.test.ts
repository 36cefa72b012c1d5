import t from 'tap'
import { blockAt, quantity, unknownHash } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_traceBlockByHash'
const service = await startService()
t.teardown(() => service.stop())

t.test('a block is traced by hash as by number', async (t) => {
  for (const number of [1, 10, 45, 148, 264]) {
    for (const tracer of ['callTracer', 'prestateTracer', undefined]) {
      const options = tracer === undefined ? {} : { tracer }
      const { result } = await service.call(method, [blockAt(number).hash, options])
      const byNumber = await service.call('debug_traceBlockByNumber', [quantity(number), options])
      t.strictSame(result, byNumber.result)
    }
  }
})

t.test('a block that is not known is refused', async (t) => {
  await checkRefusals(t, service, method, [[[unknownHash], -32000, `block ${unknownHash} not found`]])
})
