// @shares
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { startRollup, startRollups } from '../../rollup/rollupService.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_getTransactionStatus'

t.test('received, over a restart, until it is too old', async (t) => {
  const folder = makeFolder(t)
  const first = await startRollup(t, {}, folder)
  const hash = await first.take(makeTransaction(1, 0))
  const received = { finality_status: 'RECEIVED', queue_status: 'RECEIVED' }
  t.strictSame(await first.status(hash), received)
  await first.stop()
  const second = await startRollup(t, {}, folder)
  t.strictSame(await second.status(hash), received)
  t.strictSame((await second.call(method, { transaction_hash: hash })).result, received)
  await second.stop()
  const ageMsMax = 1_000
  const short = await startRollup(t, { queue: { ageMsMax, retentionMs: 3_600_000 } }, folder)
  const expired = await waitFor('its expiry', async () => {
    const answer = await short.call(method, [hash])
    return answer.result?.queue_status === 'REJECTED' && answer.result
  })
  t.strictSame(expired, {
    finality_status: 'REJECTED',
    failure_reason: 'expired: no verdict of the sequencer within 1 s',
    queue_status: 'REJECTED',
  })
  await short.stop()
  const last = await startRollup(t, { queue: { ageMsMax, retentionMs: 2_000 } }, folder)
  await waitFor('its removal', async () => (await last.call(method, [hash])).error?.code === 29)
})

const sequencer = await startSequencer(t)
const url = `${sequencer.origin}/rpc`
const networks = await startRollups(t, {
  waiting: { upstream: { url } },
  accepting: { upstream: { url, mode: 'accept' } },
})

t.test('accepted and rejected, as the sequencer says', async (t) => {
  const service = networks.waiting
  const accepted = await service.take(makeTransaction(1, 0))
  t.strictSame(await service.status(accepted), {
    finality_status: 'ACCEPTED_ON_L2',
    execution_status: 'SUCCEEDED',
    queue_status: 'ACCEPTED',
  })
  const wordless = [
    { status: 503, body: 'later' },
    {
      status: 200,
      body: '{"jsonrpc":"2.0","id":1,"error":{"code":29,"message":"Transaction hash not found"}}',
    },
    { status: 200, body: '{"jsonrpc":"2.0","id":1,"result":[]}' },
  ]
  for (const answer of wordless) {
    await sequencer.order({ kind: 'say', next: [answer] })
    t.strictSame(await service.status(accepted), { finality_status: 'RECEIVED', queue_status: 'ACCEPTED' })
  }
  await sequencer.order({
    kind: 'react',
    next: [{ kind: 'error', code: 55, message: 'Account validation failed', data: 'bad signature' }],
  })
  const refused = await service.submit(makeTransaction(1, 1))
  t.strictSame(refused.error, { code: 55, message: 'Account validation failed', data: 'bad signature' })
  // The hash excludes the signature: the same transaction with a right signature is accepted, and has the hash.
  const hash = await service.take(makeTransaction(1, 1, { signature: ['0x7', '0x8'] }))
  t.equal((await service.status(hash)).queue_status, 'ACCEPTED')
})

t.test('a rejected transaction keeps its reason', async (t) => {
  const service = networks.accepting
  await sequencer.order({
    kind: 'react',
    always: { kind: 'error', code: 55, message: 'Account validation failed', data: 'bad signature' },
  })
  const hash = await service.take(makeTransaction(2, 1))
  const rejected = await waitFor('the rejection', async () => {
    const status = await service.status(hash)
    return status.queue_status === 'REJECTED' && status
  })
  t.strictSame(rejected, {
    finality_status: 'REJECTED',
    failure_reason: 'Account validation failed: bad signature',
    queue_status: 'REJECTED',
  })
})

t.test('what is unknown and what is no hash', async (t) => {
  await checkRefusals(t, networks.waiting, method, [
    [['0x1'], 29, 'Transaction hash not found'],
    [['0xg'], -32602, 'invalid argument 0: want a transaction hash of 1 to 64 hex digits'],
  ])
})
