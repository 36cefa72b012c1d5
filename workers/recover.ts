/**
 * Entry of the thread that works ahead of an ingest thread (keysAhead.ts). It recovers public keys for the next blocks,
 * and reads the data that these need.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { recoverKeys } from '../src/execution/evm/transactions/recoveredKeys.js'
import type {
  RecoveryEnd,
  RecoveryReady,
  RecoverySettings,
  RecoveryTask,
} from '../src/sources/ingest/blocks/keysAhead.js'
import { ReadAhead } from '../src/sources/ingest/blocks/readAhead.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')
const { wanted, storePath } = workerData as RecoverySettings
const readAhead = new ReadAhead(storePath)

port.on('message', (tasks: readonly RecoveryTask[] | RecoveryEnd) => {
  if (tasks === 'end') return process.exit()
  for (const { index, rlp } of tasks) {
    const isLate = () => Atomics.load(wanted, 0) >= index
    const records = recoverKeys(rlp, isLate)
    port.postMessage(records)
    if (!isLate()) readAhead.read(rlp, records, isLate)
  }
})
port.postMessage('ready' satisfies RecoveryReady)
