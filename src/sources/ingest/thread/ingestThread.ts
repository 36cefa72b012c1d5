import { Worker } from 'node:worker_threads'
import { StoreError } from '../../../data/store/lmdb/environment.js'
import { type Deferred, defer, waitedForLater } from '../../../primitives/deferred.js'
import { FaultError, OperatorError } from '../../../primitives/faults.js'
import { startedUrl } from '../../../primitives/packageRoot.js'
import type { SourceCallName } from '../../../primitives/upstreamCalls.js'
import { sourceEnded } from './callAnswerer.js'
import type {
  ImportedEpoch,
  IngestCommand,
  IngestFigures,
  IngestMessage,
  IngestProgress,
  SourceTask,
  UpstreamsState,
} from './messages.js'

/** The error classes for failures of the thread. */
const faultErrors = {
  defect: (message: string) => new Error(message),
  operator: (message: string) => new OperatorError(message),
  room: (message: string) => new StoreError(message, false),
  store: (message: string) => new StoreError(message, true),
}

/** A running ingest thread, the only writer of its store. */
export interface IngestThread {
  /** Resolves once the store has its genesis and readers can open it. Rejects as {@link finished} does. */
  readonly opened: Promise<void>
  /**
   * Resolves after the import at full speed: with {@link finished}, or earlier with the first `head` message of the
   * thread. Rejects as {@link finished} does.
   */
  readonly caughtUp: Promise<void>
  /**
   * Resolves when everything is imported, or after {@link stop}. Rejects with OperatorError for a cause that the
   * operator can remove (also a lasting StoreError), with Error for a defect.
   */
  readonly finished: Promise<{ progress: IngestProgress; stopped: boolean }>
  /** Makes a call of {@link SourceCalls}, for a thread with upstreams, or of a developer chain. */
  readonly call: (name: SourceCallName, args: readonly unknown[]) => Promise<unknown>
  /** Asks the thread to end after the current block, or at once while it waits. Then {@link finished} settles. */
  stop(): void
}

/** Listeners for messages of an ingest thread besides its progress. */
interface IngestListeners {
  /** Called for each head of a source that has caught up. */
  readonly onHead?: () => void
  readonly onEpoch?: (epoch: ImportedEpoch) => void
  /** Called when the state of the followed nodes has changed. */
  readonly onUpstreams?: (state: UpstreamsState) => void
  /** Called each second. */
  readonly onFigures?: (figures: IngestFigures) => void
  readonly onSaid?: (text: string, isError: boolean) => void
}

/**
 * Starts a thread on `task`. The thread is never terminated, because that can abort the process while LMDB has pending
 * writes.
 */
export function startIngest(
  task: SourceTask,
  onProgress: (progress: IngestProgress) => void,
  { onHead, onEpoch, onUpstreams, onFigures, onSaid }: IngestListeners = {},
): IngestThread {
  const worker = new Worker(startedUrl('ingest'), { workerData: task })
  const opened = defer<void>()
  const caughtUp = defer<void>()
  const finished = defer<{ progress: IngestProgress; stopped: boolean }>()
  for (const { promise } of [opened, caughtUp, finished]) void waitedForLater(promise)
  const fail = (error: Error) => {
    opened.reject(error)
    caughtUp.reject(error)
    finished.reject(error)
  }
  const calls = new Map<number, Deferred<unknown>>()
  let serial = 0
  let hasEnded = false
  const settle = (number: number) => {
    const call = calls.get(number)
    calls.delete(number)
    return call
  }
  let outcome: { progress: IngestProgress; stopped: boolean } | undefined
  worker.on('message', (message: IngestMessage) => {
    switch (message.type) {
      case 'opened':
        return opened.resolve()
      case 'progress':
        return onProgress(message.progress)
      case 'head':
        onHead?.()
        return caughtUp.resolve()
      case 'epoch':
        return onEpoch?.(message)
      case 'upstream':
        return onUpstreams?.(message.state)
      case 'figures':
        return onFigures?.(message.figures)
      case 'said':
        return onSaid?.(message.text, message.isError === true)
      case 'answered':
        return settle(message.serial)?.resolve(message.answer)
      case 'refused':
        return settle(message.serial)?.reject(new FaultError(message.fault))
      case 'finished':
        outcome = message
        return
      case 'failed': {
        const error = faultErrors[message.fault](message.message)
        if (message.stack !== undefined) error.stack = message.stack
        // The thread does not end then, see workers/ingest.ts; unref lets the process end without it.
        if (message.fault === 'store') worker.unref()
        return fail(error)
      }
    }
  })
  worker.on('error', fail)
  worker.on('exit', (code) => {
    hasEnded = true
    for (const { reject } of calls.values()) reject(new FaultError(sourceEnded))
    if (outcome !== undefined) {
      caughtUp.resolve()
      finished.resolve(outcome)
    } else fail(new Error(`the ingest thread ended with code ${code} before it was done`))
  })
  const send = (command: IngestCommand) => worker.postMessage(command)
  const call = (name: SourceCallName, args: readonly unknown[]): Promise<unknown> => {
    const answer = defer<unknown>()
    if (hasEnded) answer.reject(new FaultError(sourceEnded))
    else {
      calls.set(++serial, answer)
      send({ type: 'call', serial, name, args })
    }
    return answer.promise
  }
  return {
    opened: opened.promise,
    caughtUp: caughtUp.promise,
    finished: finished.promise,
    call,
    stop: () => send({ type: 'stop' }),
  }
}
