/**
 * Traces by tracers in JavaScript: each runs in a thread with a kernel of its own, which end with it, so that nothing
 * that a tracer breaks is met by another call. Owns the start and the end of that thread; scriptThread.ts is what runs
 * in it.
 */
import { performance } from 'node:perf_hooks'
import { Worker, workerData } from 'node:worker_threads'
import { FaultError } from '../src/primitives/faults.js'
import { setInterval } from '../src/primitives/timers.js'
import { JobSignal } from '../src/serving/pool/jobCells.js'
import { encodeThrown, type JobMessage, type ThreadData } from '../src/serving/pool/messages.js'
import { countCpuMs } from '../src/serving/pool/threadCpu.js'
import type { JobHandler } from './jobThread.js'

/** `workerData` of the thread. */
export interface ScriptThreadData extends ThreadData {
  readonly message: JobMessage
}

/** The only message of the thread. */
export interface ScriptReply {
  readonly reply: Uint8Array<ArrayBuffer>
  readonly cpuMs: number
}

/** JavaScript heap: a result of 16 MiB of text, its million values, its text written anew, and as much again. */
const heapBytesMax = 192 * 2 ** 20

/** Between two looks whether the trace is to stop. */
const lookMs = 20

/**
 * How long a trace may take that was told to stop: it looks within milliseconds, but for a search by a regular expression
 * or a product of long numbers inside. Less than the grace of the pool, which would end this thread too.
 */
const graceMs = 500

const entry = new URL('./scriptThread.js', import.meta.url)

export const script: JobHandler = async (message) => {
  const data = workerData as ThreadData
  const thread = new Worker(entry, {
    // Its bytes are a piece of a group's.
    workerData: { ...data, message: { ...message, args: message.args.slice() } } satisfies ScriptThreadData,
    resourceLimits: { maxOldGenerationSizeMb: heapBytesMax / 2 ** 20 },
  })
  const unwatch = endWhenStopped(thread, data.cells, message)
  try {
    return await replyOf(thread)
  } finally {
    unwatch()
  }
}

/** Resolves once the thread has ended: it shares the job's cell, which is not to be given to another job before. */
function replyOf(thread: Worker): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve) => {
    // What a thread has that was ended.
    let reply = encodeThrown(new FaultError({ kind: 'RequestTimedOut' }))
    thread.on('message', (said: ScriptReply) => {
      reply = said.reply
      countCpuMs(said.cpuMs)
      void thread.terminate()
    })
    thread.on('error', (error: Error) => {
      const isOutOfMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      const fault = new FaultError({ kind: 'ExecutionOutOfMemory', limitBytes: heapBytesMax })
      reply = encodeThrown(isOutOfMemory ? fault : error)
    })
    thread.on('exit', () => resolve(reply))
  })
}

/** Ends the thread of a trace that was told to stop and does not, as soon as that is safe; see jobCells.ts. */
function endWhenStopped(
  thread: Worker,
  cells: SharedArrayBuffer,
  { cell, serial }: Pick<JobMessage, 'cell' | 'serial'>,
): () => void {
  const signal = new JobSignal(cells)
  signal.begin(cell, serial)
  let stoppedAtMs: number | undefined
  const timer = setInterval(() => {
    if (!signal.isStopped) return
    stoppedAtMs ??= performance.now()
    if (performance.now() - stoppedAtMs >= graceMs && signal.seal()) void thread.terminate()
  }, lookMs)
  return () => clearInterval(timer)
}
