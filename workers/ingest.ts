/**
 * Entry of an ingest thread, the only writer of one network's store. Owns the thread's messages; the work is in
 * `ingest`. A thread loads only the modules of its source, because connections, curves and archives take as long to
 * load as all else together.
 */

import { parentPort, workerData } from 'node:worker_threads'
import { storeKindOf } from '../src/data/store/chainRows.js'
import { StoreError } from '../src/data/store/lmdb/environment.js'
import { OperatorError } from '../src/primitives/faults.js'
import { reportTimersTo, setTimeout } from '../src/primitives/timers.js'
import { type CallAnswerer, sourceStarts } from '../src/sources/ingest/thread/callAnswerer.js'
import type { ChainTask, IngestCommand, SourceTask } from '../src/sources/ingest/thread/messages.js'
import type { SourceHost } from '../src/sources/ingest/thread/runSource.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')

/** Time for a source to end in order after a defect; its requests to nodes take 20 s at most. */
const endMsMax = 30_000

const stop = new AbortController()
let calls: CallAnswerer | undefined
port.on('message', (command: IngestCommand) => {
  if (command.type === 'stop') stop.abort()
  else if (calls !== undefined) calls.take(command)
  else host.report({ type: 'refused', serial: command.serial, fault: sourceStarts })
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
  host.report({ type: 'said', text: `a timer failed; the source continues: ${text}` })
})

async function takeChain(task: ChainTask, host: SourceHost): Promise<void> {
  if ('replay' in task)
    return (await import('../src/sources/ingest/blocks/replayFile.js')).replayFile(task, host)
  if ('follow' in task)
    return (await import('../src/sources/ingest/follow/followChain.js')).followChain(task, host)
  if ('develop' in task && task.develop.fork !== undefined) {
    const { fork } = task.develop
    return (await import('../src/sources/ingest/develop/developFork.js')).developFork(task, fork, host)
  }
  if ('develop' in task) {
    return (await import('../src/sources/ingest/develop/developChain.js')).developChain(task, host)
  }
  if ('consensus' in task) {
    return (await import('../src/sources/ingest/engine/engineSource.js')).obeyConsensus(task, host)
  }
  return (await import('../src/sources/ingest/blocks/importFiles.js')).importFiles(task, host)
}

async function publish(task: ChainTask, feed: NonNullable<ChainTask['publish']>): Promise<void> {
  const { publishSource } = await import('../src/sources/ingest/feed/publishSource.js')
  const { openFollowedStore } = await import('../src/sources/ingest/follow/followChain.js')
  const { openTaskStore } = await import('../src/sources/ingest/thread/taskStore.js')
  const openStore = () => ('follow' in task ? openFollowedStore(task, host) : openTaskStore(task))
  return publishSource(feed, host, openStore, (published) => takeChain(task, published))
}

async function run(task: SourceTask): Promise<void> {
  if ('feed' in task) return (await import('../src/sources/ingest/feed/followFeed.js')).followFeed(task, host)
  if ('upstreams' in task)
    return (await import('../src/sources/ingest/gateway/runGateway.js')).runGateway(task, host)
  if ('archives' in task && storeKindOf(task.identity).blocks === 'proved') {
    return (await import('../src/sources/ingest/era/importBeneath.js')).importBeneath(task, host)
  }
  if ('archives' in task) {
    return (await import('../src/sources/ingest/era/importArchives.js')).importArchives(task, host)
  }
  return task.publish === undefined ? takeChain(task, host) : publish(task, task.publish)
}

// Errors of background tasks are reported, and the source continues.
process.on('unhandledRejection', (error) => {
  const text = error instanceof Error ? error.stack : String(error)
  host.report({ type: 'said', text: `a defect; the source continues: ${text}`, isError: true })
})
let defect: unknown
// After an uncaught exception the state of the source is unknown, so it ends in order: it closes its store first.
process.on('uncaughtException', (error) => {
  defect ??= error
  stop.abort()
  setTimeout(() => process.exit(), endMsMax).unref()
})

let isBroken = false
try {
  await run(workerData as SourceTask)
  if (defect !== undefined) throw defect
} catch (error) {
  const ofStore = error instanceof StoreError && (error.isLasting ? 'store' : 'room')
  isBroken = ofStore === 'store'
  const fault = ofStore || (error instanceof OperatorError ? 'operator' : 'defect')
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  host.report({ type: 'failed', fault, message, ...(stack === undefined ? {} : { stack }) })
}
// With a broken store the thread stays: its end would close the store, which may abort the process.
if (!isBroken) port.close()
