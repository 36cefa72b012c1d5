import t from 'tap'
import { startService } from '../../service/service.js'

// test/unit/serving/streams/networkStreams.test.ts tests the method on a connection.
t.test('HTTP has no connection that a subscription could be of', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const refusal = { code: -32601, message: 'notifications not supported' }
  for (const params of [['0x1'], [], [5]]) {
    t.strictSame((await service.call('eth_unsubscribe', params)).error, refusal)
  }
})
