/**
 * A feed whose writers, replicas and database are killed at random moments, by the signals closest to a failing
 * machine. `KILLS=50` sets the number of kills of the writer, and of a replica; `PAUSE_MS=10000` the downtime of the
 * database.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { historyBlocksMin } from '../../../src/operation/config/config.js'
import { hexDigits, hexToBytes } from '../../../src/primitives/bytes.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import { type Postgres, startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { compareAnswers } from '../../feed/replicaAnswers.js'
import {
  atHead,
  type Cluster,
  healthOf,
  replicaOf,
  startCluster,
  startClusterOf,
  startMember,
  takeoverMs,
  writerOf,
} from '../../feed/replicaCluster.js'
import type { MadeBlock } from '../../ingest/chainMaker.js'
import { type PlayedChain, playedChains } from '../../ingest/playedChains.js'
import { makeReplayedChain, type PlayedBlock } from '../../ingest/replayedChain.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { once, waitFor } from '../../library/until.js'
import type { Service } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const killsMax = Number(process.env.KILLS ?? 1)
const pauseMs = Number(process.env.PAUSE_MS ?? 0)
const blocksPerKill = 5
/** Number of blocks whose past a replica keeps. */
const keptBlocks = historyBlocksMin

/** Reorganisations of two blocks, one for about each kill. */
function reorganisationsUpTo(length: number) {
  return Array.from({ length: Math.floor((length - 8) / 5) }, (_, index) => ({
    after: 8 + 5 * index,
    back: 2,
    blocks: 3,
  }))
}

async function kill(service: Service): Promise<void> {
  service.process.kill('SIGKILL')
  if (service.process.exitCode === null && service.process.signalCode === null)
    await once(service.process, 'exit')
}

async function feedOf(postgres: Postgres) {
  const [row] = await postgres.query('select epoch::int, holder, head_hash from tidegate_tides.feed')
  // "host pid id"
  return {
    epoch: row?.epoch as number,
    pid: Number(row?.holder?.split(' ')[1]),
    head: row && hexDigits(row.head_hash ?? []),
  }
}

/** Collects the new heads that a process sends to its subscribers: hashes. */
async function followHeads(t: Test, service: Service): Promise<() => string[]> {
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  await client.ask('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
  return () => client.received.map((text) => hexDigits(hexToBytes(JSON.parse(text).params.result.hash)))
}

/**
 * Checks every entry of the log against those before it, and its end against the canonical chain. No entry is lost,
 * doubled or reordered, and none is of a replaced writer. `reported` are heads of a replica: all of them are in the
 * log, in this order.
 */
async function checkLog(
  t: Test,
  { postgres, chain }: Pick<Cluster, 'postgres' | 'chain'>,
  reported: readonly string[] = [],
): Promise<void> {
  const rows = await postgres.query(
    `select sequence::int, epoch::int, kind, number::int, encode(hash, 'hex') as hash, encode(parent_hash, 'hex') as parent
     from tidegate_tides.entry order by sequence`,
  )
  const genesis = hexDigits(chain.genesis.hash)
  const canonical = [genesis]
  let epoch = 0
  for (const [index, row] of rows.entries()) {
    const name = `entry ${row.sequence}`
    if (row.sequence !== index + 1) t.fail(`${name} stands at ${index + 1}`)
    if (row.epoch < epoch) t.fail(`${name} is of epoch ${row.epoch}, after ${epoch}`)
    epoch = row.epoch
    if (row.kind === 'block') {
      if (row.number !== canonical.length || row.parent !== canonical.at(-1))
        t.fail(`${name} does not follow`)
      canonical.push(row.hash)
    } else if (canonical[row.number] !== row.hash) t.fail(`${name} names a block that is not canonical`)
    else if (row.kind === 'unwind') canonical.length = row.number + 1
  }
  const want = [genesis, ...chain.blocks.map(({ hash }) => hexDigits(hash))]
  t.strictSame(canonical, want, 'the log ends with the whole chain')
  const published = rows.filter(({ kind }) => kind === 'block').map(({ hash }) => hash)
  let after = 0
  for (const hash of reported) {
    const at = published.indexOf(hash, after)
    if (at < 0) t.fail(`a replica had the head ${hash}, which the log does not have there`)
    else after = at + 1
  }
}

/** "median, worst" */
function spread(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b)
  return `${Math.round(sorted[sorted.length >> 1] ?? 0)}, ${Math.round(sorted.at(-1) ?? 0)}`
}

const [takenOver, continued] = playedChains(2) as [readonly PlayedChain[], readonly PlayedChain[]]

for (const played of takenOver) {
  const skip = withoutPostgres || played.skip
  const kills = played.killsOf(killsMax)

  t.test(
    `a standby takes over from a writer that is killed, or paused: ${played.name}`,
    { skip },
    async (t) => {
      const length = 12 + kills * blocksPerKill
      const reorganisations = reorganisationsUpTo(length)
      const made = await played.make(t, { length, from: 4, intervalMs: 1, reorganisations })
      const cluster = await startClusterOf(t, made)
      const { chain, postgres, steps } = cluster
      const folders = [makeFolder(t), makeFolder(t)]
      const standing = writerOf(cluster, { leaseMs: takeoverMs })
      const start = (folder: string) => startMember(t, cluster, standing, folder)
      const first = await start(folders[0] as string)
      const writers = new Map([
        [first.process.pid as number, { service: first, folder: folders[0] as string }],
      ])
      await waitFor('a writer', async () => (await feedOf(postgres).catch(() => undefined))?.epoch === 1)
      const second = await start(folders[1] as string)
      writers.set(second.process.pid as number, { service: second, folder: folders[1] as string })
      const replica = await startMember(t, cluster, replicaOf(cluster))
      const reported = await followHeads(t, replica)
      /** Milliseconds of each pause: until another process had the lease, to its first entry, to the head of the replica. */
      const pauses: [toLease: number, toEntry: number, toReplica: number][] = []
      for (let round = 0; round < kills; round++) {
        await steps.reached()
        steps.let(blocksPerKill - 1)
        await pause(Math.random() * 300)
        const { pid, epoch } = await feedOf(postgres)
        const writer = writers.get(pid)
        if (writer === undefined) throw new Error(`there is no writer ${pid}`)
        await kill(writer.service)
        const killed = performance.now()
        writers.delete(pid)
        // The other blocks may have been published; this one is not.
        await steps.next()
        await waitFor('another writer', async () => (await feedOf(postgres)).epoch > epoch, 2)
        const taken = performance.now()
        const blocks = await waitFor(
          'its first block',
          async () => {
            const rows = await postgres.query(
              `select encode(hash, 'hex') as hash from tidegate_tides.entry where kind = 'block' and epoch > ${epoch}`,
            )
            return rows.length > 0 && new Set(rows.map(({ hash }) => hash))
          },
          2,
        )
        const published = performance.now()
        await waitFor('a replica to have it', () => reported().some((hash) => blocks.has(hash)), 2)
        pauses.push([taken - killed, published - taken, performance.now() - published])
        const again = await start(writer.folder)
        writers.set(again.process.pid as number, { service: again, folder: writer.folder })
      }
      const parts = [
        `to the lease (which holds for ${takeoverMs} ms)`,
        'to its first block',
        'to the head of a replica',
      ]
      for (const [index, part] of parts.entries())
        t.comment(`${part}: ${spread(pauses.map((pause) => pause[index] as number))} ms (median, worst)`)
      const whole = pauses.map((pause) => pause.reduce((sum, ms) => sum + ms, 0))
      t.comment(`from the kill to the head of a replica: ${spread(whole)} ms (median, worst of ${kills})`)
      const { pid, epoch } = await feedOf(postgres)
      const paused = writers.get(pid)?.service as Service
      const others = [...writers.values()].flatMap(({ service }) => (service === paused ? [] : [service]))
      const saidBefore = paused.said.err.length
      await steps.next()
      paused.process.kill('SIGSTOP')
      await steps.next()
      await waitFor('the standby to write', async () => (await feedOf(postgres)).epoch > epoch)
      await steps.next(chain.heads.length)
      const last = chain.blocks.at(-1) as PlayedBlock
      await atHead(last, others)
      paused.process.kill('SIGCONT')
      await waitFor('the paused one to stand by', () =>
        paused.said.err.slice(saidBefore).includes('another process writes the feed'),
      )
      await atHead(last, [paused, ...others, replica])
      await checkLog(t, cluster, reported())
      // A busy machine may let a lease run out without a kill.
      t.ok((await feedOf(postgres)).epoch >= kills + 2)
    },
  )
}

for (const played of continued) {
  const skip = withoutPostgres || played.skip
  const kills = played.killsOf(killsMax)

  t.test(`a replica that is killed goes on where it was: ${played.name}`, { skip }, async (t) => {
    // More blocks than the replica keeps, but as few as possible, across the fork Amsterdam.
    const length = 32 + kills * blocksPerKill
    const history = { state: keptBlocks, trie: keptBlocks, receipts: keptBlocks, bodies: keptBlocks }
    const reorganisations = reorganisationsUpTo(length)
    const made = await played.make(t, { length, from: 4, intervalMs: 1, reorganisations })
    const cluster = await startClusterOf(t, made)
    const { chain, steps } = cluster
    const writer = await startMember(t, cluster, writerOf(cluster))
    const folder = makeFolder(t)
    const start = () => startMember(t, cluster, { ...replicaOf(cluster), history }, folder)
    let replica = await start()
    for (let round = 0; round < kills; round++) {
      await steps.reached()
      steps.let(blocksPerKill)
      await pause(Math.random() * 300)
      await kill(replica)
      replica = await start()
    }
    await steps.next(chain.heads.length)
    await atHead(chain.blocks.at(-1) as PlayedBlock, [writer, replica])
    await compareAnswers(t, someOf(chain.blocks.slice(-8), 3), writer, [replica], played.subjectsAt)
    await replica.stop()
    const store = ChainReader.open({ path: join(folder, 'data/networks/tides/chain.mdb') })
    t.teardown(() => store.close())
    const { faults } = verifyChain(store, {
      blocks: chain.blocks.length,
      seed: 1,
      onProgress: () => undefined,
    })
    t.strictSame(faults, [])
    const head = chain.blocks.at(-1)?.number ?? 0
    const oldest = store.readOldestKept().state
    t.ok(
      head <= keptBlocks || (oldest > 0 && oldest <= head - keptBlocks),
      `from block ${oldest} of ${head} on`,
    )
    await checkLog(t, cluster)
  })
}

t.test('a writer, a standby and replicas outlive their database', { skip: withoutPostgres }, async (t) => {
  const cluster = await startCluster(t, 24, [{ after: 20, back: 2, blocks: 3 }])
  const { chain, postgres, steps } = cluster
  const writing = writerOf(cluster, { feedAheadMax: 3, leaseMs: takeoverMs })
  const writer = await startMember(t, cluster, writing)
  await waitFor('a writer', async () => (await feedOf(postgres).catch(() => undefined))?.epoch === 1)
  const standby = await startMember(t, cluster, writing)
  const folder = makeFolder(t)
  const replica = await startMember(t, cluster, replicaOf(cluster))
  const victim = await startMember(t, cluster, replicaOf(cluster), folder)
  await steps.next(2)
  const before = chain.heads[2] as MadeBlock
  await atHead(before, [writer, standby, replica, victim])
  await postgres.kill()
  await kill(victim)
  const restarted = await startMember(t, cluster, replicaOf(cluster), folder)
  const readers = [standby, replica, restarted]
  const entriesOf = () => Promise.all(readers.map(async (one) => (await healthOf(one)).networks.tides ?? {}))
  await waitFor('all to say so', async () => {
    const pages = await Promise.all(readers.map(healthOf))
    return (
      pages.every(({ status }) => status === 'failing') && /the feed does not answer/.test(writer.said.err)
    )
  })
  const noticed = await entriesOf()
  for (const entry of noticed) {
    t.match(entry, {
      head: before.number,
      syncing: true,
      headAgeSeconds: Number,
      upstreams: { feed: { trouble: 'no answer' } },
    })
  }
  // The writer waits at the first block that is too far ahead.
  for (const block of chain.blocks.slice(before.number, before.number + 4)) {
    await steps.next()
    await atHead(block, [writer])
  }
  await steps.next(4)
  const growthSeconds = Math.max(1, pauseMs / 1_000)
  const grown = await waitFor('the age of the head to grow', async () => {
    const entries = await entriesOf()
    const growths = entries.map(
      (entry, at) => Number(entry.headAgeSeconds) - Number(noticed[at]?.headAgeSeconds),
    )
    return growths.every((seconds) => seconds >= growthSeconds) && growths
  })
  t.comment(`without the database the age of the head grew by ${grown.join(', ')} s`)
  await atHead(before, readers)
  const answers = await compareAnswers(t, someOf(chain.blocks.slice(0, before.number), 2), writer, readers)
  t.ok(answers > 100, `${answers} answers without the database`)
  await atHead(chain.blocks[before.number + 3] as MadeBlock, [writer])
  await postgres.start()
  const started = performance.now()
  await steps.next(chain.heads.length)
  const all = [writer, ...readers]
  await atHead(chain.blocks.at(-1) as MadeBlock, all)
  t.comment(
    `all had the last block ${Math.round(performance.now() - started)} ms after the database was back`,
  )
  await waitFor('health', async () =>
    (await Promise.all(all.map(healthOf))).every(({ status }) => status === 'ok'),
  )
  await compareAnswers(t, someOf(chain.blocks.slice(-6), 2), writer, readers)
  await checkLog(t, cluster)
})

t.test('a standby for a replay plays it again, and replicas follow', { skip: withoutPostgres }, async (t) => {
  const length = 24
  const reorganisations = reorganisationsUpTo(length)
  const chain = await makeReplayedChain(t, { length, from: 4, intervalMs: 20, reorganisations })
  const postgres = await startPostgres(t)
  const playing = {
    source: { type: 'replay', ...chain.plan },
    publish: { url: postgres.url, leaseMs: takeoverMs },
  }
  const writer = await startMember(t, { chain }, playing)
  await waitFor('a writer', async () => (await feedOf(postgres).catch(() => undefined))?.epoch === 1)
  const standby = await startMember(t, { chain }, playing)
  const replica = await startMember(t, { chain }, replicaOf({ postgres }))
  const hasPublished = (what: string, number: number, epoch: number) =>
    waitFor(what, async () => {
      const [row] = await postgres.query(
        `select max(number)::int from tidegate_tides.entry where kind = 'block' and epoch = ${epoch}`,
      )
      return row?.max >= number
    })
  await hasPublished('some blocks', 12, 1)
  await kill(writer)
  await hasPublished('the whole replay', length, 2)
  await atHead(chain.blocks.at(-1) as MadeBlock, [standby, replica])
  await checkLog(t, { chain, postgres })
})
