import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import { KeyedCounts } from '../../../src/transport/keyedCounts.js'
import { propertyRuns } from '../../property.js'

const makeCounts = (keysMax: number) => {
  const memory = new SharedArrayBuffer(KeyedCounts.bytesFor(keysMax))
  return { memory, counts: new KeyedCounts(memory, 0) }
}

t.test('counts are those of a Map, however keys come and go', async (t) => {
  const steps = fc.array(fc.tuple(fc.nat(11), fc.boolean()), { maxLength: 200 })
  const holds = fc.property(steps, (changes) => {
    const { memory, counts } = makeCounts(8)
    const expected = new Map<string, number>()
    for (const [index, isUp] of changes) {
      const key = `key ${index}`
      const known = expected.get(key) ?? 0
      if (!isUp && known === 0) continue
      const count = known + (isUp ? 1 : -1)
      const isFull = known === 0 && [...expected.values()].filter((value) => value > 0).length === 16
      if (isFull) continue
      expected.set(key, count)
      if (counts.add(key, isUp ? 1 : -1) !== count) return false
    }
    for (const [key, count] of expected) if (count > 0) counts.add(key, -count)
    // Nothing of a key remains when its count is zero.
    return new Int32Array(memory).every((word, at) => word === 0 || at % 4 !== 0)
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

t.test('threads that count at the same time lose nothing', async (t) => {
  const { memory, counts } = makeCounts(8)
  const url = new URL('../../countingThread.js', import.meta.url)
  const threads = [1, 2].map(() => new Worker(url, { workerData: { memory, rounds: 2_000 } }))
  const lowest = await Promise.all(threads.map(async (thread) => (await once(thread, 'message'))[0]))
  t.strictSame(lowest, [0, 0], 'no count was ever below zero')
  for (let index = 0; index < 8; index++) t.equal(counts.add(`key ${index}`, 1), 1)
})
