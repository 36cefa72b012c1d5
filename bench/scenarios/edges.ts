/**
 * Batches of slots read by one, two and four listening threads, in turns. With more than two cores, each server may use
 * all but the loader's; two cores are shared by all. A batch is nearly all the server's work.
 */
import { slots } from '../data/demoFacts.js'
import { saturate, targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import { batch } from '../load/rpc.js'
import { warmUpSecondsOf } from '../options.js'
import { compareSides, type Side, sideOf } from '../report/outcome.js'
import { cores, onAllCores, onFreeCores } from '../servers/serverProcess.js'
import { startTidegate, type TidegateProcess, withoutCaches } from '../servers/tidegateServer.js'
import type { Found, SpecialScenario } from './specialScenario.js'

const names = new Map([
  [1, 'one'],
  [2, 'two'],
  [4, 'four'],
])
/** Threads that have a core each beside the loader's; two are measured on any machine. */
const counts = [...names.keys()].filter((count) => count <= Math.max(2, cores - 1))
const slotsPerBatch = 100
const { address } = slots[0] as (typeof slots)[number]
const body = batch(
  Array.from({ length: slotsPerBatch }, (_, at) => [
    'eth_getStorageAt',
    [address, `0x${at.toString(16)}`, 'latest'],
  ]),
)

export const edges: SpecialScenario = {
  name: 'edges',
  title: 'batches of 100 slots, by several listening threads beside one',
  seconds: (options) => counts.length * (1.5 + warmUpSecondsOf(options) + options.rounds * options.seconds),
  async run({ folder, settings, server: options, network }): Promise<Found> {
    const demo = await network('demo')
    const sides: { readonly server: TidegateProcess; readonly rates: number[] }[] = []
    try {
      for (const count of counts) {
        const limits = { ...options.limits, ...withoutCaches }
        const onCores = cores > 2 ? onFreeCores : onAllCores
        const server = await startTidegate(folder, [demo], { ...options, limits, onCores, edges: count })
        sides.push({ server, rates: [] })
      }
      for (let round = -1; round < settings.rounds; round++) {
        for (const { server, rates } of sides) {
          // New connections each time: the system spreads those of one round unevenly.
          await withConnections(targetOf(server.said), settings.connections, async (open) => {
            if (round < 0) return await warmUp(open, settings.warmUpSecondsMax, () => body, server.pageFaults)
            const { answers, seconds } = await saturate(open, settings.seconds, () => body)
            rates.push(answers / seconds)
          })
        }
      }
    } finally {
      for (const { server } of sides) await server.stop()
    }
    const [one, ...more] = sides.map(({ rates }) => sideOf(rates)) as [Side, ...Side[]]
    const own = more.at(-1) as Side
    const rivals = Object.fromEntries(
      more.map((side, at): [string, Side] => [names.get(counts[at + 1] as number) ?? '', side]),
    )
    const ratios = Object.fromEntries(
      Object.entries(rivals).map(([name, side]) => [name, compareSides(side, one)]),
    )
    return {
      unit: 'batches',
      own,
      rivals: { one, ...rivals },
      ratios,
      note: `ratios are those of ${Object.keys(rivals).join(' and ')} threads to one`,
    }
  },
}
