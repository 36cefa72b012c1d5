/**
 * Reads of a replica while it takes blocks, and after. The thread that answers has the servers' core alone; the
 * replica's other threads, the writer and the database share the loader's. What the blocks cost
 * is seen in the CPU time of that thread, because the loader is disturbed by them as well.
 */
import { testAddresses } from '../../test/ingest/chainMaker.js'
import { saturate, targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import { rpc } from '../load/rpc.js'
import type { Side } from '../report/outcome.js'
import { median, spread } from '../report/statistics.js'
import { playedChain, withPair, withPostgres } from '../servers/replicaPlay.js'
import { leaveMainThreadAlone, onLoaderCore, onServerCore } from '../servers/serverProcess.js'
import type { SpecialScenario } from './specialScenario.js'

const connections = 64
/** As the fastest public chains. With more blocks a second the loader is disturbed too much on two cores. */
const intervalMs = 250
/** Blocks that are played, so that some rounds are measured before the chain ends. */
const played = 100
/** Its answer changes with every block, so that what was rendered does not last. */
const read = rpc('eth_getBalance', [String(testAddresses[0]), 'latest'])

export const replicaReads: SpecialScenario = {
  name: 'replicas-reads',
  title: 'a balance, read from a replica that takes 4 blocks a second',
  async run(context) {
    const whole = await playedChain(context)
    const chain = { ...whole, from: whole.to - played, intervalMs }
    const { seconds, rounds } = context.settings
    const onCores = { writerOn: onLoaderCore, replicaOn: onServerCore }
    return await withPostgres((postgres) =>
      withPair(context, chain, postgres, 'read', onCores, async ({ replica, ours }) => {
        leaveMainThreadAlone(replica)
        const target = targetOf(new URL('/fed', replica.said).href)
        const measure = (time: number) =>
          withConnections(target, connections, async (open) => {
            const before = replica.mainThreadSeconds() ?? Number.NaN
            const { answers, seconds } = await saturate(open, time, () => read)
            const edgeSeconds = (replica.mainThreadSeconds() ?? Number.NaN) - before
            return { rate: answers / seconds, cpuMicros: (edgeSeconds * 1e6) / answers }
          })
        await withConnections(target, connections, (open) =>
          warmUp(
            open,
            seconds,
            () => read,
            () => undefined,
          ),
        )
        let isOver = false
        const over = ours.reached(chain.to).then(() => {
          isOver = true
        })
        type Round = Awaited<ReturnType<typeof measure>>
        const busy: Round[] = []
        const idle: Round[] = []
        for (;;) {
          const round = await measure(seconds)
          // The chain may have ended in the middle.
          if (isOver) break
          busy.push(round)
        }
        await over
        if (busy.length === 0) throw new Error('the chain ended before a round did; shorten --seconds')
        for (let round = 0; round < rounds; round++) idle.push(await measure(seconds))
        const side = (all: readonly Round[]): Side => ({
          rate: median(all.map(({ rate }) => rate)) ?? 0,
          rateSpread: spread(all.map(({ rate }) => rate)),
          cpuMicros: median(all.map(({ cpuMicros }) => cpuMicros)),
        })
        const [own, other] = [side(busy), side(idle)]
        const rate = (own.rate / other.rate).toFixed(2)
        return {
          unit: 'answers',
          own: { ...own, ...replica.memory() },
          rivals: { idle: other },
          ratios: { idle: { value: (other.cpuMicros ?? 0) / (own.cpuMicros ?? 1), by: 'cpu' } },
          note: `CPU time of the thread that answers, alone on its core; rates, with the loader disturbed, ${rate} of idle`,
        }
      }),
    )
  },
}
