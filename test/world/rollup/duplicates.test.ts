// @shares
import t from 'tap'
import { nobody } from '../../../src/data/store/node/submissions.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { signaturesMax } from '../../../src/serving/rollup/submissionQueue.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { queueStores, refusal } from '../../rollup/queues.js'

const many = 1_000

for (const [where, open] of await queueStores(t)) {
  for (const idempotent of [true, false]) {
    t.test(
      `identical submissions cost one hash and one row, idempotent: ${idempotent}, ${where}`,
      async (t) => {
        const { queue, deliveries, submit, hashed } = await open(t, t.testdir(), { idempotent })
        const settled: number[] = []
        const outcomes = await Promise.all(
          Array.from({ length: many }, (_, i) =>
            submit(makeTransaction(1, 0, { signature: ['0x0'] }))
              .catch((error: unknown) => {
                if (error instanceof FaultError && error.fault.kind === 'InvokeRefused')
                  return error.fault.code
                throw error
              })
              .finally(() => settled.push(i)),
          ),
        )
        t.equal(hashed.length, 1)
        t.match(queue.counts(), { waiting: 1 })
        const [hash] = outcomes
        t.strictSame(
          outcomes.slice(1).filter((outcome) => outcome !== (idempotent ? hash : 59)),
          [],
        )
        t.equal(settled[0], 0, 'nobody is answered before the first, which is on disk then')
        t.strictSame((await queue.readTransaction(hash as never))?.signature, ['0x0'])

        // A rejected transaction may be sent again with a correct signature; that needs no hash either.
        await deliveries.settle(hash as never, { code: 55, text: 'bad signature' })
        t.equal(await submit(makeTransaction(1, 0, { signature: ['0xabc'] })), hash)
        t.strictSame((await queue.readTransaction(hash as never))?.signature, ['0xabc'])
        t.equal(hashed.length, 1)
      },
    )
  }

  for (const idempotent of [true, false]) {
    t.test(
      `each signature of a hash waits for its own verdict, idempotent: ${idempotent}, ${where}`,
      async (t) => {
        const { queue, deliveries, submit } = await open(t, t.testdir(), { idempotent })
        const signed = (signature: number) =>
          makeTransaction(1, 0, { signature: [`0x${signature.toString(16)}`] })
        const lane = { key: nobody, sender: '0x1' } as const
        const hash = await submit(signed(1))
        const first = await deliveries.beginSending(lane)
        for (let signature = 2; signature <= signaturesMax; signature++) {
          t.equal(await submit(signed(signature)), hash)
        }
        t.equal(queue.counts().waiting, signaturesMax)
        await t.rejects(submit(signed(signaturesMax + 1)), refusal(59), 'so many, and no more')
        const repeated = await submit(signed(2)).catch((error: unknown) => error)
        t.strictSame(repeated, idempotent ? hash : refusal(59))
        if (first === undefined) throw new Error('nothing was sent')
        await deliveries.settle(first, { code: 55, text: 'bad signature' })
        t.match(await queue.readRow(hash), { state: 'RECEIVED' }, 'another one waits')
        const second = await deliveries.beginSending(lane)
        t.strictSame(JSON.parse(second?.body ?? '').signature, ['0x2'], 'in the order of their arrival')
        if (second === undefined) throw new Error('nothing was sent')
        await deliveries.settle(second, undefined)
        t.match(await queue.readRow(hash), { state: 'ACCEPTED' }, 'one is enough')
        const after = await submit(signed(99)).catch((error: unknown) => error)
        t.strictSame(after, idempotent ? hash : refusal(59), 'the sequencer has it, whatever its signature')
      },
    )
  }

  t.test(`the bytes of what waits are limited, whatever it replaces, ${where}`, async (t) => {
    const limits = { waitingBytesMax: 4_000, waitingMax: 1 }
    const { queue, submit } = await open(t, t.testdir(), { limits })
    const dearer = (tip: number, felts: number) => {
      const { resource_bounds, ...rest } = makeTransaction(1, 0, { calldata: Array(felts).fill('0x1') })
      const l2_gas = { max_amount: '0x5', max_price_per_unit: `0x${(2 ** tip).toString(16)}` }
      return { ...rest, tip: `0x${(2 ** tip).toString(16)}`, resource_bounds: { ...resource_bounds, l2_gas } }
    }
    await submit(dearer(10, 400))
    const before = queue.counts()
    const refused = await submit(dearer(11, 1_000)).catch((error: unknown) => error)
    t.match(refused, { fault: { kind: 'SubmissionsFull' } })
    t.match(queue.counts(), { waiting: 1, waitingBytes: before.waitingBytes })
    // This submission takes the place and the bytes of the other one.
    await submit(dearer(12, 410))
    t.match(queue.counts(), { waiting: 1 })
    t.ok(queue.counts().waitingBytes > before.waitingBytes)
  })
}
