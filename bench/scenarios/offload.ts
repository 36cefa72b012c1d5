/**
 * The cost of passing work to a thread and its result back, by size and form of the result: as msgpack in transferred
 * memory, as a structured clone, as text, and through the whole pool. Idle: one job after the other. Busy: as many at
 * the same time as there are threads, each computing 0.2 ms first.
 *
 *   node dist/bench/scenarios/offload.js
 *
 * The edge's CPU time is read from /proc, so this needs Linux.
 *
 * The second table compares mapping slots computed on the edge with slots computed by the pool, the third hashes of
 * invoke transactions, by the felts of their calldata.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { jobsOfNetwork, openJobPool } from '../../src/pool/jobPool.js'
import { decodeReply } from '../../src/pool/messages.js'
import { asciiToFelt, toFelt } from '../../src/rollup/felt.js'
import { computeInvokeHash } from '../../src/rollup/invokeHash.js'
import {
  invokeLimitsDefault,
  parseInvokeTransaction,
  toHashedFields,
} from '../../src/rollup/invokeTransaction.js'
import { RequestContext } from '../../src/rpc/contexts/requestContext.js'
import { computeMappingSlots } from '../../src/state/mappingSlots.js'
import { encodeMappingKeys } from '../../src/state/writtenKeys.js'
import { openTestPool } from '../../test/pool/poolJobs.js'
import { makeTransaction } from '../../test/rollup/invokeTransactions.js'
import type { OffloadTask } from './offloadThread.js'

interface Cost {
  /** Time from the call to the result. */
  readonly wholeMicros: number
  /** CPU of the edge's thread, which cannot answer anything else meanwhile. */
  readonly edgeMicros: number
}

const threads = 2
const rounds = 7

/** CPU time of the edge's thread in microseconds, which Linux counts per thread. */
function edgeCpuMicros(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1000
}

/** The mean over `jobs` runs, `width` at a time. */
async function measureOnce(jobs: number, width: number, job: () => Promise<unknown>): Promise<Cost> {
  const startedAtMs = performance.now()
  const before = edgeCpuMicros()
  let left = jobs
  const lane = async (): Promise<void> => {
    while (left-- > 0) await job()
  }
  await Promise.all(Array.from({ length: width }, lane))
  const wholeMs = (performance.now() - startedAtMs) * width
  return { wholeMicros: (wholeMs * 1000) / jobs, edgeMicros: (edgeCpuMicros() - before) / jobs }
}

/** The fastest of some rounds, after a warm-up round. */
async function measure(jobs: number, width: number, job: () => Promise<unknown>): Promise<Cost> {
  await measureOnce(jobs, width, job)
  const costs: Cost[] = []
  for (let i = 0; i < rounds; i++) costs.push(await measureOnce(jobs, width, job))
  return {
    wholeMicros: Math.min(...costs.map(({ wholeMicros }) => wholeMicros)),
    edgeMicros: Math.min(...costs.map(({ edgeMicros }) => edgeMicros)),
  }
}

function shown({ wholeMicros, edgeMicros }: Cost): string {
  return `${wholeMicros.toFixed(0)} (${edgeMicros.toFixed(0)})`.padStart(14)
}

console.log(
  `node ${process.versions.node}, ${availableParallelism()} cores, ${threads} threads; µs from call to result (of them CPU of the edge)\n`,
)
await compareWays()
await compareSlots()
await compareHashes()

async function compareWays(): Promise<void> {
  const piscina = new Piscina({
    filename: fileURLToPath(new URL('./offloadThread.js', import.meta.url)),
    minThreads: threads,
    maxThreads: threads,
    recordTiming: false,
  })
  const { pool } = openTestPool({ threads: threads + 1 })
  await pool.start()
  const columns = ['result', 'load', 'msgpack moved', 'clone', 'text', 'whole pool']
  console.log(columns.map((name, i) => (i < 2 ? name.padEnd(8) : name.padStart(14))).join(''))
  for (const [size, bytes] of [
    ['100 B', 100],
    ['7 KB', 7_000],
    ['300 KB', 300_000],
  ] as const) {
    for (const [load, width, workMs] of [
      ['idle', 1, 0],
      ['busy', threads, 0.2],
    ] as const) {
      const task: OffloadTask = { bytes, workMs }
      const jobs = bytes > 100_000 ? 300 : 2_000
      const packed = await measure(jobs, width, async () =>
        decodeReply(await piscina.run(task, { name: 'packed' })),
      )
      const cloned = await measure(jobs, width, () => piscina.run(task, { name: 'cloned' }))
      const text = await measure(jobs, width, () => piscina.run(task, { name: 'text' }))
      const owner = new RequestContext()
      const input = { network: undefined, args: { bytes, value: 1, ms: workMs } }
      const whole = await measure(jobs, width, () => pool.run('fill', input, owner))
      console.log(size.padEnd(8) + load.padEnd(8) + [packed, cloned, text, whole].map(shown).join(''))
    }
  }
  await pool.close(1_000)
  await piscina.destroy()
}

/** The service's own pool. */
function openPool() {
  return openJobPool({
    stores: [],
    limits: {
      threads,
      niceness: 0,
      waitingMax: { proof: 1, execute: 1, slots: 10, hash: 10, logs: 1, trace: 1 },
      deadlineMsMax: 30_000,
      execution: { timeMsMax: 5_000, memoryBytesMax: 2 ** 28 },
      trace: { timeMsMax: 5_000, memoryBytesMax: 2 ** 28, answerBytesMax: 2 ** 28 },
    },
    onThreadLost: ({ error }) => console.error(error),
  })
}

async function compareSlots(): Promise<void> {
  const pool = openPool()
  await pool.start()
  const { run } = jobsOfNetwork(pool, 'none')
  const owner = new RequestContext()
  console.log(`\n${'keys'.padEnd(8)}${'on the edge'.padStart(14)}${'by the pool'.padStart(14)}`)
  for (const keys of [1, 4, 8, 16, 32, 64, 128, 256, 1_024]) {
    const written = Array.from({ length: keys }, (_, i) => `0x${i.toString(16).padStart(64, '0')}`)
    const slot = new Uint8Array(32)
    const from = { types: undefined, argument: 0, before: 0 }
    const jobs = Math.max(20, Math.floor(2_000 / keys))
    const inline = await measure(jobs, 1, async () =>
      computeMappingSlots({ slot, keys: encodeMappingKeys(written, from) }),
    )
    const pooled = await measure(jobs, 1, () =>
      run('mappingSlots', { slot, keysJson: Buffer.from(JSON.stringify(written)), ...from }, owner),
    )
    console.log(String(keys).padEnd(8) + shown(inline) + shown(pooled))
  }
  await pool.close(1_000)
}

async function compareHashes(): Promise<void> {
  const pool = openPool()
  await pool.start()
  const { run } = jobsOfNetwork(pool, 'none')
  const owner = new RequestContext()
  console.log(`\n${'felts'.padEnd(8)}${'on the edge'.padStart(14)}${'by the pool'.padStart(14)}`)
  for (const felts of [0, 8, 100, 5_000]) {
    const calldata = Array.from({ length: felts }, (_, i) => toFelt(BigInt(i + 3) ** 150n % 2n ** 251n))
    const transaction = parseInvokeTransaction(makeTransaction(1, 1, { calldata }), invokeLimitsDefault)
    const request = { chainId: asciiToFelt('SN_MAIN'), fields: toHashedFields(transaction) }
    const jobs = Math.max(1, Math.floor(300 / (felts + 10)))
    const inline = await measure(jobs, 1, async () => computeInvokeHash(request))
    const pooled = await measure(jobs, 1, () => run('invokeHash', request, owner))
    console.log(String(felts).padEnd(8) + shown(inline) + shown(pooled))
  }
  await pool.close(1_000)
}
