/**
 * Traces by tracers in JavaScript: each runs in a thread with a kernel of its own. Both end with the trace, so that
 * damage done by a tracer affects no other call. Owns the start and the end of that thread; scriptThread.ts runs in it.
 */
import { performance } from 'node:perf_hooks'
import { Worker, workerData } from 'node:worker_threads'
import { compileKernels } from '../src/execution/evm/engine/kernelModule.js'
import { compileJavaScript } from '../src/execution/evm/tracers/javascriptEngine.js'
import type { TraceRequest } from '../src/execution/evm/tracers/traceRequest.js'
import { FaultError } from '../src/primitives/faults.js'
import { startedUrl } from '../src/primitives/packageRoot.js'
import { setInterval } from '../src/primitives/timers.js'
import { JobSignal } from '../src/serving/pool/jobCells.js'
import { decodeArgs, encodeThrown, type JobMessage, type ThreadData } from '../src/serving/pool/messages.js'
import { countCpuMs } from '../src/serving/pool/threadCpu.js'
import type { JobHandler } from './jobThread.js'

/** `workerData` of the thread. */
export interface ScriptThreadData extends ThreadData {
  readonly message: JobMessage
}

/** Last message of the thread, after `begins`. */
export interface ScriptReply {
  readonly reply: Uint8Array<ArrayBuffer>
  readonly cpuMs: number
}
export type ScriptMessage = 'begins' | ScriptReply

/** JavaScript heap: a result of 16 MiB of text, its million values, its text in a second form, and the same again. */
const heapBytesMax = 192 * 2 ** 20

/** Time between two checks whether the trace should stop. */
const lookMs = 20

/**
 * Grace of a trace whose time is over. It checks within milliseconds, except during one engine operation, such as a
 * search in an endless list. Less than the grace of the pool, which would end this thread too.
 */
const graceMs = 500

// Compiled once: if each thread compiled them, the trace of a small transaction would take 565 ms of CPU in place of
// 270.
compileKernels()
compileJavaScript()

export const script: JobHandler = async (message) => {
  const data = workerData as ThreadData
  // Copied, because the bytes are a view of a group's message.
  const args = message.args.slice()
  const thread = new Worker(startedUrl('scriptThread'), {
    workerData: { ...data, message: { ...message, args } } satisfies ScriptThreadData,
    resourceLimits: { maxOldGenerationSizeMb: heapBytesMax / 2 ** 20 },
  })
  const { timeMs = Number.POSITIVE_INFINITY } = decodeArgs(args) as TraceRequest
  const ending = new Ending(thread, data.cells, message, timeMs)
  try {
    return await replyOf(thread, ending)
  } finally {
    ending.cancel()
  }
}

/** Resolves once the thread has ended: it shares the job's cell, which must not go to another job before. */
function replyOf(thread: Worker, ending: Ending): Promise<Uint8Array<ArrayBuffer>> {
  const beganAtMs = performance.now()
  return new Promise((resolve) => {
    // Stays undefined for a thread that was ended, which cannot report its time.
    let cpuMs: number | undefined
    let reply: Uint8Array<ArrayBuffer> | undefined
    thread.on('message', (said: ScriptMessage) => {
      if (said === 'begins') return ending.begin()
      reply = said.reply
      cpuMs = said.cpuMs
      void thread.terminate()
    })
    thread.on('error', (error: Error) => {
      const isOutOfMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      const fault = new FaultError({ kind: 'ExecutionOutOfMemory', limitBytes: heapBytesMax })
      reply = encodeThrown(isOutOfMemory ? fault : error)
    })
    thread.on('exit', () => {
      countCpuMs(cpuMs ?? performance.now() - beganAtMs)
      resolve(reply ?? encodeThrown(ending.fault))
    })
  })
}

/** Ends the thread of a trace that runs past its time, as soon as that is safe; see jobCells.ts. */
class Ending {
  readonly #signal: JobSignal
  readonly #timer: NodeJS.Timeout
  readonly #timeMs: number
  #endsAtMs = Number.POSITIVE_INFINITY

  constructor(
    thread: Worker,
    cells: SharedArrayBuffer,
    { cell, serial }: Pick<JobMessage, 'cell' | 'serial'>,
    timeMs: number,
  ) {
    this.#timeMs = timeMs
    this.#signal = new JobSignal(cells)
    this.#signal.begin(cell, serial)
    let overSinceMs: number | undefined
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      if (!this.#signal.isStopped && nowMs < this.#endsAtMs) return
      overSinceMs ??= nowMs
      if (nowMs - overSinceMs >= graceMs && this.#signal.seal()) void thread.terminate()
    }, lookMs)
  }

  /** Starts the clock of the trace. */
  begin(): void {
    this.#endsAtMs = performance.now() + this.#timeMs
  }

  cancel(): void {
    clearInterval(this.#timer)
  }

  /** The reason for its end. */
  get fault(): FaultError {
    if (this.#signal.isStopped) return new FaultError({ kind: 'RequestTimedOut' })
    return new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: this.#timeMs / 1_000 })
  }
}
