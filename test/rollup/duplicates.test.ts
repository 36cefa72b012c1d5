import t from 'tap'
import { FaultError } from '../../src/primitives/faults.js'
import { makeTransaction } from './invokeTransactions.js'
import { queueStores } from './queues.js'

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
}
