/** Entry of a thread that counts keys up and down, as concurrent edges do; `rounds` may be endless. */
import { parentPort, workerData } from 'node:worker_threads'
import { sharedTotals } from '../../src/serving/transport/totals.js'

export interface CountingTask {
  readonly memory: SharedArrayBuffer
  readonly keysMax: number
  readonly rounds: number
}

const { memory, keysMax, rounds } = workerData as CountingTask
const { addOfKey } = sharedTotals(memory, keysMax)
let lowest = 0
for (let round = 0; round < rounds; round++) {
  const keys = Array.from({ length: 6 }, (_, index) => `01230000000${(round + index * 3) % 8}`)
  for (const key of keys) addOfKey(key, 1)
  for (const key of keys.reverse()) lowest = Math.min(lowest, addOfKey(key, -1))
  if (round === 0) parentPort?.postMessage('counting')
}
parentPort?.postMessage(lowest)
