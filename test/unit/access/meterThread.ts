/** A thread that spends unit by unit from one key of a shared meter while the clock stands, and tells how many it got. */
import { parentPort, workerData } from 'node:worker_threads'
import { Meter } from '../../../src/access/meter.js'

const { memory, rates, keyId, tries, threads, gate } = workerData
const allowance = new Meter(memory, () => 1_000).bucketOf(keyId, 0, rates)
const ready = new Int32Array(gate)
Atomics.add(ready, 0, 1)
// All begin together, or one would be done before the next has started.
while (Atomics.load(ready, 0) < threads);
let got = 0
for (let i = 0; i < tries; i++) if (allowance.charge(1) === 0) got++
parentPort?.postMessage(got)
