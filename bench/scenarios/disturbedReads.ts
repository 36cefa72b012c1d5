/**
 * Cached reads at a fixed rate while proofs and estimates keep the server's pool busy. Their p99 is compared with that
 * of the same reads on an idle server. It is also compared with reads beside processes in empty loops, to separate the
 * effect of the pool from that of any busy machine.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { threadsDefault } from '../../src/serving/pool/jobPool.js'
import { addressOf, calldata, slots, word } from '../data/demoFacts.js'
import {
  askAtRate,
  type HttpConnection,
  type NextBody,
  saturate,
  type TimedResult,
  targetOf,
  warmUp,
  withConnections,
} from '../load/httpLoader.js'
import { rpc } from '../load/rpc.js'
import { warmUpSecondsOf } from '../options.js'
import type { Side } from '../report/outcome.js'
import { type Latencies, latenciesOf, latenciesOfRounds, median } from '../report/statistics.js'
import { endWithThisProcess, freeCores, onFreeCores, type ServerProcess } from '../servers/serverProcess.js'
import { onDemo, type SpecialScenario } from './specialScenario.js'

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

export const readsUnderProofs: SpecialScenario = {
  name: 'reads-under-proofs',
  title: 'cached reads under proofs and estimates',
  seconds: (options) => 4 + warmUpSecondsOf(options) + options.rounds * 3 * (options.seconds + 0.3),
  run: (context) =>
    onDemo(
      context,
      async (server) => {
        const { settings } = context
        const { rounds, seconds } = settings
        const results = { own: [] as TimedResult[], idle: [] as TimedResult[], spun: [] as TimedResult[] }
        await withHeavyLoad(server, (open, next) =>
          warmUp(open, settings.warmUpSecondsMax, next, () => server.pageFaults()),
        )
        await readAtRate(server, seconds)
        for (let round = 0; round < rounds; round++) {
          results.idle.push(await readAtRate(server, seconds))
          results.spun.push(await besideSpinners(server, seconds))
          results.own.push(await underPoolLoad(server, seconds))
        }
        const { own, ...rivals } = Object.fromEntries(
          Object.entries(results).map(([name, rounds]) => [name, toSide(rounds)] as const),
        ) as Record<keyof typeof results, Side & { readonly latencies: Latencies }>
        const ratios = Object.entries(rivals).map(([name, { latencies }]) => {
          const p99 = own.latencies.p99
          const rivalP99 = latencies.p99
          if (p99 === undefined || rivalP99 === undefined)
            throw new Error('too few reads for a p99; use more --seconds')
          return [name, { value: rivalP99 / p99, by: 'p99' }] as const
        })
        // The loader's own share in the latencies: other work on its core disturbs it.
        const late = Object.entries(results).map(([name, rounds]) => {
          const p99 = median(rounds.map(({ lateness }) => latenciesOf(lateness).p99))
          return `${name} ${p99?.toFixed(2) ?? '–'}`
        })
        return {
          unit: 'requests',
          own: { ...own, ...server.memory() },
          rivals,
          ratios: Object.fromEntries(ratios),
          note: `sent after due, p99 ms: ${late.join(', ')}`,
        }
      },
      { onCores: onFreeCores },
    ),
}

/** Cached reads of the demo chain at the fixed rate. */
function readAtRate(server: ServerProcess, seconds: number): Promise<TimedResult> {
  return withConnections(targetOf(server.said), connections, (open) =>
    askAtRate(open, readsPerSecond, seconds, () => read),
  )
}

function toSide(rounds: readonly TimedResult[]) {
  const latencies = latenciesOfRounds(rounds.map(({ latencies }) => latencies))
  return { rate: readsPerSecond, rateSpread: 0, latencies }
}

/**
 * Reads while as many processes run empty loops as the pool has threads. The loops run on the server's cores, with the
 * pool's niceness. Shows the effect of a busy machine on latencies.
 */
async function besideSpinners(server: ServerProcess, seconds: number): Promise<TimedResult> {
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
function underPoolLoad(server: ServerProcess, seconds: number): Promise<TimedResult> {
  return withHeavyLoad(server, async (open, next) => {
    const load = saturate(open, loadedBeforeSeconds + seconds, next)
    await setTimeout(loadedBeforeSeconds * 1000)
    const reads = await readAtRate(server, seconds)
    await load
    return reads
  })
}

/** Keeps the pool busy during `load`, with a new proof of 3 keys and an estimate of a token transfer in turn. */
function withHeavyLoad<T>(
  server: ServerProcess,
  load: (connections: readonly HttpConnection[], next: NextBody) => Promise<T>,
): Promise<T> {
  const token = addressOf('Tide')
  const from = addressOf('bea')
  const to = addressOf('cal')
  let serial = Date.now() * 100
  const next = () => {
    serial += 3
    if (serial % 2 === 0)
      return rpc('eth_getProof', [token, [word(serial), word(serial + 1), word(serial + 2)], 'latest'])
    const data = calldata('transfer(address,uint256)', [to, 1 + (serial % 1_000_000)])
    return rpc('eth_estimateGas', [{ from, to: token, data }])
  }
  return withConnections(targetOf(server.said), heavyConnections, (open) => load(open, next))
}
