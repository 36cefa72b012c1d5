/**
 * A thread that spends unit by unit from keys of a shared meter while the clock does not move. Reports the number of
 * its units.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Meter } from '../../../../src/serving/access/meter.js'

const { memory, rates, keyIds, tries, threads, gate } = workerData
const meter = new Meter(memory, () => 1_000)
const arrived = new Int32Array(gate)
const got = (keyIds as string[]).map((keyId, round) => {
  const bucket = meter.bucketOf(keyId, 0, rates)
  // All begin together, or one would be done before the next has started.
  Atomics.add(arrived, 0, 1)
  while (Atomics.load(arrived, 0) < threads * (round + 1));
  let charged = 0
  for (let i = 0; i < tries; i++) if (bucket.charge(1) === 0) charged++
  return charged
})
parentPort?.postMessage(got)
