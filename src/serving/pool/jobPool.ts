import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import type { JobLimits } from '../../execution/evm/engine/jobWatch.js'
import type { TraceLimits } from '../../execution/evm/tracers/traceRequest.js'
import { type StartedFile, startedUrl } from '../../primitives/packageRoot.js'
import type { JobClass, Jobs, NetworkJobs } from './jobs.js'
import type { StoreLocation } from './messages.js'
import { Pool } from './pool.js'
import type { JobDefinition, ThreadLoss } from './poolOptions.js'

export interface JobSettings {
  readonly execution: JobLimits
  readonly trace: TraceLimits
}

interface JobPoolLimits {
  /** Undefined for {@link threadsDefault}. */
  readonly threads: number | undefined
  /**
   * Priority of the threads as in `os.setPriority`: from 0, the edge's own, to 19. With the pool saturated on 2
   * cores, the p99 of cached reads is 136 ms at 0 and 11.4 ms at 10 (scenario `reads-under-proofs`).
   */
  readonly niceness: number
  readonly waitingMax: { readonly [C in JobClass]: number }
  /** Traces by tracers in JavaScript that run at once. */
  readonly scriptsMax: number
  readonly deadlineMsMax: number
  /** For a call, estimate, access list, simulation or witness. */
  readonly execution: JobLimits
  readonly trace: TraceLimits
}

interface JobPoolOptions {
  readonly limits: JobPoolLimits
  readonly stores: readonly StoreLocation[]
  onThreadLost(loss: ThreadLoss): void
}

/**
 * All cores but the edge's, and at least two, so that one class of work cannot take every thread. If that is more
 * threads than free cores, their low priority keeps the edge fast.
 */
export function threadsDefault(cores = availableParallelism()): number {
  return Math.max(2, cores - 1)
}

/** JavaScript heap of a thread, most of it for one job. The EVM's memory is WebAssembly's and has its own limit. */
const heapBytesMax = 512 * 2 ** 20

/** Bytes of waiting arguments: a dozen of the largest request bodies, or full queues of ordinary calls. */
const waitingBytesMax = 64 * 2 ** 20

/** Time, and CPU time, for a job to stop. Jobs check within milliseconds, so one that takes longer does not check. */
const graceMs = 1_000

/**
 * Turn of an execution, a trace or a log search; see pool.ts. Nearly all end within it, and others wait only briefly.
 */
const turnMs = 50

/** Turn of a trace by a tracer in JavaScript. Each run starts a thread, which takes a quarter of this second. */
const scriptTurnMs = 1_000

/** Arguments of a proof of 16 keys, which takes 0.2 ms. Most have one to five. */
const shortProofBytesMax = 750

/** Arguments of a trace of a transaction or a block by a tracer with some options; a message has its data besides. */
const shortTraceBytesMax = 400

function job<C extends JobClass>(className: C, file: StartedFile, handler: string): JobDefinition<C> {
  return { class: className, entry: startedUrl(file).href, handler }
}

/**
 * Opens the pool of the service. Also turns off V8's helper threads for young garbage in this process: they run at the
 * edge's priority for the garbage of all threads. On one core with the pool saturated, the p99 of cached reads is
 * 4.5 ms without them, 5.9 ms with them.
 */
export function openJobPool({ limits, stores, onThreadLost }: JobPoolOptions): Pool<Jobs> {
  setFlagsFromString('--no-parallel-scavenge')
  const { waitingMax, deadlineMsMax, execution, trace } = limits
  const traces = {
    deadlineMsMax,
    runMsMax: trace.timeMsMax,
    timedOut: { kind: 'ExecutionTimedOut', limitSeconds: trace.timeMsMax / 1000 },
  } as const
  const shared = { deadlineMsMax, runMsMax: deadlineMsMax, timedOut: { kind: 'RequestTimedOut' } } as const
  return new Pool<Jobs>({
    threads: limits.threads ?? threadsDefault(),
    jobs: {
      prove: { ...job('proof', 'read', 'prove'), shortBytesMax: shortProofBytesMax },
      indexProof: job('proof', 'read', 'indexProof'),
      headerProof: job('proof', 'read', 'headerProof'),
      call: { ...job('execute', 'execute', 'call'), shortBytesMax: Number.POSITIVE_INFINITY },
      estimate: { ...job('execute', 'execute', 'estimate'), shortBytesMax: Number.POSITIVE_INFINITY },
      fill: job('execute', 'execute', 'fill'),
      accessList: job('execute', 'execute', 'accessList'),
      simulate: job('execute', 'execute', 'simulate'),
      witness: job('execute', 'execute', 'witness'),
      trace: { ...job('trace', 'trace', 'trace'), shortBytesMax: shortTraceBytesMax },
      script: job('script', 'script', 'script'),
      stateParts: job('trace', 'trace', 'stateParts'),
      mappingSlots: job('slots', 'compute', 'mappingSlots'),
      searchLogs: job('logs', 'read', 'searchLogs'),
      invokeHash: job('hash', 'compute', 'invokeHash'),
    },
    classes: {
      proof: { ...shared, waitingMax: waitingMax.proof },
      slots: { ...shared, waitingMax: waitingMax.slots },
      hash: { ...shared, waitingMax: waitingMax.hash },
      logs: { ...shared, waitingMax: waitingMax.logs, turnMs },
      trace: { ...traces, waitingMax: waitingMax.trace, turnMs },
      script: {
        ...traces,
        waitingMax: waitingMax.script,
        turnMs: scriptTurnMs,
        runningMax: limits.scriptsMax,
        startsLong: true,
      },
      execute: {
        deadlineMsMax,
        waitingMax: waitingMax.execute,
        turnMs,
        runMsMax: execution.timeMsMax,
        timedOut: { kind: 'ExecutionTimedOut', limitSeconds: execution.timeMsMax / 1000 },
      },
    },
    session: startedUrl('session'),
    // The EVM takes the most time to load; without a chain it is not needed.
    preload: startedUrl(stores.length > 0 ? 'execute' : 'compute'),
    stores,
    settings: { execution, trace } satisfies JobSettings,
    waitingBytesMax,
    heapBytesMax,
    graceMs,
    niceness: limits.niceness,
    onThreadLost,
  })
}

export function jobsOfNetwork(pool: Pool<Jobs>, network: string): NetworkJobs {
  return {
    run: (name, args, owner) => pool.run(name, { network, args }, owner),
    refusal: (className, owner) => pool.refusal(className, owner.keyId),
  }
}
