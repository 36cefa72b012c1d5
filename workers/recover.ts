/**
 * Entry of the thread that recovers public keys for the blocks that an ingest thread executes next; see keysAhead.ts.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { recoverKeys } from '../src/evm/recoveredKeys.js'
import type { RecoveryReady, RecoveryTask } from '../src/ingest/keysAhead.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')
const wanted = workerData as Int32Array

port.on('message', (tasks: readonly RecoveryTask[]) => {
  for (const { index, rlp } of tasks) {
    const records = recoverKeys(rlp, () => Atomics.load(wanted, 0) >= index)
    port.postMessage(records, [records.buffer])
  }
})
port.postMessage('ready' satisfies RecoveryReady)
