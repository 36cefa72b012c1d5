import { Worker } from 'node:worker_threads'
import { defer } from '../primitives/deferred.js'
import { OperatorError } from '../primitives/faults.js'
import type { IngestCommand, IngestMessage, IngestProgress, IngestTask } from './messages.js'

const threadUrl = new URL('../../workers/ingest.js', import.meta.url)

/** A running ingest thread, the only writer of its store. */
export interface IngestThread {
  /** Settles once the store holds its genesis and readers can open it. Rejects like {@link finished}. */
  readonly opened: Promise<void>
  /**
   * Settles when all is taken in, or after {@link stop}. Rejects with OperatorError for what the operator can
   * mend, with Error for a defect.
   */
  readonly finished: Promise<{ progress: IngestProgress; stopped: boolean }>
  /** Asks the thread to end after the block in hand; {@link finished} tells when it has. */
  stop(): void
}

/**
 * Starts a thread on `task`. It is never terminated: ending a thread that has writes pending in LMDB can take the
 * process with it.
 */
export function startIngest(task: IngestTask, onProgress: (progress: IngestProgress) => void): IngestThread {
  const worker = new Worker(threadUrl, { workerData: task })
  const opened = defer<void>()
  const finished = defer<{ progress: IngestProgress; stopped: boolean }>()
  // Whoever waits for one of them hears of a failure; the other must not count as unhandled.
  opened.promise.catch(() => undefined)
  finished.promise.catch(() => undefined)
  const fail = (error: Error) => {
    opened.reject(error)
    finished.reject(error)
  }
  let outcome: { progress: IngestProgress; stopped: boolean } | undefined
  worker.on('message', (message: IngestMessage) => {
    switch (message.type) {
      case 'opened':
        return opened.resolve()
      case 'progress':
        return onProgress(message.progress)
      case 'finished':
        outcome = message
        return
      case 'failed': {
        const error = message.isDefect ? new Error(message.message) : new OperatorError(message.message)
        if (message.stack !== undefined) error.stack = message.stack
        return fail(error)
      }
    }
  })
  worker.on('error', fail)
  worker.on('exit', (code) => {
    if (outcome !== undefined) finished.resolve(outcome)
    else fail(new Error(`the ingest thread ended with code ${code} before it was done`))
  })
  const command: IngestCommand = { type: 'stop' }
  return { opened: opened.promise, finished: finished.promise, stop: () => worker.postMessage(command) }
}
