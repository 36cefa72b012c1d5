// @shares
import t from 'tap'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { openQueue } from '../../rollup/queues.js'
import { startRollup } from '../../rollup/rollupService.js'
import { connect } from '../../rollup/statusClient.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_subscribeTransactionStatus'

t.test('the present status comes first, then each that follows', async (t) => {
  const { queue, deliveries, submit } = openQueue(t, t.testdir())
  const hash = await submit(makeTransaction(1, 0))
  const client = connect(t, queue)
  const { result: id } = client.call(method, { transaction_hash: hash })
  const other = client.call(method, [await submit(makeTransaction(2, 0))]).result
  t.not(id, other)
  await deliveries.beginSending('0x1' as never)
  await deliveries.settle(hash, { code: 55, text: 'bad signature' })
  await submit(makeTransaction(1, 0))
  await deliveries.settle(hash, undefined)
  const events = client.sent
    .map((text) => JSON.parse(text))
    .filter(({ params }) => params?.subscription_id === id)
  const received = (queue_status: string) => ({ finality_status: 'RECEIVED', queue_status })
  const rejected = {
    finality_status: 'REJECTED',
    failure_reason: 'Account validation failed: bad signature',
    queue_status: 'REJECTED',
  }
  t.strictSame(
    events,
    [received('RECEIVED'), received('SENT'), rejected, received('RECEIVED'), received('ACCEPTED')].map(
      (status) => ({
        jsonrpc: '2.0',
        method: 'rollupx_subscriptionTransactionStatus',
        params: { subscription_id: id, result: { transaction_hash: hash, status } },
      }),
    ),
  )
  t.strictSame(
    JSON.parse(client.sent[0] ?? ''),
    { jsonrpc: '2.0', id: 1, result: id },
    'the id comes before events',
  )
})

t.test('a transaction may be awaited before it is submitted, under any prefix', async (t) => {
  const { queue, submit } = openQueue(t, t.testdir())
  const known = openQueue(t, t.testdir({}))
  const hash = await known.submit(makeTransaction(9, 9))
  const client = connect(t, queue, ['rollupx', 'starknet'])
  client.call('starknet_subscribeTransactionStatus', [hash])
  t.equal(client.sent.length, 1)
  t.equal(await submit(makeTransaction(9, 9)), hash)
  t.match(JSON.parse(client.sent[1] ?? ''), { method: 'starknet_subscriptionTransactionStatus' })
})

t.test('a slow reader gets the last status', async (t) => {
  const { queue, deliveries, submit } = openQueue(t, t.testdir())
  const hash = await submit(makeTransaction(1, 0))
  const client = connect(t, queue)
  client.isReading = false
  client.send(Buffer.alloc(20_000, 0x20))
  client.call(method, [hash])
  await deliveries.beginSending('0x1' as never)
  await deliveries.settle(hash, undefined)
  t.equal(client.sent.length, 2)
  client.isReading = true
  client.read()
  t.equal(client.sent.length, 3)
  t.match(JSON.parse(client.sent[2] ?? ''), { params: { result: { status: { queue_status: 'ACCEPTED' } } } })
})

t.test('so many of one connection, and none after its end', async (t) => {
  const { queue, deliveries, submit } = openQueue(t, t.testdir())
  const client = connect(t, queue, ['rollupx'], 1)
  const hash = await submit(makeTransaction(1, 0))
  client.call(method, [hash])
  t.ok(client.call(method, [hash]).error)
  const { length } = client.sent
  client.subscriber.close()
  await deliveries.settle(hash, undefined)
  t.equal(client.sent.length, length)
})

t.test('what is refused', async (t) => {
  const service = await startRollup(t)
  await checkRefusals(t, service, method, [
    [['0x1'], -32601, 'notifications not supported'],
    [[], -32602, 'missing value for required argument 0'],
    [[1], -32602, 'invalid argument 0: want a transaction hash, got number'],
  ])
})
