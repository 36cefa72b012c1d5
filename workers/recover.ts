/**
 * Entry of the thread that works ahead of an ingest thread (keysAhead.ts), or beside it (keysShared.ts). It recovers
 * public keys for the next blocks, and reads the data that these need.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { recoverKeys, recoverKeysOf } from '../src/execution/evm/transactions/recoveredKeys.js'
import { decodeRlpList, rlpList } from '../src/primitives/rlp.js'
import { claimed } from '../src/sources/ingest/blocks/keysShared.js'
import { ReadAhead } from '../src/sources/ingest/blocks/readAhead.js'
import type {
  RecoveryEnd,
  RecoveryReady,
  RecoverySettings,
  RecoveryTask,
  SharedRecovery,
} from '../src/sources/ingest/blocks/recoveryThread.js'

const port = parentPort
if (port === null) throw new Error('this file is the entry of a worker thread')
const { wanted, storePath } = workerData as RecoverySettings
const readAhead = new ReadAhead(storePath)

port.on('message', (tasks: readonly RecoveryTask[] | SharedRecovery | RecoveryEnd) => {
  if (tasks === 'end') return process.exit()
  if ('claims' in tasks) return port.postMessage(recoverShared(tasks))
  for (const { index, rlp } of tasks) {
    const isLate = () => Atomics.load(wanted, 0) >= index
    const records = recoverKeys(rlp, isLate)
    port.postMessage(records)
    if (!isLate()) readAhead.read(rlp, records, isLate)
  }
})

/** The block was decoded before, so it is well-formed. */
function recoverShared({ claims, body }: SharedRecovery): Uint8Array {
  const transactions = rlpList(decodeRlpList(body)[0])
  return recoverKeysOf(claimed(transactions, claims, 'last'), () => false)
}

port.postMessage('ready' satisfies RecoveryReady)
