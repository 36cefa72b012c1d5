/** Entry of the thread that runs parts of blocks; see src/sources/ingest/partThread.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { ForkSchedule } from '../src/data/chain/forks.js'
import { PartRunner, type PartsTask } from '../src/execution/evm/blocks/blockPart.js'
import type { PartThreadData, PartThreadMessage } from '../src/sources/ingest/partThread.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')
const { config, taken } = workerData as PartThreadData
const runner = new PartRunner(ForkSchedule.of({ config }))

port.on('message', (task: PartsTask) => {
  try {
    const parts = runner.run(task, taken)
    port.postMessage(parts, [parts.buffer])
  } catch (error) {
    // The block is executed in order then, which says what is wrong with it.
    port.postMessage({ failed: String(error) } satisfies PartThreadMessage)
  }
})
port.postMessage('ready' satisfies PartThreadMessage)
