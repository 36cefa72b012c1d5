/** Latencies at a fixed rate, by autocannon in a process of its own on the loader's core. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endWithThisProcess, messageOf } from '../servers/serverProcess.js'
import type { LatencyJob } from './latencyLoader.js'

/** Time besides the job's own: for starting, on a busy machine. */
const spareMs = 60_000

/** Latencies in ms, of `rate` × `seconds` questions. Rejects where a connection or an answer failed. */
export async function askByAutocannon(job: LatencyJob): Promise<readonly number[]> {
  const program = fileURLToPath(new URL('./latencyLoader.js', import.meta.url))
  const loader = endWithThisProcess(fork(program))
  try {
    const answer = messageOf(loader, 'autocannon', job.seconds * 1000 + spareMs)
    loader.send(job)
    const said = await answer
    if (!Array.isArray(said)) throw new Error(String(said))
    return said as number[]
  } finally {
    loader.kill('SIGKILL')
  }
}
