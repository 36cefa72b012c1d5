/**
 * Entry of an ingest thread, the only writer of one network's store. Owns the thread's messages; the work is in
 * `ingest`.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { CallAnswerer } from '../src/ingest/callAnswerer.js'
import { developChain } from '../src/ingest/develop/developChain.js'
import { importArchives } from '../src/ingest/era/importArchives.js'
import { importBeneath } from '../src/ingest/era/importBeneath.js'
import { followFeed } from '../src/ingest/feed/followFeed.js'
import { publishSource } from '../src/ingest/feed/publishSource.js'
import { followChain, openFollowedStore } from '../src/ingest/follow/followChain.js'
import { runGateway } from '../src/ingest/gateway/runGateway.js'
import { importFiles } from '../src/ingest/importFiles.js'
import type { ChainTask, IngestCommand, SourceTask } from '../src/ingest/messages.js'
import { replayFile } from '../src/ingest/replayFile.js'
import type { SourceHost } from '../src/ingest/runSource.js'
import { openTaskStore } from '../src/ingest/taskStore.js'
import { OperatorError } from '../src/primitives/faults.js'
import { reportTimersTo } from '../src/primitives/timers.js'
import { StoreError } from '../src/store/environment.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')

const stop = new AbortController()
let calls: CallAnswerer | undefined
port.on('message', (command: IngestCommand) => {
  if (command.type === 'stop') stop.abort()
  else calls?.take(command)
})
const host: SourceHost = {
  report: (message) => port.postMessage(message),
  signal: stop.signal,
  onReady(ready) {
    calls = ready
  },
}
reportTimersTo((error) => {
  const text = error instanceof Error ? error.stack : String(error)
  host.report({ type: 'said', text: `a timer failed; the source goes on: ${text}` })
})

function takeChain(task: ChainTask, host: SourceHost): Promise<void> {
  if ('replay' in task) return replayFile(task, host)
  if ('follow' in task) return followChain(task, host)
  return 'develop' in task ? developChain(task, host) : importFiles(task, host)
}

function run(task: SourceTask): Promise<void> {
  if ('feed' in task) return followFeed(task, host)
  if ('upstreams' in task) return runGateway(task, host)
  if ('archives' in task)
    return task.identity.gateway ? importBeneath(task, host) : importArchives(task, host)
  if (task.publish === undefined) return takeChain(task, host)
  const openStore = () =>
    'follow' in task ? openFollowedStore(task, host) : openTaskStore(task, host.report)
  return publishSource(task.publish, host, openStore, (published) => takeChain(task, published))
}

let isBroken = false
try {
  await run(workerData as SourceTask)
} catch (error) {
  const ofStore = error instanceof StoreError && (error.isLasting ? 'store' : 'room')
  isBroken = ofStore === 'store'
  const fault = ofStore || (error instanceof OperatorError ? 'operator' : 'defect')
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  host.report({ type: 'failed', fault, message, ...(stack === undefined ? {} : { stack }) })
}
// With a broken store the thread stays: its end would close the store, which may abort the process.
if (!isBroken) port.close()
