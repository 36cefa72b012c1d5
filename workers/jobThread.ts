/**
 * What every thread of the pool does around the work of a job: opens stores, gives each job a fresh look at them,
 * turns what it returns or throws into bytes, and leaves nothing running. Owns no work.
 */
import { setPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { Piscina } from 'piscina'
import { JobCell } from '../src/pool/jobCells.js'
import {
  decodeArgs,
  encodeResult,
  encodeThrown,
  type JobMessage,
  type ThreadData,
} from '../src/pool/messages.js'
import { FaultError } from '../src/primitives/faults.js'
import { ChainReader } from '../src/store/chainReader.js'
import type { ReadGuard } from '../src/store/readTable.js'

/** What a job has at hand beside its arguments. */
export interface JobContext {
  /**
   * The store of the job's network, open for reading. The job sees one snapshot of it for as long as it does not
   * wait for timers or other threads. Throws Error for a job that names no network.
   */
  readonly store: ChainReader
  /** As they were given to the pool. */
  readonly settings: unknown
  /** Whether to give up: nobody waits any more, or the time is over. Costs 50 ns: ask each few thousand steps. */
  shouldStop(): boolean
}

const { cells, stores: locations, settings, niceness } = Piscina.workerData as ThreadData
const jobCell = new JobCell(cells)
/**
 * Each read, and each step of a walk, holds the lock of the running job's cell, so that the thread is never ended
 * inside lmdb. Costs 50 ns, beside some 2 µs of the read itself.
 */
const stores = new Map<string, ChainReader>()

// Linux keeps priorities by thread. Elsewhere this would slow the edge down with the rest of the process.
if (process.platform === 'linux' && niceness !== 0) setPriority(niceness)

/** Does a job and answers with its reply in msgpack, in memory that may be handed over. Never rejects. */
export type JobHandler = (message: JobMessage) => Promise<Uint8Array<ArrayBuffer>>

/** Makes the function that the session calls for a job out of the job's work. */
export function jobHandler<A, R>(work: (args: A, context: JobContext) => R | Promise<R>): JobHandler {
  return async (message) => {
    const { network, cell, serial, runMsMax } = message
    const endsAtMs = performance.now() + runMsMax
    const context: JobContext = {
      get store() {
        return openStore(network)
      },
      settings,
      shouldStop: () => jobCell.isStopped || performance.now() >= endsAtMs,
    }
    jobCell.begin(cell, serial)
    try {
      // Where a thread had to be replaced, a job may have lost its owner on the way here.
      if (jobCell.isStopped) throw new FaultError({ kind: 'RequestTimedOut' })
      const args = decodeArgs(message.args) as A
      return encodeResult(await runUnlocked(() => work(args, context)))
    } catch (thrown) {
      return encodeThrown(thrown)
    } finally {
      // A snapshot that outlives its job would show the next one an old head, and while the thread waits it would
      // keep the writer from using freed pages again.
      if (network !== undefined) stores.get(network)?.refresh()
    }
  }
}

/** Runs the work itself, the only part of a job in which the thread may be ended. */
async function runUnlocked<R>(work: () => R | Promise<R>): Promise<R> {
  jobCell.unlock()
  try {
    return await work()
  } finally {
    jobCell.lock()
  }
}

/** Opened once by each thread. */
function openStore(network: string | undefined): ChainReader {
  if (network === undefined) throw new Error('the job names no network')
  const open = stores.get(network)
  if (open !== undefined) return open
  const location = locations.find((candidate) => candidate.network === network)
  if (location === undefined) throw new Error(`the pool knows no network ${network}`)
  const { path, mapBytes } = location
  const guard: ReadGuard = (read) => jobCell.locked(read)
  const store = jobCell.locked(() => ChainReader.open({ path, mapBytes, guard }))
  stores.set(network, store)
  return store
}
