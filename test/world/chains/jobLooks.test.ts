// @shares
/**
 * Jobs must often check whether they should stop. Measures the highest CPU time between two checks, on real blocks, in
 * all parts of a job, also outside contracts.
 */
import { join } from 'node:path'
import t from 'tap'
import { openRows } from '../../../src/data/state/provedRows.js'
import type { ChainReader } from '../../../src/data/store/chainReader.js'
import { Witnesses } from '../../../src/execution/evm/blocks/executionWitness.js'
import { StateParts } from '../../../src/execution/evm/blocks/stateParts.js'
import { JobWatch } from '../../../src/execution/evm/engine/jobWatch.js'
import { Simulation } from '../../../src/execution/evm/simulate/simulation.js'
import { loadJavaScript } from '../../../src/execution/evm/tracers/javascriptEngine.js'
import type { TraceRequest } from '../../../src/execution/evm/tracers/traceRequest.js'
import { Tracing } from '../../../src/execution/evm/tracers/tracing.js'
import { readThreadCpuMs } from '../../../src/serving/pool/threadCpu.js'
import { withoutAmsterdam } from '../../ingest/amsterdam.js'
import { someOf } from '../../library/property.js'
import { fixtureDir } from '../../service/fixtures.js'

/**
 * One and a half turns in the pool. Nearly all is less than a tenth of that; the rest is compiling, collecting garbage, and
 * freeing the memory of callers' tracers.
 */
const betweenMsMax = 75

const limits = { timeMsMax: 3_600_000, memoryBytesMax: 2 ** 29, answerBytesMax: 2 ** 30 }

/** Does a job, which gets its `shouldStop`. */
type Work = (shouldStop: () => boolean) => unknown

const cpuMs = () => readThreadCpuMs() ?? performance.now()

/** The longest time between two looks, the beginning and the end counted as looks. */
function longestBetween(work: Work): number {
  let longestMs = 0
  let lastMs = cpuMs()
  const look = () => {
    const nowMs = cpuMs()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
    return false
  }
  work(look)
  look()
  return longestMs
}

const tracers: readonly TraceRequest['tracer'][] = [
  {
    tracer: 'opcodes',
    enableMemory: true,
    disableStack: false,
    disableStorage: false,
    enableReturnData: true,
    limit: 0,
  },
  { tracer: 'callTracer', onlyTopCall: false, withLog: true },
  { tracer: 'flatCallTracer', convertParityErrors: false, includePrecompiles: true },
  {
    tracer: 'prestateTracer',
    diffMode: false,
    disableCode: false,
    disableStorage: false,
    includeEmpty: true,
  },
  {
    tracer: 'prestateTracer',
    diffMode: true,
    disableCode: false,
    disableStorage: false,
    includeEmpty: false,
  },
  { tracer: 'erc7562Tracer', withLog: true, ignored: undefined },
  { tracer: 'keccak256PreimageTracer' },
  { tracer: '4byteTracer' },
  { tracer: 'noopTracer' },
  { tracer: 'replay', trace: true, vmTrace: true, stateDiff: true, withHash: true },
  { tracer: 'parity' },
  { tracer: 'javascript', code: '{step() {}, result: () => 1, fault() {}}', config: '{}' },
]

/** Jobs of one block. */
function jobsOf(store: ChainReader): [string, (number: number, hash: Uint8Array) => Work][] {
  const witnesses = new Witnesses(store)
  const tracing = new Tracing(store, limits)
  const parts = new StateParts(store, limits)
  return [
    ['witness', (_, hash) => (stop) => witnesses.buildJson({ hash }, new JobWatch(stop, limits))],
    ...tracers.map((tracer): [string, (number: number, hash: Uint8Array) => Work] => [
      `${tracer.tracer}${'diffMode' in tracer && tracer.diffMode ? ', differences' : ''}`,
      (_, blockHash) => (stop) =>
        tracing.trace({ subject: { kind: 'block', blockHash }, tracer }, stop, () => {}),
    ]),
    ['roots', (_, blockHash) => (stop) => parts.buildJson({ kind: 'roots', blockHash }, stop)],
    [
      'accounts',
      (number, hash) => (stop) =>
        parts.buildJson(
          {
            kind: 'accountRange',
            block: { number, hash: hash as never },
            start: new Uint8Array(0),
            count: 256,
            withCode: true,
            withStorage: true,
          },
          stop,
        ),
    ],
    [
      'modified',
      (number, hash) => (stop) =>
        parts.buildJson(
          {
            kind: 'modified',
            first: { number: 0, hash: store.readCanonicalHash(0) as never },
            last: { number, hash: hash as never },
          },
          stop,
        ),
    ],
  ]
}

/** Blocks with most to do, and some others. */
const blocks = { demo: [37, 200], cross: [100] } as const

for (const [network, numbers] of Object.entries(blocks)) {
  const skip = network === 'cross' && withoutAmsterdam
  t.test(`blocks of ${network}`, { skip }, async (t) => {
    await loadJavaScript()
    const path = join(fixtureDir, 'networks', network, 'chain.mdb')
    const store = openRows({ path, mapBytes: 2 ** 32, guard: (read) => read() })
    t.teardown(() => store.close())
    for (const [name, work] of jobsOf(store)) {
      const found: string[] = []
      let longestMs = 0
      for (const number of someOf<number>(numbers, 1)) {
        const hash = store.readCanonicalHash(number)
        if (hash === undefined) throw new Error(`there is no block ${number}`)
        const once = () => longestBetween(work(number, hash))
        let ms = once()
        // Measures again, because code may have been compiled meanwhile.
        if (ms > betweenMsMax) ms = Math.min(ms, once())
        longestMs = Math.max(longestMs, ms)
        if (ms > betweenMsMax) found.push(`block ${number}: ${ms.toFixed(0)} ms`)
      }
      t.strictSame(found, [], `${name}: at most ${longestMs.toFixed(1)} ms`)
    }
  })
}

/** As many accounts as the largest body has, approximately. */
const accounts = Array.from({ length: 30_000 }, (_, at) => {
  const address = new Uint8Array(20)
  new DataView(address.buffer).setUint32(12, at + 1)
  return { address, balance: 1n }
})

t.test('many overridden accounts', async (t) => {
  const path = join(fixtureDir, 'networks/demo/chain.mdb')
  const store = openRows({ path, mapBytes: 2 ** 32, guard: (read) => read() })
  t.teardown(() => store.close())
  const head = store.readHead()
  if (head === undefined) throw new Error('there is no head')
  const block = { number: head.number, hash: head.hash, isPending: false } as const
  const simulation = new Simulation(store, limits)
  const message = { to: new Uint8Array(20).fill(7), value: 0n, data: new Uint8Array(0) }
  const simulated = { blockOverrides: {}, stateOverrides: accounts, calls: [{ message, chainId: undefined }] }
  const rules = { validates: false, tracesTransfers: false, isFull: false, gasMax: 50_000_000n }
  const work: Work = (stop) => simulation.simulateJson({ block, blocks: [simulated], ...rules }, stop)
  const ms = Math.min(longestBetween(work), longestBetween(work))
  // Sorting the keys of one trie takes longest.
  t.ok(ms < 2 * betweenMsMax, `at most ${ms.toFixed(1)} ms`)
})
