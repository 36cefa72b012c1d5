/**
 * A writer that plays a chain and publishes it in a real PostgreSQL, and two replicas. Measures the time from the
 * writer's head to theirs, and reads of both at the same time. Also compares the blocks that a new store takes from the
 * database with an import of these blocks, on one core each.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { launchPostgres, type RunningPostgres, withoutPostgres } from '../../test/feed/postgres.js'
import { testAddresses } from '../../test/ingest/chainMaker.js'
import { importPlan } from '../data/networks.js'
import type { FollowTask } from '../imports/followAgain.js'
import type { Imported } from '../imports/importAgain.js'
import { HeadListener } from '../load/headListener.js'
import { saturate, targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import { askResult, rpc } from '../load/rpc.js'
import { compareSides, type Round, roundOf, sideOf, sideOfRounds } from '../report/outcome.js'
import { latenciesOf } from '../report/statistics.js'
import { endWithThisProcess, messageOf, onAllCores, onServerCore } from '../servers/serverProcess.js'
import { startTidegate, type TidegateProcess } from '../servers/tidegateServer.js'
import { type Found, type RunContext, Skipped, type SpecialScenario } from './specialScenario.js'

const name = 'fed'
const schema = 'bench_fed'
/** Much faster than public chains, and far below the limit of two cores. */
const intervalMs = 50
/** Blocks that are played: enough for a p99. The first of them are not timed, as the replicas still apply those before. */
const playedWhole = 520
const playedQuick = 120
const untimed = 20
/** As for imports: fewer leave code that is still being compiled. */
const roundsBefore = 3
const roundMsMax = 600_000
const connections = 32
/** A read whose answer changes with the head. */
const read = () => rpc('eth_getBalance', [String(testAddresses[0]), 'latest'])

/** Two replicas, and the heads of these and of the writer, which is the last. */
interface Fed {
  readonly replicas: readonly TidegateProcess[]
  readonly listeners: readonly HeadListener[]
}

async function withFed(
  context: RunContext,
  url: string,
  played: { readonly genesis: string; readonly file: string; readonly from: number },
  use: (fed: Fed) => Promise<Found>,
): Promise<Found> {
  const { genesis, file, from } = played
  const started: TidegateProcess[] = []
  const listeners: HeadListener[] = []
  const start = async (entry: object) => {
    const moreNetworks = [{ name, genesis, ...entry }]
    const server = await startTidegate(context.folder, [], {
      ...context.server,
      onCores: onAllCores,
      moreNetworks,
    })
    started.push(server)
    listeners.push(await HeadListener.open(new URL(`/${name}/ws`, server.said).href.replace('http', 'ws')))
    return server
  }
  try {
    const feed = { source: { type: 'feed', url, schema } }
    const replicas = [await start(feed), await start(feed)]
    await start({ source: { type: 'replay', file, from, intervalMs }, publish: { url, schema } })
    return await use({ replicas, listeners })
  } finally {
    for (const listener of listeners) listener.close()
    for (const server of started) await server.stop()
  }
}

/** Milliseconds from each head of the writer, after block `from`, to that of each replica. */
function delaysOf({ listeners }: Fed, from: number): number[] {
  const [writer, ...replicas] = [...listeners].reverse()
  return replicas.flatMap(({ heads }) =>
    [...heads].flatMap(([hash, { number, atMs }]) => {
      const written = writer?.heads.get(hash)
      return written === undefined || number <= from ? [] : [atMs - written.atMs]
    }),
  )
}

/** Reads of these replicas at the same time. */
async function readAll(replicas: readonly TidegateProcess[], seconds: number): Promise<Round> {
  const before = replicas.map((replica) => replica.cpuSeconds() ?? Number.NaN)
  const results = await Promise.all(
    replicas.map(({ said }) =>
      withConnections(targetOf(new URL(`/${name}`, said).href), connections, (open) =>
        saturate(open, seconds, read),
      ),
    ),
  )
  const cpuSeconds = replicas.reduce(
    (sum, replica, at) => sum + (replica.cpuSeconds() ?? Number.NaN) - (before[at] as number),
    0,
  )
  const answers = results.reduce((sum, each) => sum + each.answers, 0)
  return roundOf(answers, Math.max(...results.map((each) => each.seconds)), cpuSeconds)
}

/** A program that does the same at each message. */
function repeated(program: string, word: string): ChildProcess {
  const path = fileURLToPath(new URL(`../imports/${program}.js`, import.meta.url))
  const [execPath = '', ...execArgv] = onServerCore([process.execPath])
  return endWithThisProcess(fork(path, [word], { execPath, execArgv }))
}

async function once<T>(child: ChildProcess): Promise<T> {
  const answer = messageOf(child, 'a program', roundMsMax)
  child.send({})
  return (await answer) as T
}

/** Blocks a second from the feed, and by an import, in turns. */
async function applyInTurns(folder: string, task: FollowTask, rounds: number) {
  const rates = { fed: [] as number[], executed: [] as number[] }
  const programs = [repeated('followAgain', JSON.stringify(task)), repeated('importAgain', folder)] as const
  try {
    for (let round = -roundsBefore; round < rounds; round++) {
      const fed = await once<number>(programs[0])
      const { seconds } = await once<Imported>(programs[1])
      if (round < 0) continue
      rates.fed.push(task.to / fed)
      rates.executed.push(task.to / seconds)
    }
  } finally {
    for (const program of programs) program.kill('SIGKILL')
  }
  return rates
}

async function measure(context: RunContext, { url }: RunningPostgres): Promise<Found> {
  const { isQuick, seconds, rounds, warmUpSecondsMax } = context.settings
  const { folder, genesisPath } = await context.network('mixed')
  const to = importPlan('mixed', isQuick).blocks
  const played = isQuick ? playedQuick : playedWhole
  const chain = { genesis: genesisPath, file: `${folder}/chain.rlp`, from: to - played }
  return await withFed(context, url, chain, async (fed) => {
    const { replicas, listeners } = fed
    await Promise.all(listeners.map((listener) => listener.reached(to)))
    const first = replicas[0] as TidegateProcess
    const newest = Number(await askResult(new URL(`/${name}`, first.said).href, 'eth_blockNumber', []))
    for (const { said, pageFaults } of replicas) {
      await withConnections(targetOf(new URL(`/${name}`, said).href), connections, (open) =>
        warmUp(open, warmUpSecondsMax, read, pageFaults),
      )
    }
    const sides = { one: [] as Round[], both: [] as Round[] }
    for (let round = 0; round < rounds; round++) {
      sides.one.push(await readAll([first], seconds))
      sides.both.push(await readAll(replicas, seconds))
    }
    const task = { url, schema, genesisPath, to: newest }
    const rates = await applyInTurns(folder, task, isQuick ? 3 : rounds)
    const [applied, executed] = [sideOf(rates.fed), sideOf(rates.executed)]
    const [one, both] = [sideOfRounds(sides.one), sideOfRounds(sides.both)]
    return {
      unit: 'blocks',
      own: { ...applied, ...first.memory(), latencies: latenciesOf(delaysOf(fed, chain.from + untimed)) },
      rivals: { executing: executed, one },
      ratios: { executing: compareSides(applied, executed), one: compareSides(both, one, true) },
      note: "percentiles are from the writer's head to a replica's; one: reads of both replicas beside those of one",
    }
  })
}

export const replicas: SpecialScenario = {
  name: 'replicas',
  title: 'blocks that replicas take from PostgreSQL',
  seconds: ({ isQuick, rounds, seconds }) =>
    (isQuick ? 16 : 120) +
    2 * rounds * seconds +
    ((isQuick ? playedQuick : playedWhole) * intervalMs) / 1_000,
  async run(context) {
    if (withoutPostgres !== false) throw new Skipped(withoutPostgres)
    const postgres = await launchPostgres()
    const end = () => process.kill(postgres.pid, 'SIGKILL')
    process.on('exit', end)
    try {
      return await measure(context, postgres)
    } finally {
      process.off('exit', end)
      await postgres.end()
    }
  },
}
