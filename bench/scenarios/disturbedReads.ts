/**
 * Cached reads at a fixed rate while the server also does something else: proofs and estimates on its pool, or an
 * import. Their p99 is compared with that of the same reads on an idle server, and beside processes in empty loops,
 * to separate the effect of the pool from that of any busy machine.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { threadsDefault } from '../../src/pool/jobPool.js'
import { addressOf, calldata, slots, word } from '../data/demoFacts.js'
import {
  askAtRate,
  type HttpConnection,
  type LoadResult,
  type NextBody,
  saturate,
  targetOf,
  warmUp,
  withConnections,
} from '../load/httpLoader.js'
import { rpc } from '../load/rpc.js'
import type { Outcome, Ratio, Side } from '../report/outcome.js'
import { latenciesOf, median } from '../report/statistics.js'
import { endWithThisProcess, freeCores, onFreeCores, type ServerProcess } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { SpecialScenario } from './specialScenario.js'

/** Far below the server's highest rate, so that an idle server has no queues. */
const readsPerSecond = 2_000
const connections = 32
/** Connections that keep the pool busy; each sends the next request at once. */
const heavyConnections = 16
/** Long enough for the pool's queue to fill. */
const loadedBeforeSeconds = 0.2
/** The default of `limits.poolNiceness`. */
const niceness = 10

const { address, slot } = slots[0] as (typeof slots)[number]
const read = rpc('eth_getStorageAt', [address, slot, 'latest'])

/** Cached reads of the demo chain at the fixed rate. */
function readAtRate(server: ServerProcess, seconds: number): Promise<LoadResult> {
  return withConnections(targetOf(server.said), connections, (open) =>
    askAtRate(open, readsPerSecond, seconds, () => read),
  )
}

/** Reads on the disturbed server compared with reads under other conditions, by name. */
function latencyComparison(
  server: ServerProcess,
  disturbedRounds: readonly LoadResult[],
  otherRounds: Readonly<Record<string, readonly LoadResult[]>>,
): Omit<Outcome, 'name' | 'title'> {
  const own = { ...toSide(disturbedRounds), ...server.memory() }
  const rivals = Object.fromEntries(
    Object.entries(otherRounds).map(([name, rounds]) => [name, toSide(rounds)] as const),
  )
  const ratioTo = ({ latencies }: Side): Ratio => {
    const [ownP99, p99] = [own.latencies?.p99, latencies?.p99]
    if (ownP99 === undefined || p99 === undefined)
      throw new Error('too few reads for a p99; use more --seconds')
    return { value: p99 / ownP99, by: 'p99' }
  }
  const ratios = Object.fromEntries(Object.entries(rivals).map(([name, side]) => [name, ratioTo(side)]))
  const late = [disturbedRounds, ...Object.values(otherRounds)].map(latenessText).join(', ')
  const note = `sent after due, p99 ms: ${late} (${['own', ...Object.keys(otherRounds)].join(', ')})`
  return { unit: 'requests', own, rivals, ratios, note }
}

/** The loader's own share in the latencies: it is disturbed by whatever else runs on its core. */
function latenessText(rounds: readonly LoadResult[]): string {
  const p99 = median(rounds.map(({ lateness }) => latenciesOf(lateness ?? []).p99))
  return p99?.toFixed(2) ?? '–'
}

function toSide(rounds: readonly LoadResult[]): Side {
  const each = rounds.map((round) => latenciesOf(round.latencies))
  const of = (key: keyof (typeof each)[number]) => median(each.map((latencies) => latencies[key]))
  const latencies = { p50: of('p50'), p975: of('p975'), p99: of('p99'), p999: of('p999') }
  return { rate: readsPerSecond, rateSpread: 0, latencies, latencyRate: readsPerSecond }
}

export const readsUnderProofs: SpecialScenario = {
  name: 'reads-under-proofs',
  title: 'cached reads under proofs and estimates',
  async run({ folder, settings, server: options, network }) {
    const server = await startTidegate(folder, [await network('demo')], { ...options, onCores: onFreeCores })
    try {
      const busy: LoadResult[] = []
      const idle: LoadResult[] = []
      const spun: LoadResult[] = []
      await withHeavyLoad(server, (open, next) =>
        warmUp(open, settings.warmUpSecondsMax, next, () => server.pageFaults()),
      )
      await readAtRate(server, settings.seconds)
      for (let round = 0; round < settings.rounds; round++) {
        idle.push(await readAtRate(server, settings.seconds))
        spun.push(await besideSpinners(server, settings.seconds))
        busy.push(await underPoolLoad(server, settings.seconds))
      }
      return latencyComparison(server, busy, { idle, spun })
    } finally {
      await server.stop()
    }
  },
}

/**
 * Reads beside as many processes in empty loops as the pool has threads, on the server's cores and with their
 * niceness: the effect of any busy machine on latencies.
 */
async function besideSpinners(server: ServerProcess, seconds: number): Promise<LoadResult> {
  const turn = `require("node:os").setPriority(${niceness});process.send("turning");for(;;);`
  const [file = '', ...args] = onFreeCores([process.execPath, '-e', turn])
  const spinners = Array.from({ length: threadsDefault(freeCores) }, () =>
    endWithThisProcess(spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })),
  )
  try {
    await Promise.all(spinners.map((spinner) => once(spinner, 'message')))
    return await readAtRate(server, seconds)
  } finally {
    for (const spinner of spinners) spinner.kill('SIGKILL')
    await Promise.all(spinners.map((spinner) => once(spinner, 'exit')))
  }
}

/**
 * The load comes from the process of the reads, because another process on the loader's core would delay it by
 * milliseconds.
 */
function underPoolLoad(server: ServerProcess, seconds: number): Promise<LoadResult> {
  return withHeavyLoad(server, async (open, next) => {
    const load = saturate(open, loadedBeforeSeconds + seconds, next)
    await setTimeout(loadedBeforeSeconds * 1000)
    const reads = await readAtRate(server, seconds)
    await load
    return reads
  })
}

/** Keeps the pool busy during `load`. */
function withHeavyLoad<T>(
  server: ServerProcess,
  load: (connections: readonly HttpConnection[], next: NextBody) => Promise<T>,
): Promise<T> {
  const questions = heavyQuestions()
  return withConnections(targetOf(server.said), heavyConnections, (open) =>
    load(open, () => questions.next().value),
  )
}

/** Alternating requests: a new proof with 3 keys, and an estimate of a token transfer. */
function* heavyQuestions(): Generator<string, never> {
  const [token, from, to] = [addressOf('Tide'), addressOf('bea'), addressOf('cal')]
  for (let serial = Date.now() * 100; ; serial += 6) {
    yield rpc('eth_getProof', [token, [word(serial), word(serial + 1), word(serial + 2)], 'latest'])
    const data = calldata('transfer(address,uint256)', [to, 1 + (serial % 1_000_000)])
    yield rpc('eth_estimateGas', [{ from, to: token, data }])
  }
}
