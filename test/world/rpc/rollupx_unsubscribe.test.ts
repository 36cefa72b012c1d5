// @shares
import t from 'tap'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { openQueue } from '../../rollup/queues.js'
import { startRollup } from '../../rollup/rollupService.js'
import { connect } from '../../rollup/statusClient.js'
import { checkRefusals } from '../../rpc/questions.js'

t.test('nothing comes after it', async (t) => {
  const { queue, deliveries, submit } = openQueue(t, t.testdir())
  const client = connect(t, queue)
  const hash = await submit(makeTransaction(1, 0))
  const { result: id } = client.call('rollupx_subscribeTransactionStatus', [hash])
  t.equal(connect(t, queue).call('rollupx_unsubscribe', [id]).result, false, 'not by another connection')
  t.equal(client.call('rollupx_unsubscribe', { subscription_id: id }).result, true)
  t.equal(client.call('rollupx_unsubscribe', [id]).result, false)
  const { length } = client.sent
  await deliveries.settle(hash, undefined)
  t.equal(client.sent.length, length)
})

t.test('what is refused', async (t) => {
  const service = await startRollup(t)
  await checkRefusals(t, service, 'rollupx_unsubscribe', [
    [['0x1'], -32601, 'notifications not supported'],
    [[], -32602, 'missing value for required argument 0'],
    [[1], -32602, 'invalid argument 0: want a subscription id, got number'],
  ])
})
