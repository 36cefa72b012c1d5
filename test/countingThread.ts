/** Entry of a thread that counts keys up and down again, as edges do at the same time; `rounds` may be endless. */
import { parentPort, workerData } from 'node:worker_threads'
import { type CountsLayout, KeyedCounts } from '../src/transport/keyedCounts.js'

export interface CountingTask {
  readonly memory: SharedArrayBuffer
  readonly layout: CountsLayout
  readonly rounds: number
}

const { memory, layout, rounds } = workerData as CountingTask
const counts = new KeyedCounts(memory, layout)
let lowest = 0
for (let round = 0; round < rounds; round++) {
  const keys = Array.from({ length: 6 }, (_, index) => `key ${(round + index * 3) % 8}`)
  for (const key of keys) counts.add(key, 1)
  for (const key of keys.reverse()) lowest = Math.min(lowest, counts.add(key, -1))
  if (round === 0) parentPort?.postMessage('counting')
}
parentPort?.postMessage(lowest)
