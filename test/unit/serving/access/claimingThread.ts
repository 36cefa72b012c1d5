/** A thread that spends one unit of each of some keys, each at the same instant as the other threads. */
import { parentPort, workerData } from 'node:worker_threads'
import { DayQuotas } from '../../../../src/serving/access/dayQuotas.js'
import { UnitLeases } from '../../../../src/serving/access/unitLeases.js'

export interface ClaimingTask {
  readonly table: 'quotas' | 'leases'
  readonly memory: SharedArrayBuffer
  /** Keys of this thread, in order; keys at one position are spent from at the same time. */
  readonly keyIds: readonly string[]
  readonly threads: number
  /** One word in shared memory: the number of positions that threads have reached. */
  readonly gate: SharedArrayBuffer
}

const { table, memory, keyIds, threads, gate } = workerData as ClaimingTask
const quotas = new DayQuotas(table === 'quotas' ? memory : undefined)
const leases = table === 'leases' ? new UnitLeases(memory) : undefined
const arrived = new Int32Array(gate)
for (const [position, keyId] of keyIds.entries()) {
  Atomics.add(arrived, 0, 1)
  while (Atomics.load(arrived, 0) < (position + 1) * threads);
  if (leases === undefined) quotas.debit(keyId, 1)
  else leases.of(keyId, { perSecond: 1_000, burst: 25_000, perDay: undefined }).debit(1)
}
parentPort?.postMessage('done')
