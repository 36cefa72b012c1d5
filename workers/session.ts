/**
 * Entry of every thread of the pool: waits for jobs, hands each to the entry that does it, and sends the replies. Owns
 * the thread's port and loop; what is done around a job is jobThread.ts, the work the other entries'.
 */
import { receiveMessageOnPort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import {
  encodeThrown,
  type JobMessage,
  type SessionTask,
  type ThreadData,
  type ThreadReady,
} from '../src/pool/messages.js'
import type { JobHandler } from './jobThread.js'

/**
 * Jobs after which the thread's event loop has a turn, which costs some 10 µs. Jobs alone never give it one, and
 * each read of lmdb leaves a timer of 200 bytes behind that only a turn takes away.
 */
const jobsPerTurn = 64

const { works, preload } = Piscina.workerData as ThreadData
const handlers = new Map<string, JobHandler>()

/** Does jobs as long as the thread lives. Between jobs the thread sleeps without an event loop. */
export async function runSession({ port, posted }: SessionTask): Promise<never> {
  await import(preload)
  port.postMessage('ready' satisfies ThreadReady)
  let seen = 0
  for (let done = 0; ; ) {
    Atomics.wait(posted, 0, seen)
    seen = Atomics.load(posted, 0)
    for (;;) {
      const received = receiveMessageOnPort(port)
      if (received === undefined) break
      const replies: Uint8Array<ArrayBuffer>[] = []
      for (const message of received.message as readonly JobMessage[]) replies.push(await doJob(message))
      port.postMessage(
        replies,
        replies.map(({ buffer }) => buffer),
      )
      done += replies.length
      if (done < jobsPerTurn) continue
      done = 0
      await new Promise(setImmediate)
    }
  }
}

async function doJob(message: JobMessage): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const handler = handlers.get(message.name) ?? (await loadHandler(message.name))
    return await handler(message)
  } catch (thrown) {
    return encodeThrown(thrown)
  }
}

async function loadHandler(name: string): Promise<JobHandler> {
  const work = works[name]
  if (work === undefined) throw new Error(`the pool knows no job ${name}`)
  const entry = (await import(work.entry)) as Readonly<Record<string, JobHandler>>
  const handler = entry[work.handler]
  if (handler === undefined) throw new Error(`${work.entry} exports no ${work.handler}`)
  handlers.set(name, handler)
  return handler
}
