/** Entry of a thread that counts keys up and down again, as edges do at the same time. */
import { parentPort, workerData } from 'node:worker_threads'
import { KeyedCounts } from '../src/transport/keyedCounts.js'

const { memory, rounds } = workerData as { memory: SharedArrayBuffer; rounds: number }
const counts = new KeyedCounts(memory, 0)
let lowest = 0
for (let round = 0; round < rounds; round++) {
  const keys = Array.from({ length: 6 }, (_, index) => `key ${(round + index * 3) % 8}`)
  for (const key of keys) counts.add(key, 1)
  for (const key of keys.reverse()) lowest = Math.min(lowest, counts.add(key, -1))
}
parentPort?.postMessage(lowest)
