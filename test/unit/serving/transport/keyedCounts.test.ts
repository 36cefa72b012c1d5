import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import { allotTotals, sharedTotals } from '../../../../src/serving/transport/totals.js'
import { propertyRuns } from '../../../library/property.js'
import { once } from '../../../library/until.js'
import type { CountingTask } from '../../../pool/countingThread.js'

/** Makes totals over one shared memory, like those of several edges. */
const makeCounts = (keysMax: number) => {
  const memory = allotTotals(keysMax)
  const open = () => {
    const { addOfKey } = sharedTotals(memory, keysMax)
    return { add: addOfKey }
  }
  return { memory, open, counts: open() }
}

/** Ids of keys in one group. */
const keyOf = (index: number) => `0123${index.toString(16).padStart(8, '0')}`

const threadUrl = new URL('../../../pool/countingThread.js', import.meta.url)

t.test('counts are those of a Map, however keys come and go, whoever counts', async (t) => {
  const steps = fc.array(fc.tuple(fc.nat(11), fc.nat(1), fc.boolean()), { maxLength: 200 })
  const holds = fc.property(steps, (changes) => {
    const { open } = makeCounts(8)
    const threads = [open(), open()]
    const expected = [new Map<string, number>(), new Map<string, number>()]
    for (const [index, thread, isUp] of changes) {
      const key = keyOf(index)
      const own = expected[thread] as Map<string, number>
      const known = own.get(key) ?? 0
      if (!isUp && known === 0) continue
      own.set(key, known + (isUp ? 1 : -1))
      const sum = expected.reduce((all, counts) => all + (counts.get(key) ?? 0), 0)
      if (threads[thread]?.add(key, isUp ? 1 : -1) !== sum) return false
    }
    return true
  })
  fc.assert(holds, propertyRuns(100))
  t.pass('they are')
})

t.test('a key that finds no room is told so, and has not been counted', async (t) => {
  const { counts } = makeCounts(2)
  for (let index = 0; index < 4; index++) t.equal(counts.add(keyOf(index), 1), 1)
  t.equal(counts.add(keyOf(4), 1), Number.POSITIVE_INFINITY)
  t.equal(counts.add(keyOf(0), 1), 2)
  counts.add(keyOf(1), -1)
  t.equal(counts.add(keyOf(4), 1), 1)
})

t.test('keys that come and go for long leave room for others', async (t) => {
  const { counts } = makeCounts(100)
  const found = new Set<number>()
  for (let index = 0; index < 5_000; index++) {
    found.add(counts.add(keyOf(index), 1))
    if (index >= 100) counts.add(keyOf(index - 100), -1)
  }
  t.strictSame([...found], [1])
})

t.test('threads that count at the same time lose nothing', async (t) => {
  const { memory, counts } = makeCounts(8)
  const threads = [1, 2].map(() => {
    const task: CountingTask = { memory, keysMax: 8, rounds: 2_000 }
    return new Worker(threadUrl, { workerData: task })
  })
  const lowest = await Promise.all(
    threads.map(async (thread) => {
      await once(thread, 'message')
      return (await once(thread, 'message'))[0]
    }),
  )
  t.strictSame(lowest, [0, 0], 'no count was ever below zero')
  for (let index = 0; index < 8; index++) t.equal(counts.add(keyOf(index), 1), 1)
})

t.test('a thread that is ended while it counts keeps nobody waiting', async (t) => {
  const { memory, counts } = makeCounts(8)
  for (let round = 1; round <= 20; round++) {
    const task: CountingTask = { memory, keysMax: 8, rounds: Number.POSITIVE_INFINITY }
    const thread = new Worker(threadUrl, { workerData: task })
    await once(thread, 'message')
    await thread.terminate()
    for (let index = 0; index < 8; index++) {
      t.ok(counts.add(keyOf(index), 1) >= round)
    }
  }
})
