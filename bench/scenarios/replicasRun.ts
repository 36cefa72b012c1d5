/**
 * A feed in a real PostgreSQL: how long after the writer a replica has a new head, how fast a new replica catches up
 * beside executing the same blocks, and what a block and a replica take of the database and the network.
 */
import type { RunningPostgres } from '../../test/feed/postgres.js'
import type { Followed } from '../imports/feedFollowers.js'
import type { Imported } from '../imports/importAgain.js'
import type { Side } from '../report/outcome.js'
import { type Latencies, latenciesOf, median, spread } from '../report/statistics.js'
import { Program, roundsBefore } from '../servers/program.js'
import {
  type PlayedChain,
  playedChain,
  postgresSeconds,
  withPair,
  withPostgres,
} from '../servers/replicaPlay.js'
import { onAllCores } from '../servers/serverProcess.js'
import type { RunContext, SpecialScenario } from './specialScenario.js'

/** Replicas beside the one that is timed, in the second part: what each costs the database is seen by comparison. */
const othersWhole = 9
const othersQuick = 2

/** While the chain is played, per block. */
interface Played {
  readonly delays: Latencies
  readonly postgresMicros: number
  readonly walBytes: number
  /** Of one of the other replicas. */
  readonly others: { readonly cpuMicros: number; readonly bytesRead: number } | undefined
}

/** Plays the chain to a replica, and to so many others that share a process. */
export async function play(
  context: RunContext,
  chain: PlayedChain,
  postgres: RunningPostgres,
  schema: string,
  others: number,
): Promise<Played> {
  const { from, to, genesisPath } = chain
  const words = [postgres.url, schema, genesisPath, String(from), String(to), String(others)]
  const followers = others > 0 ? new Program<Followed>('feedFollowers', words) : undefined
  const following = followers?.next()
  const onCores = { writerOn: onAllCores, replicaOn: onAllCores }
  return await withPair(context, chain, postgres, schema, onCores, async ({ theirs, ours }) => {
    const walBytes = async () => {
      const [row] = await postgres.query(`select pg_current_wal_lsn() - '0/0' as bytes`)
      return Number(row?.bytes)
    }
    const before = { wal: await walBytes(), seconds: postgresSeconds(postgres) ?? Number.NaN }
    const [first, since] = [ours.heads.size, ours.number]
    await Promise.all([theirs.reached(to), ours.reached(to)])
    const followed = await following
    await followers?.end()
    const wal = (await walBytes()) - before.wal
    const seconds = (postgresSeconds(postgres) ?? Number.NaN) - before.seconds
    const delays = [...ours.heads].slice(first).flatMap(([hash, at]) => {
      const told = theirs.heads.get(hash)
      return told === undefined ? [] : [at - told]
    })
    const blocks = to - since
    return {
      delays: latenciesOf(delays),
      postgresMicros: (seconds * 1e6) / blocks,
      walBytes: wal / blocks,
      others: followed && {
        cpuMicros: (followed.cpuSeconds * 1e6) / followed.blocks,
        bytesRead: (followed.bytesRead ?? Number.NaN) / followed.blocks,
      },
    }
  })
}

/** Bytes per block that a feed keeps in the database. */
export async function keptBytes({ query }: RunningPostgres, schema: string) {
  const [row] = await query(
    `select (select sum(bytes) from ${schema}.entry) as bundles,
      pg_total_relation_size('${schema}.entry') + pg_total_relation_size('${schema}.part') as tables,
      (select count(*) from ${schema}.entry where kind = 'block') as blocks`,
  )
  const blocks = Number(row?.blocks)
  return { bundles: Number(row?.bundles) / blocks, tables: Number(row?.tables) / blocks }
}

/** Blocks per second from the feed and by executing them, in turns, each in a process that did it before. */
async function catchUp(
  { to, genesisPath, chainPath }: PlayedChain,
  url: string,
  schema: string,
  rounds: number,
) {
  const rates = { fed: [] as number[], executed: [] as number[] }
  const importing = new Program<Imported>('importAgain', [genesisPath, chainPath])
  const following = new Program<Followed>('feedFollowers', [url, schema, genesisPath, '0', String(to)])
  try {
    for (let round = 0; round < rounds + roundsBefore; round++) {
      const imported = await importing.next()
      const followed = await following.next()
      if (round < roundsBefore) continue
      rates.executed.push(to / imported.seconds)
      rates.fed.push(to / followed.seconds)
    }
  } finally {
    await importing.end()
    await following.end()
  }
  return rates
}

export const replicas: SpecialScenario = {
  name: 'replicas',
  title: 'blocks that a replica takes from PostgreSQL',
  async run(context) {
    const chain = await playedChain(context)
    return await withPostgres(async (postgres) => {
      const alone = await play(context, chain, postgres, 'alone', 0)
      const kept = await keptBytes(postgres, 'alone')
      const others = context.isQuick ? othersQuick : othersWhole
      const shared = await play(context, chain, postgres, 'shared', others)
      const rounds = context.isQuick ? 1 : Math.min(context.settings.rounds, 3)
      const rates = await catchUp(chain, postgres.url, 'shared', rounds)
      const side = (values: readonly number[]): Side => ({
        rate: median(values) ?? 0,
        rateSpread: spread(values),
      })
      const own: Side = { ...side(rates.fed), latencies: alone.delays }
      const ratio = median(rates.fed.map((rate, at) => rate / (rates.executed[at] as number))) ?? 0
      const ms = (value: number | undefined) => (value === undefined ? '–' : value.toFixed(1))
      const micros = (value: number | undefined) => (value === undefined ? '–' : value.toFixed(0))
      const kB = (bytes: number | undefined) => (bytes === undefined ? '–' : (bytes / 1_000).toFixed(1))
      const perReplica = (shared.postgresMicros - alone.postgresMicros) / others
      return {
        unit: 'blocks',
        own,
        rivals: { executing: side(rates.executed) },
        ratios: { executing: { value: ratio, by: 'rate' } },
        note:
          `latencies: from the writer's head to the replica's; with ${others + 1} replicas p50 ${ms(shared.delays.p50)}, ` +
          `p99 ${ms(shared.delays.p99)} ms; a block in PostgreSQL: ${kB(kept.bundles)} kB of bundle, ` +
          `${kB(kept.tables)} kB of tables, ${kB(alone.walBytes)} kB of WAL, ${micros(alone.postgresMicros)} µs of CPU ` +
          `with one replica and ${micros(perReplica)} µs for each further one; a block at a replica: ` +
          `${kB(shared.others?.bytesRead)} kB received, ${micros(shared.others?.cpuMicros)} µs of CPU`,
      }
    })
  },
}
