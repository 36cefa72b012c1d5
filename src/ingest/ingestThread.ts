import { Worker } from 'node:worker_threads'
import { defer } from '../primitives/deferred.js'
import { OperatorError } from '../primitives/faults.js'
import { StoreError } from '../store/environment.js'
import type { OnUpgrade } from '../store/upgrade.js'
import type { IngestCommand, IngestMessage, IngestProgress, IngestTask, ReplayTask } from './messages.js'

const threadUrl = new URL('../../workers/ingest.js', import.meta.url)

/** What a failure of the thread is on this side. */
const faultErrors = {
  defect: (message: string) => new Error(message),
  operator: (message: string) => new OperatorError(message),
  store: (message: string) => new StoreError(message, true),
}

/** A running ingest thread, the only writer of its store. */
export interface IngestThread {
  /** Settles once the store holds its genesis and readers can open it. Rejects like {@link finished}. */
  readonly opened: Promise<void>
  /**
   * Settles once nothing is left that is taken in at full speed: with {@link finished}, or earlier where a replay
   * begins to keep its pace. Rejects like it.
   */
  readonly caughtUp: Promise<void>
  /**
   * Settles when all is taken in, or after {@link stop}. Rejects with OperatorError for what the operator can
   * mend (a lasting StoreError among them), with Error for a defect.
   */
  readonly finished: Promise<{ progress: IngestProgress; stopped: boolean }>
  /** Asks the thread to end after the block in hand, or at once while it waits; {@link finished} settles then. */
  stop(): void
}

/**
 * Starts a thread on `task`; `onHead` is called for each head of a replay that has caught up, `onUpgrade`
 * while the store is brought up to date. The thread is never
 * terminated: ending one that has writes pending in LMDB can take the process with it.
 */
export function startIngest(
  task: IngestTask | ReplayTask,
  onProgress: (progress: IngestProgress) => void,
  onHead: () => void = () => undefined,
  onUpgrade: OnUpgrade = () => undefined,
): IngestThread {
  const worker = new Worker(threadUrl, { workerData: task })
  const opened = defer<void>()
  const caughtUp = defer<void>()
  const finished = defer<{ progress: IngestProgress; stopped: boolean }>()
  // Whoever waits for one of them gets the failure; the others must not count as unhandled.
  opened.promise.catch(() => undefined)
  caughtUp.promise.catch(() => undefined)
  finished.promise.catch(() => undefined)
  const fail = (error: Error) => {
    opened.reject(error)
    caughtUp.reject(error)
    finished.reject(error)
  }
  let outcome: { progress: IngestProgress; stopped: boolean } | undefined
  worker.on('message', (message: IngestMessage) => {
    switch (message.type) {
      case 'upgrading':
        return onUpgrade(message.what, message.done)
      case 'opened':
        return opened.resolve()
      case 'progress':
        return onProgress(message.progress)
      case 'head':
        onHead()
        return caughtUp.resolve()
      case 'finished':
        outcome = message
        return
      case 'failed': {
        const error = faultErrors[message.fault](message.message)
        if (message.stack !== undefined) error.stack = message.stack
        // The thread stays then, see workers/ingest.ts, and the process ends without it.
        if (message.fault === 'store') worker.unref()
        return fail(error)
      }
    }
  })
  worker.on('error', fail)
  worker.on('exit', (code) => {
    if (outcome !== undefined) {
      caughtUp.resolve()
      finished.resolve(outcome)
    } else fail(new Error(`the ingest thread ended with code ${code} before it was done`))
  })
  const command: IngestCommand = { type: 'stop' }
  return {
    opened: opened.promise,
    caughtUp: caughtUp.promise,
    finished: finished.promise,
    stop: () => worker.postMessage(command),
  }
}
