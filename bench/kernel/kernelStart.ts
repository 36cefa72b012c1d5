/** A new thread: the time to compile the kernel and to run its first messages. */
import { parentPort, workerData } from 'node:worker_threads'
import { Kernel } from '../../src/evm/engine/kernel.js'
import { onKernel } from './kernelEngines.js'
import { openHead, startNumbers } from './kernelSpeed.js'
import { type Workload, workloads } from './kernelWorkloads.js'

const start = performance.now()
new Kernel()
const compileMs = performance.now() - start
const run = onKernel(openHead(workerData), workloads[0] as Workload)
const firstMicros: number[] = []
for (let number = 1; number <= Math.max(...startNumbers); number++) {
  const begun = performance.now()
  run()
  const micros = (performance.now() - begun) * 1_000
  if ((startNumbers as readonly number[]).includes(number)) firstMicros.push(micros)
}
parentPort?.postMessage({ compileMs, firstMicros })
