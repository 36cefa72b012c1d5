/**
 * Entry of every thread of the pool: waits for jobs, passes each to its handler, and sends the replies. Owns the
 * thread's port and loop. jobThread.ts owns the frame around a job, and the other entries the work.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import {
  encodeThrown,
  type JobMessage,
  type JobReply,
  type Parcel,
  packReplies,
  post,
  type SessionTask,
  type ThreadData,
  type ThreadReady,
  unpackJobs,
} from '../src/serving/pool/messages.js'
import { ownSchedstat, readThreadCpuMs } from '../src/serving/pool/threadCpu.js'
import { type JobHandler, openParts } from './jobThread.js'

/**
 * Jobs after which the thread's event loop gets a turn. Without one, the timers of 200 bytes that
 * lmdb leaves after each read would never be removed.
 */
const jobsPerTurn = 64

/**
 * Below this, the elapsed time of a job counts as its CPU time: reading that is a system call, and its value lags
 * behind.
 */
const exactMsMin = 2

/**
 * Once jobs on trial have taken this long, the rest of them wait again, so that no caller waits longer for the others.
 */
const trialsMsMax = 5

/** Least time between two readings of the heap size, which take some microseconds. */
const heapMs = 1_000

const { jobs: definitions, preload } = workerData as ThreadData
const handlers = new Map<string, JobHandler>()

/** Does jobs until the thread ends. Between jobs the thread sleeps in `Atomics.wait`, without an event loop. */
export async function runSession({ port, posted, heap }: SessionTask): Promise<never> {
  openParts(port)
  await import(preload)
  port.postMessage({ schedstat: ownSchedstat } satisfies ThreadReady)
  let reportedMs = Number.NEGATIVE_INFINITY
  const reportHeap = () => {
    if (performance.now() - reportedMs < heapMs) return
    heap[0] = getHeapStatistics().used_heap_size
    reportedMs = performance.now()
  }
  reportHeap()
  let seen = 0
  for (let done = 0; ; ) {
    Atomics.wait(posted, 0, seen)
    seen = Atomics.load(posted, 0)
    for (;;) {
      const received = receiveMessageOnPort(port)
      if (received === undefined) break
      const jobs = unpackJobs(received.message as Parcel)
      post(port, packReplies(await doJobs(jobs)))
      reportHeap()
      done += jobs.length
      if (done < jobsPerTurn) continue
      done = 0
      await new Promise(setImmediate)
    }
  }
}

async function doJobs(jobs: readonly JobMessage[]): Promise<JobReply[]> {
  const replies: JobReply[] = []
  let cpuBeforeMs = readThreadCpuMs()
  const beganAtMs = performance.now()
  for (const message of jobs) {
    if (message.isTrial && performance.now() - beganAtMs > trialsMsMax) {
      replies.push({ reply: 'unbegun', ranMs: 0, cpuMs: 0 })
      continue
    }
    const handler = handlers.get(message.name) ?? (await loadHandler(message.name))
    const startedAtMs = performance.now()
    const reply = await handler(message).catch(encodeThrown)
    const ranMs = performance.now() - startedAtMs
    let cpuMs = ranMs
    if (cpuBeforeMs !== undefined && ranMs >= exactMsMin) {
      const cpuAfterMs = readThreadCpuMs() ?? 0
      cpuMs = Math.min(ranMs, Math.max(cpuAfterMs - cpuBeforeMs, 0))
      cpuBeforeMs = cpuAfterMs
    } else if (cpuBeforeMs !== undefined) cpuBeforeMs += ranMs
    replies.push({ reply, ranMs, cpuMs })
  }
  return replies
}

/** The handler of a job. If it cannot be loaded, a handler that replies with the reason. */
async function loadHandler(name: string): Promise<JobHandler> {
  try {
    const job = definitions[name]
    if (job === undefined) throw new Error(`the pool knows no job ${name}`)
    const entry = (await import(job.entry)) as Readonly<Record<string, JobHandler>>
    const handler = entry[job.handler]
    if (handler === undefined) throw new Error(`${job.entry} exports no ${job.handler}`)
    handlers.set(name, handler)
    return handler
  } catch (thrown) {
    return async () => encodeThrown(thrown)
  }
}
