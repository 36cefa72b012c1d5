/** A thread that spends unit by unit from one key of a shared meter while the clock stands, and tells how many it got. */
import { parentPort, workerData } from 'node:worker_threads'
import { Meter } from '../../../src/access/meter.js'

const { memory, rates, keyId, tries } = workerData
const allowance = new Meter(rates, memory, () => 1_000).allowanceOf(keyId)
let got = 0
for (let i = 0; i < tries; i++) if (allowance.charge(1) === 0) got++
parentPort?.postMessage(got)
