/**
 * Entry of an ingest thread, the only writer of one network's store. Owns the thread's messages; the work is in
 * `ingest`.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { CallTaker } from '../src/ingest/callTaker.js'
import { developChain } from '../src/ingest/develop/developChain.js'
import { importArchives } from '../src/ingest/era/importArchives.js'
import { importBeneath } from '../src/ingest/era/importBeneath.js'
import { followFeed } from '../src/ingest/feed/followFeed.js'
import { type OpenPublisher, publishSource } from '../src/ingest/feed/publishSource.js'
import { followChain, openFollowedStore } from '../src/ingest/follow/followChain.js'
import { runGateway } from '../src/ingest/gateway/runGateway.js'
import { importFiles } from '../src/ingest/importFiles.js'
import type {
  ArchiveTask,
  DevelopTask,
  FeedTask,
  FollowTask,
  GatewayTask,
  IngestCommand,
  IngestMessage,
  IngestTask,
  ReplayTask,
} from '../src/ingest/messages.js'
import { replayFile } from '../src/ingest/replayFile.js'
import { openTaskStore } from '../src/ingest/taskStore.js'
import { OperatorError } from '../src/primitives/faults.js'
import { reportTimersTo } from '../src/primitives/timers.js'
import { StoreError } from '../src/store/environment.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')

const stop = new AbortController()
let calls: CallTaker | undefined
port.on('message', (command: IngestCommand) => {
  if (command.type === 'stop') stop.abort()
  else calls?.take(command)
})
const onReady = (ready: CallTaker): void => {
  calls = ready
}
const report = (message: IngestMessage): void => port.postMessage(message)
reportTimersTo((error) => {
  const text = error instanceof Error ? error.stack : String(error)
  report({ type: 'said', text: `a timer failed; the source goes on: ${text}` })
})

/** A gateway imports nothing. */
const noProgress = {
  number: 0,
  executed: 0,
  known: 0,
  side: 0,
  gas: 0,
  bytesRead: 0,
  bytesTotal: 0,
  elapsedMs: 0,
}

type ChainTask = IngestTask | ReplayTask | FollowTask | DevelopTask

async function takeChain(
  task: ChainTask,
  signal: AbortSignal,
  tell = report,
  openPublisher?: OpenPublisher,
): Promise<void> {
  if ('replay' in task) await replayFile(task, tell, signal, openPublisher)
  else if ('follow' in task) await followChain(task, tell, signal, onReady, openPublisher)
  else if ('develop' in task) await developChain(task, tell, signal, onReady, openPublisher)
  else await importFiles(task, tell, () => signal.aborted, openPublisher)
}

let isBroken = false
try {
  const task = workerData as ChainTask | FeedTask | ArchiveTask | GatewayTask
  if ('feed' in task) await followFeed(task, report, stop.signal)
  else if ('upstreams' in task) {
    await runGateway(task, report, stop.signal, onReady)
    report({ type: 'finished', progress: noProgress, stopped: true })
  } else if ('archives' in task) {
    const take = task.identity.gateway ? importBeneath : importArchives
    await take(task, report, () => stop.signal.aborted)
  } else if (task.publish === undefined) await takeChain(task, stop.signal)
  else {
    const published = { ...task, publish: task.publish }
    const openStore = () =>
      'follow' in task ? openFollowedStore(task, report, stop.signal) : openTaskStore(task, report)
    await publishSource(published, report, stop.signal, onReady, openStore, (openPublisher, signal, tell) =>
      takeChain(task, signal, tell, openPublisher),
    )
  }
} catch (error) {
  const ofStore = error instanceof StoreError && (error.isLasting ? 'store' : 'room')
  isBroken = ofStore === 'store'
  const fault = ofStore || (error instanceof OperatorError ? 'operator' : 'defect')
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  report({ type: 'failed', fault, message, ...(stack === undefined ? {} : { stack }) })
}
// With a broken store the thread stays: its end would close the store, which may abort the process.
if (!isBroken) port.close()
