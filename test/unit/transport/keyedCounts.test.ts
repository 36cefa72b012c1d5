import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import { KeyedCounts } from '../../../src/transport/keyedCounts.js'
import type { CountingTask } from '../../countingThread.js'
import { propertyRuns } from '../../property.js'
import { once } from '../../until.js'

const makeCounts = (keysMax: number, threads = 1) => {
  const bytes = KeyedCounts.bytesFor(keysMax, threads)
  const memory = new SharedArrayBuffer(bytes + 8)
  const layoutOf = (thread: number) => ({ offset: 8, bytes, threads, thread })
  const countsOf = (thread: number) => new KeyedCounts(memory, layoutOf(thread))
  return { memory, layoutOf, countsOf, counts: countsOf(0) }
}

const threadUrl = new URL('../../countingThread.js', import.meta.url)

t.test('counts are those of a Map, however keys come and go, whoever counts', async (t) => {
  const steps = fc.array(fc.tuple(fc.nat(11), fc.nat(1), fc.boolean()), { maxLength: 200 })
  const holds = fc.property(steps, (changes) => {
    const { countsOf } = makeCounts(8, 2)
    const threads = [countsOf(0), countsOf(1)]
    const expected = [new Map<string, number>(), new Map<string, number>()]
    for (const [index, thread, isUp] of changes) {
      const key = `key ${index}`
      const own = expected[thread] as Map<string, number>
      const known = own.get(key) ?? 0
      if (!isUp && known === 0) continue
      const isFull = known === 0 && [...own.values()].filter((value) => value > 0).length === 16
      if (isFull) continue
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
  for (let index = 0; index < 4; index++) t.equal(counts.add(`key ${index}`, 1), 1)
  t.equal(counts.add('one more', 1), Number.POSITIVE_INFINITY)
  t.equal(counts.add('key 0', 1), 2)
  counts.add('key 1', -1)
  t.equal(counts.add('one more', 1), 1)
})

t.test('keys that come and go for long leave room for others', async (t) => {
  const { counts } = makeCounts(100)
  const found = new Set<number>()
  for (let index = 0; index < 5_000; index++) {
    found.add(counts.add(`key ${index}`, 1))
    if (index >= 100) counts.add(`key ${index - 100}`, -1)
  }
  t.strictSame([...found], [1])
})

t.test('threads that count at the same time lose nothing', async (t) => {
  const { memory, layoutOf, counts } = makeCounts(8, 3)
  const threads = [1, 2].map((thread) => {
    const task: CountingTask = { memory, layout: layoutOf(thread), rounds: 2_000 }
    return new Worker(threadUrl, { workerData: task })
  })
  const lowest = await Promise.all(
    threads.map(async (thread) => {
      await once(thread, 'message')
      return (await once(thread, 'message'))[0]
    }),
  )
  t.strictSame(lowest, [0, 0], 'no count was ever below zero')
  for (let index = 0; index < 8; index++) t.equal(counts.add(`key ${index}`, 1), 1)
})

t.test('a thread that is ended while it counts keeps nobody waiting', async (t) => {
  const { memory, layoutOf, counts } = makeCounts(8, 2)
  for (let round = 1; round <= 20; round++) {
    const task: CountingTask = { memory, layout: layoutOf(1), rounds: Number.POSITIVE_INFINITY }
    const thread = new Worker(threadUrl, { workerData: task })
    await once(thread, 'message')
    await thread.terminate()
    for (let index = 0; index < 8; index++) {
      t.ok(counts.add(`key ${index}`, 1) >= round)
    }
  }
})
