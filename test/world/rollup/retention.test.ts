// @shares
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Felt } from '../../../src/serving/rollup/felt.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { openQueue, queueStores, refusal } from '../../rollup/queues.js'
import { startSequencer } from '../../rollup/sequencer.js'

for (const [where, open] of await queueStores(t)) {
  t.test(`what waits too long is rejected, what was kept long enough goes, ${where}`, async (t) => {
    const { queue, submit } = await open(t, t.testdir(), {
      limits: { waitingMsMax: 60_000, retentionMs: 120_000 },
    })
    const hash = await submit(makeTransaction(1, 0))
    const now = Date.now()
    await queue.sweep(now + 59_000)
    t.equal((await queue.readRow(hash))?.state, 'RECEIVED')
    await queue.sweep(now + 61_000)
    t.strictSame((await queue.readRow(hash))?.rejection, {
      code: undefined,
      text: 'expired: no verdict of the sequencer within 60 s',
    })
    t.match(queue.counts(), { waiting: 0, waitingBytes: 0, settled: 1 })
    t.equal((await queue.readTransaction(hash))?.nonce, '0x0')
    await queue.sweep(now + 119_000)
    t.ok(await queue.readRow(hash))
    await queue.sweep(now + 181_000)
    t.equal(await queue.readRow(hash), undefined)
    t.equal(await queue.readTransaction(hash), undefined)
    t.equal(queue.counts().settled, 0)
  })

  t.test(`only so many settled ones are kept, the newest, ${where}`, async (t) => {
    const { queue, deliveries, submit, close } = await open(t, t.testdir(), { limits: { settledMax: 300 } })
    const hashes = await Promise.all(Array.from({ length: 801 }, (_, i) => submit(makeTransaction(i + 1, 0))))
    for (const hash of hashes.slice(0, 501)) await deliveries.settle(hash, undefined)
    // Submissions settled in the same millisecond have the same age.
    await delay(2)
    for (const hash of hashes.slice(501)) await deliveries.settle(hash, undefined)
    t.equal(queue.counts().settled, 801)
    await queue.sweep()
    t.equal(queue.counts().settled, 300)
    t.strictSame(
      (await Promise.all(hashes.map((hash) => queue.readRow(hash)))).map((row) => row !== undefined),
      hashes.map((_, i) => i >= 501),
    )
    await close()
  })

  t.test(
    `a rejected transaction frees its nonce and its hash, an accepted one keeps its hash, ${where}`,
    async (t) => {
      const { queue, deliveries, submit } = await open(t, t.testdir())
      const changes: string[] = []
      queue.onStatus(({ state }) => changes.push(state))
      // A subscriber gets only the last one of several changes in a short time.
      const reported = (count: number) => waitFor('the change to be told', () => changes.length >= count)
      const hash = await submit(makeTransaction(1, 0))
      await reported(1)
      await deliveries.settle(hash, { code: 55, text: 'bad signature' })
      await reported(2)
      t.equal(await submit(makeTransaction(1, 0, { signature: ['0x9'] })), hash)
      await reported(3)
      t.strictSame((await queue.readTransaction(hash))?.signature, ['0x9'])
      t.match(queue.counts(), { waiting: 1, settled: 0 })
      await deliveries.settle(hash, undefined)
      await reported(4)
      await deliveries.settle(hash, { code: 55, text: 'too late' })
      t.match(await queue.readRow(hash), { state: 'ACCEPTED', rejection: undefined })
      await t.rejects(submit(makeTransaction(1, 0)), refusal(59))
      await submit(makeTransaction(1, 0, { calldata: ['0x9'] }))
      await reported(5)
      t.strictSame(changes, ['RECEIVED', 'REJECTED', 'RECEIVED', 'ACCEPTED', 'RECEIVED'])
    },
  )

  t.test(`expiry does not overtake a sending that was begun before, ${where}`, async (t) => {
    const { queue, deliveries, submit } = await open(t, t.testdir(), { limits: { waitingMsMax: 60_000 } })
    const hash = await submit(makeTransaction(1, 0))
    const [outgoing] = await Promise.all([
      deliveries.beginSending('0x1' as Felt),
      queue.sweep(Date.now() + 61_000),
    ])
    t.equal(outgoing?.hash, hash)
    t.equal((await queue.readRow(hash))?.state, 'SENT')
  })

  t.test(`what the sequencer may have expires only if it does not have it, ${where}`, async (t) => {
    const sequencer = await startSequencer(t)
    const url = `${sequencer.origin}/rpc`
    for (const [sender, lost, end] of [
      [1, 'dropAfter', 'ACCEPTED'],
      [2, 'dropBefore', 'REJECTED'],
    ] as const) {
      const { queue, submit, reaches, forward } = await open(t, t.testdir(), { limits: { waitingMsMax: 1 } })
      await sequencer.order({
        kind: 'react',
        next: [{ kind: lost }],
        always: { kind: 'status', status: 503, body: '' },
      })
      // Without an answer about it, the outcome stays unknown.
      await sequencer.order({
        kind: 'say',
        next: [
          { status: 503, body: '' },
          { status: 200, body: '{"error":{"code":-32603}}' },
        ],
      })
      const hash = await submit(makeTransaction(sender, 0))
      forward({ url })
      const isSent = async () => (await queue.readRow(hash))?.state !== 'RECEIVED'
      await waitFor('it to be sent', isSent)
      await waitFor('it to be asked for', async () => {
        await queue.sweep()
        return (await sequencer.report()).asked.filter((each) => each === hash).length >= 2
      })
      await reaches(hash, end)
      const text = 'expired: no verdict of the sequencer within 0 s'
      t.strictSame(
        (await queue.readRow(hash))?.rejection,
        end === 'ACCEPTED' ? undefined : { code: undefined, text },
      )
    }
  })
}

t.test('a store of another chain is refused under the same name', async (t) => {
  const folder = t.testdir()
  await openQueue(t, folder).close()
  const { NodeStore } = await import('../../../src/data/store/node/nodeStore.js')
  const store = NodeStore.open({ path: `${folder}/node.mdb`, mapBytes: 2 ** 30 })
  t.throws(() => store.openSubmissions('roll', '0x1'), {
    name: 'OperatorError',
    message: /chain id is 0x1 now/,
  })
  await store.close()
})
