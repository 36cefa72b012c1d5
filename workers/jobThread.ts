/**
 * The frame around every job of the pool: opens stores, gives each job a new snapshot, and encodes its result or
 * exception. Lets the edge end the thread only while the job's own work runs. Owns no work.
 */
import { setPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { type MessagePort, workerData } from 'node:worker_threads'
import { type OpenRows, openRows } from '../src/data/state/provedRows.js'
import type { ReadGuard } from '../src/data/store/readTable.js'
import { FaultError } from '../src/primitives/faults.js'
import { NotStoredError } from '../src/primitives/notStored.js'
import { JobSignal } from '../src/serving/pool/jobCells.js'
import type { JobSettings } from '../src/serving/pool/jobPool.js'
import {
  decodeArgs,
  encodePiece,
  encodeResult,
  encodeThrown,
  type JobMessage,
  type JobPart,
  type ThreadData,
} from '../src/serving/pool/messages.js'

/**
 * Handlers bundled apart from this module (build/build.mjs) import these from here: a fault is recognised by its class.
 */
export { FaultError, NotStoredError }

/** Services for a job besides its arguments. */
export interface JobContext {
  /**
   * The store of the job's network, read-only. The job sees one snapshot as long as it does not wait for timers or
   * other threads. Throws Error for a job without a network.
   */
  readonly store: OpenRows
  /** The settings that the pool was opened with. */
  readonly settings: unknown
  /** Whether to stop: no caller waits, or the time is over. Call it every few thousand steps. */
  shouldStop(): boolean
  /**
   * Sends a part of the result, whose memory is transferred, and waits while {@link partsMax} parts are not taken.
   * Skips the parts sent before an interruption, so the job must produce the same ones again. Throws FaultError
   * RequestTimedOut if the job should stop, or if no part is taken for {@link stallMsMax}.
   */
  put(part: Uint8Array<ArrayBuffer>): void
}

/** Parts in transit: enough to keep the connection busy while the thread makes the next. */
const partsMax = 4

/** A client that reads nothing for this long does not get the rest: its trace occupies a thread meanwhile. */
const stallMsMax = 10_000

const { cells, stores: locations, settings, niceness } = workerData as ThreadData
const jobCell = new JobSignal(cells)
/**
 * Network → its store. Each read, and each step of a walk, takes the lock of the running job's cell, so that the thread
 * is never ended inside lmdb. The lock costs far less than the read.
 */
const stores = new Map<string, OpenRows>()

// Linux has priorities per thread. Elsewhere this would change the priority of the whole process.
if (process.platform === 'linux' && niceness !== 0) setPriority(niceness)

/**
 * Does a job and resolves to its reply as msgpack, in memory that may be transferred. Resolves to `long` for a job that
 * takes longer than its trial. Never rejects.
 */
export type JobHandler = (message: JobMessage) => Promise<Uint8Array<ArrayBuffer> | 'long'>

/**
 * Calls of {@link JobContext.shouldStop} after which a trial is over. An execution calls it each 200,000 gas. A token
 * transfer or a swap makes two calls at most. A loop of two million gas makes this many, in 2 to 4 ms. Counts calls,
 * because a clock also runs while other threads have the core.
 */
const trialLooksMax = 10

/** Wraps a job's work as the handler that `session.ts` calls; `looksMax` as {@link trialLooksMax}, of work that looks more often. */
export function jobHandler<A, R>(
  work: (args: A, context: JobContext) => R | Promise<R>,
  looksMax = trialLooksMax,
): JobHandler {
  return async (message) => {
    const { network, cell, serial, runMsMax, isTrial } = message
    const endsAtMs = performance.now() + runMsMax
    let looksLeft = isTrial ? looksMax : Number.POSITIVE_INFINITY
    const isTrialOver = () => looksLeft < 0
    const endTrial = () => {
      looksLeft = -1
      throw new FaultError({ kind: 'RequestTimedOut' })
    }
    let parts = 0
    const context: JobContext = {
      get store() {
        return openStore(network)
      },
      settings,
      put(part) {
        if (parts < message.partsGiven) {
          parts++
          return
        }
        // Jobs that give parts are posted alone.
        if (isTrial) endTrial()
        sendPart(serial, part)
        if (!jobCell.awaitTaken(++parts - partsMax, stallMsMax)) {
          throw new FaultError({ kind: 'RequestTimedOut' })
        }
      },
      shouldStop: () => --looksLeft < 0 || jobCell.isStopped || performance.now() >= endsAtMs,
    }
    jobCell.begin(cell, serial)
    try {
      // While a dead thread was replaced, the job's caller may have left.
      if (jobCell.isStopped) throw new FaultError({ kind: 'RequestTimedOut' })
      const args = decodeArgs(message.args) as A
      return encodeResult(await runUnlocked(() => work(args, context)), encodePiece)
    } catch (thrown) {
      return isTrialOver() && !jobCell.isStopped ? 'long' : encodeThrown(thrown)
    } finally {
      // A snapshot kept after its job would show the next job an old head. It would also keep the writer from reusing
      // freed pages while the thread waits.
      if (network !== undefined) stores.get(network)?.refresh()
    }
  }
}

/** Runs the work itself; the thread may be ended only during it. */
async function runUnlocked<R>(work: () => R | Promise<R>): Promise<R> {
  jobCell.unlock()
  try {
    return await work()
  } finally {
    jobCell.lock()
  }
}

/** A network's store, opened once per thread. */
function openStore(network: string | undefined): OpenRows {
  if (network === undefined) throw new Error('the job names no network')
  const open = stores.get(network)
  if (open !== undefined) return open
  const location = locations.find((candidate) => candidate.network === network)
  if (location === undefined) throw new Error(`the pool knows no network ${network}`)
  const { path, mapBytes } = location
  const guard: ReadGuard = (read) => jobCell.locked(read)
  const store = jobCell.locked(() => openRows({ path, mapBytes, guard }))
  stores.set(network, store)
  return store
}

let port: MessagePort | undefined

/** Must be called before the first job. */
export function openParts(own: MessagePort): void {
  port = own
}

/** Sends a part, whose memory is transferred. */
export function sendPart(serial: number, part: Uint8Array<ArrayBuffer>): void {
  if (port === undefined) throw new Error('a part was sent outside of a job')
  port.postMessage({ serial, part } satisfies JobPart, [part.buffer])
}

/** A thread's cache between jobs, one value per store: made by the first job that needs it. */
export function perStore<T>(
  make: (store: OpenRows, settings: JobSettings) => T,
): (context: Pick<JobContext, 'store' | 'settings'>) => T {
  const made = new WeakMap<OpenRows, T>()
  return ({ store, settings }) => {
    let found = made.get(store)
    if (found === undefined) {
      found = make(store, settings as JobSettings)
      made.set(store, found)
    }
    return found
  }
}
