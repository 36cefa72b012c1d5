// @shares
import t from 'tap'
import { FaultError } from '../../../src/primitives/faults.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { queueStores } from '../../rollup/queues.js'

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
            submit(makeTransaction(1, 0, { signature: [`0x${i.toString(16)}`] }))
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

        // What is rejected may come again, its signature corrected; that needs no hash either.
        await deliveries.settle(hash as never, { code: 55, text: 'bad signature' })
        t.equal(await submit(makeTransaction(1, 0, { signature: ['0xabc'] })), hash)
        t.strictSame((await queue.readTransaction(hash as never))?.signature, ['0xabc'])
        t.equal(hashed.length, 1)
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
    // It takes the place and the bytes of the other one.
    await submit(dearer(12, 410))
    t.match(queue.counts(), { waiting: 1 })
    t.ok(queue.counts().waitingBytes > before.waitingBytes)
  })
}
