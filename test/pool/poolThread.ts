import { getPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { threadId } from 'node:worker_threads'
import {
  FaultError,
  type JobContext,
  type JobHandler,
  jobHandler,
  NotStoredError,
} from '../../workers/jobThread.js'
import type { TestJobs } from './poolJobs.js'

type Work<N extends keyof TestJobs> = (
  args: TestJobs[N]['args'],
  context: JobContext,
) => TestJobs[N]['result'] | Promise<TestJobs[N]['result']>

function handle<N extends keyof TestJobs>(work: Work<N>) {
  return jobHandler<TestJobs[N]['args'], TestJobs[N]['result']>(work)
}

function compute(ms: number): null {
  const endsAtMs = performance.now() + ms
  while (performance.now() < endsAtMs);
  return null
}

export const echo = handle<'echo'>((args) => args)

let handedOver: Uint8Array<ArrayBuffer> | undefined
const fillJob = handle<'fill'>(({ bytes, value, ms = 0 }) => {
  if (ms > 0) compute(ms)
  return new Uint8Array(bytes).fill(value)
})
export const fill: JobHandler = async (message) => {
  const reply = await fillJob(message)
  handedOver = reply === 'long' ? undefined : reply
  return reply
}
export const leftBehind = handle<'leftBehind'>(() => handedOver?.byteLength ?? Number.NaN)

export const whoAmI = handle<'whoAmI'>(() => ({ thread: threadId, niceness: getPriority() }))

export const spin = handle<'spin'>(({ ms }, { shouldStop }) => {
  const endsAtMs = performance.now() + ms
  while (performance.now() < endsAtMs) if (shouldStop()) return false
  return true
})

function executeFor(ms: number, { shouldStop }: JobContext): void {
  const endsAtMs = performance.now() + ms
  while (performance.now() < endsAtMs) {
    if (shouldStop()) throw new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: 30 })
  }
}

export const execute = handle<'execute'>(({ ms }, context) => {
  executeFor(ms, context)
  return null
})

const begun = new Map<string, number>()
export const dash = handle<'dash'>(({ name, looks, ms = 0 }, { shouldStop }) => {
  const times = (begun.get(name) ?? 0) + 1
  begun.set(name, times)
  compute(ms)
  for (let look = 0; look < looks; look++) {
    if (shouldStop()) throw new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: 30 })
  }
  return times
})

export const tell = handle<'tell'>(({ count, ms }, context) => {
  for (let part = 0; part < count; part++) {
    executeFor(ms, context)
    context.put(new Uint8Array([part]))
  }
  return null
})

export const doze = handle<'doze'>(({ ms, times }, { shouldStop }) => {
  const never = new Int32Array(new SharedArrayBuffer(4))
  for (let slept = 0; slept < times; slept++) {
    Atomics.wait(never, 0, 0, ms)
    if (shouldStop()) return slept
  }
  return times
})

export const stubborn = handle<'stubborn'>(({ ms }) => compute(ms))
export const work = handle<'work'>(({ ms }) => compute(ms))

export const readHead = handle<'readHead'>((_, { store }) => store.readHead()?.number ?? -1)

export const readStubbornly = handle<'readStubbornly'>(({ ms }, { store }) => {
  const endsAtMs = performance.now() + ms
  const head = store.readHead()?.number ?? 0
  for (let round = 0; performance.now() < endsAtMs; round++) {
    const hash = store.readCanonicalHash(round % (head + 1))
    if (hash !== undefined) store.readHeader(hash)
    let left = 20
    for (const [address] of store.accounts()) {
      store.readAccountAt(address, round % (head + 1))
      if (--left === 0) break
    }
  }
  return null
})

export const exit = handle<'exit'>((code) => process.exit(code))

export const throwError = handle<'throwError'>((message) => {
  throw new Error(message)
})

export const throwOutside = handle<'throwOutside'>((message) => {
  setImmediate(() => {
    throw new Error(message)
  })
  return new Promise<never>(() => {})
})

export const throwFault = handle<'throwFault'>((fault) => {
  throw new FaultError(fault)
})

export const lackBlock = handle<'lackBlock'>((number) => {
  throw new NotStoredError({ kind: 'canonical', number })
})

export const allocate = handle<'allocate'>(() => {
  const kept: number[][] = []
  for (;;) kept.push(new Array<number>(10_000).fill(kept.length))
})
