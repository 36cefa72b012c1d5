import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import type { JobLimits } from '../evm/jobWatch.js'
import type { ProofRequest } from '../state/proof.js'
import type { JobClass, Jobs, NetworkJobs } from './jobs.js'
import type { StoreLocation } from './messages.js'
import { Pool } from './pool.js'
import type { JobDefinition, ThreadLoss } from './poolOptions.js'

/** What the threads of the service get beside their jobs. */
export interface JobSettings {
  readonly execution: JobLimits
}

/** What the operator sets. */
export interface JobPoolLimits {
  /** Undefined for {@link threadsDefault}. */
  readonly threads: number | undefined
  /**
   * Priority of the threads as of `os.setPriority`: from 0, the edge's own, to 19. Measured as
   * bench/disturbedReads.ts does on 2 cores, p99 of cached reads while the pool is saturated beside the pool idle: at
   * 0, 136 and 5.2 ms at 2,000 reads/s, 33,000 and 65,000 reads/s at saturation; at 10, 11.4 and 3.8 ms, 59,000 and
   * 74,000 reads/s.
   */
  readonly niceness: number
  /** Jobs of each class that may wait. */
  readonly waitingMax: { readonly [C in JobClass]: number }
  /** From a job's arrival to its end. */
  readonly deadlineMsMax: number
  /** Of a call, estimate, access list or witness. */
  readonly execution: JobLimits
}

export interface JobPoolOptions {
  readonly limits: JobPoolLimits
  readonly stores: readonly StoreLocation[]
  onThreadLost(loss: ThreadLoss): void
}

/**
 * All cores but the edge's, and at least two, so that one class of work cannot hold every thread. Where that makes
 * more busy threads than cores, their low priority keeps the edge ahead of them.
 */
export function threadsDefault(cores = availableParallelism()): number {
  return Math.max(2, cores - 1)
}

/** JavaScript heap of a thread, most of it for one job. What the EVM holds is WebAssembly's, with limits of its own. */
const heapBytesMax = 512 * 2 ** 20

/** Arguments that wait: a dozen of the largest request bodies, or all queues full of ordinary calls. */
const waitingBytesMax = 64 * 2 ** 20

/** A job that asks whether to stop does so within milliseconds; a thread that takes this long does not ask. */
const graceMs = 1_000

/**
 * How long an execution or a search has a thread before others come first; see pool.ts. Nearly every one ends within
 * it, and who waits for it hardly notices.
 */
const turnMs = 50

/** Keys of a proof that counts as short: 0.2 ms. Most have one to five. */
const shortProofKeysMax = 16

function isShortProof({ keys }: ProofRequest): boolean {
  return keys.length <= shortProofKeysMax
}

function job<C extends JobClass>(className: C, file: string, handler: string): JobDefinition<C> {
  return { class: className, entry: workerUrl(file), handler }
}

function workerUrl(file: string): URL {
  return new URL(`../../workers/${file}.js`, import.meta.url)
}

/**
 * Makes the pool of the service. From here on each thread of the process collects its young garbage by itself: V8's
 * helpers for that have the edge's priority, whoever's garbage it is. At 2,000 cached reads a second, the pool
 * saturated and all of it on one core, p99 is 4.5 ms without them and 5.9 ms with them.
 */
export function openJobPool({ limits, stores, onThreadLost }: JobPoolOptions): Pool<Jobs> {
  setFlagsFromString('--no-parallel-scavenge')
  const { waitingMax, deadlineMsMax, execution } = limits
  const shared = { deadlineMsMax, runMsMax: deadlineMsMax, timedOut: { kind: 'RequestTimedOut' } } as const
  return new Pool<Jobs>({
    threads: limits.threads ?? threadsDefault(),
    jobs: {
      proofCall: job('proof', 'answer', 'answer'),
      executeCall: job('execute', 'answer', 'answer'),
      slotsCall: job('slots', 'answer', 'answer'),
      prove: { ...job('proof', 'prove', 'prove'), isShort: isShortProof },
      call: job('execute', 'execute', 'call'),
      estimate: job('execute', 'execute', 'estimate'),
      accessList: job('execute', 'execute', 'accessList'),
      witness: job('execute', 'witness', 'witness'),
      mappingSlots: job('slots', 'slots', 'mappingSlots'),
      searchLogs: job('logs', 'logs', 'searchLogs'),
      invokeHash: job('hash', 'hash', 'invokeHash'),
    },
    classes: {
      proof: { ...shared, waitingMax: waitingMax.proof },
      slots: { ...shared, waitingMax: waitingMax.slots },
      hash: { ...shared, waitingMax: waitingMax.hash },
      logs: { ...shared, waitingMax: waitingMax.logs, turnMs },
      execute: {
        deadlineMsMax,
        waitingMax: waitingMax.execute,
        turnMs,
        runMsMax: execution.timeMsMax,
        timedOut: { kind: 'ExecutionTimedOut', limitSeconds: execution.timeMsMax / 1000 },
      },
    },
    session: workerUrl('session'),
    // The engine is by far the most that a thread may have to load. Without a chain nobody asks for it.
    preload: workerUrl(stores.length > 0 ? 'execute' : 'hash'),
    stores,
    settings: { execution } satisfies JobSettings,
    waitingBytesMax,
    heapBytesMax,
    graceMs,
    niceness: limits.niceness,
    onThreadLost,
  })
}

/** A pool's jobs as one network's methods see them. */
export function jobsOfNetwork(pool: Pool<Jobs>, network: string): NetworkJobs {
  return { run: (name, args, owner, body) => pool.run(name, { network, args }, owner, body) }
}
