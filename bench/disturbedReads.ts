/**
 * Cached reads at a fixed rate while the server does something else as well: proofs and estimates on its pool, or an
 * import. What counts is the p99 beside that of the same reads on an idle server.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { slots } from './demoFacts.js'
import { askAtRate, targetOf, withConnections } from './httpLoader.js'
import type { Outcome, Side } from './outcome.js'
import { rpc } from './rpc.js'
import type { ServerProcess } from './serverProcess.js'
import type { SpecialScenario } from './specialScenario.js'
import { latenciesOf, median } from './statistics.js'
import { startTidegate } from './tidegateServer.js'

/** Far below what the server can answer, so that an idle one has no queues. */
const readsPerSecond = 2_000
const connections = 32

const { address, slot } = slots[0] as (typeof slots)[number]
const read = rpc('eth_getStorageAt', [address, slot, 'latest'])

/** Latencies in ms of cached reads of the demo chain. */
export async function readAtRate(server: ServerProcess, seconds: number): Promise<number[]> {
  const { latencies } = await withConnections(targetOf(server.said), connections, (open) =>
    askAtRate(open, readsPerSecond, seconds, () => read),
  )
  return [...latencies]
}

/** Reads on the disturbed server beside reads on the idle one. */
export function latencyComparison(
  server: ServerProcess,
  busyRounds: readonly number[][],
  idleRounds: readonly number[][],
): Omit<Outcome, 'name' | 'title'> {
  const own = { ...toSide(busyRounds), residentBytes: server.residentBytes() }
  const idle = toSide(idleRounds)
  const [busyP99, idleP99] = [own.latencies?.p99, idle.latencies?.p99]
  if (busyP99 === undefined || idleP99 === undefined)
    throw new Error('too few reads for a p99; use more --seconds')
  const ratios = { idle: { value: idleP99 / busyP99, by: 'p99' } } as const
  return { unit: 'requests', own, rivals: { idle }, ratios }
}

function toSide(rounds: readonly number[][]): Side {
  const each = rounds.map(latenciesOf)
  const of = (key: keyof (typeof each)[number]) => median(each.map((latencies) => latencies[key]))
  const latencies = { p50: of('p50'), p975: of('p975'), p99: of('p99'), p999: of('p999') }
  return { rate: readsPerSecond, rateSpread: 0, latencies, latencyRate: readsPerSecond }
}

export const readsUnderProofs: SpecialScenario = {
  name: 'reads-under-proofs',
  title: 'cached reads while the pool has more than it can do',
  async run({ folder, settings, network }) {
    const server = await startTidegate(folder, [await network('demo')])
    try {
      const busy: number[][] = []
      const idle: number[][] = []
      await readAtRate(server, settings.warmUpSeconds)
      for (let round = 0; round < settings.rounds; round++) {
        idle.push(await readAtRate(server, settings.seconds))
        busy.push(await underPoolLoad(server, settings.seconds))
      }
      return latencyComparison(server, busy, idle)
    } finally {
      await server.stop()
    }
  },
}

async function underPoolLoad(server: ServerProcess, seconds: number): Promise<number[]> {
  const loader = fork(fileURLToPath(new URL('./poolLoad.js', import.meta.url)), [server.said])
  try {
    // Its first message says that the load is on.
    await once(loader, 'message')
    return await readAtRate(server, seconds)
  } finally {
    loader.kill()
    await once(loader, 'exit')
  }
}
