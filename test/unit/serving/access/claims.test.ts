/** Places of tables that threads share, claimed by several threads at the same instant. */
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { DayQuotas, quotaBytes } from '../../../../src/serving/access/dayQuotas.js'
import { UnitLeases, unitLeasesBytes } from '../../../../src/serving/access/unitLeases.js'
import { once } from '../../../library/until.js'
import type { ClaimingTask } from './claimingThread.js'

const threadUrl = new URL('./claimingThread.js', import.meta.url)
const rounds = 300
const threads = 2

/** Ids whose places in the tables are the same, for each round in another part of them. */
const idOf = (round: number, key: number) => `${(round * 16).toString(16).padStart(4, '0')}0000000${key + 1}`

async function spend(
  table: ClaimingTask['table'],
  memory: SharedArrayBuffer,
  keyOf: (thread: number) => number,
): Promise<void> {
  const gate = new SharedArrayBuffer(4)
  const running = Array.from({ length: threads }, (_, thread) => {
    const keyIds = Array.from({ length: rounds }, (_, round) => idOf(round, keyOf(thread)))
    const workerData: ClaimingTask = { table, memory, keyIds, threads, gate }
    return new Worker(threadUrl, { workerData })
  })
  await Promise.all(running.map((worker) => once(worker, 'message')))
}

t.test('two keys never get the same place of a day', async (t) => {
  const memory = new SharedArrayBuffer(quotaBytes)
  await spend('quotas', memory, (thread) => thread)
  const quotas = new DayQuotas(memory)
  const wrong = Array.from({ length: rounds * threads }, (_, index) => idOf(index >> 1, index & 1)).filter(
    (id) => quotas.spent(id) !== 1,
  )
  t.strictSame(wrong, [])
})

t.test('what is spent of a key that two threads begin with is reported whole', async (t) => {
  const memory = new SharedArrayBuffer(unitLeasesBytes)
  await spend('leases', memory, () => 0)
  const reports = new UnitLeases(memory).readReports()
  t.equal(reports.length, rounds)
  t.strictSame(
    reports.filter(({ spent }) => spent !== threads),
    [],
  )
})

t.test('two keys never get the same lease', async (t) => {
  const memory = new SharedArrayBuffer(unitLeasesBytes)
  await spend('leases', memory, (thread) => thread)
  const reports = new UnitLeases(memory).readReports()
  t.equal(new Set(reports.map(({ keyId }) => keyId)).size, rounds * threads)
  t.strictSame(
    reports.filter(({ spent }) => spent !== 1),
    [],
  )
})
