/** Entry of an ingest thread, the only writer of one network's store. Owns the thread's messages, none of the work. */
import { parentPort, workerData } from 'node:worker_threads'
import { importFiles } from '../src/ingest/importFiles.js'
import type { IngestCommand, IngestMessage, IngestTask } from '../src/ingest/messages.js'
import { OperatorError } from '../src/primitives/faults.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')

let stopAsked = false
port.on('message', (command: IngestCommand) => {
  stopAsked ||= command.type === 'stop'
})
const report = (message: IngestMessage): void => port.postMessage(message)

try {
  await importFiles(workerData as IngestTask, report, () => stopAsked)
} catch (error) {
  const isDefect = !(error instanceof OperatorError)
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  report({ type: 'failed', message, isDefect, ...(stack === undefined ? {} : { stack }) })
}
port.close()
