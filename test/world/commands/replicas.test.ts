/** Several processes with one feed in a real PostgreSQL: a writer that follows a node, and replicas. */
import t from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { withoutPostgres } from '../../feed/postgres.js'
import { compareAnswers } from '../../feed/replicaAnswers.js'
import {
  atHead,
  healthOf,
  replicaOf,
  startCluster,
  startClusterOf,
  startMember,
  writerOf,
} from '../../feed/replicaCluster.js'
import type { MadeBlock } from '../../ingest/chainMaker.js'
import { playedChains } from '../../ingest/playedChains.js'
import type { PlayedBlock, ReplayedChain } from '../../ingest/replayedChain.js'
import { someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { executedHere } from '../../service/fixtures.js'
import { withoutTimes } from '../../service/healthTimes.js'

const reorganisations = [
  { after: 8, back: 2, blocks: 3 },
  { after: 14, back: 3, blocks: 1 },
  { after: 15, back: 1, blocks: 2 },
]

interface LogLine {
  readonly kind: string
  readonly number: number
  readonly epoch: number
}

/** The expected entries of the log after every head of the chain, in order. */
function expectedLog({ heads, blocks, branches }: ReplayedChain<PlayedBlock>): LogLine[] {
  const made = new Map([...blocks, ...branches.flat()].map((block) => [bytesToHex(block.hash), block]))
  const lines: LogLine[] = []
  let canonical: PlayedBlock[] = []
  for (const head of heads) {
    const branch: PlayedBlock[] = []
    let block: PlayedBlock | undefined = head
    while (block !== undefined && canonical[block.number - 1] !== block) {
      branch.unshift(block)
      block = made.get(bytesToHex(parseBlock(block.rlp).header.parentHash))
    }
    const fork = block?.number ?? 0
    if (fork < canonical.length) lines.push({ kind: 'unwind', number: fork, epoch: 1 })
    lines.push(...branch.map(({ number }) => ({ kind: 'block', number, epoch: 1 })))
    canonical = [...canonical.slice(0, fork), ...branch]
  }
  return lines
}

for (const { name, skip, make, subjectsAt } of playedChains(1).flat()) {
  t.test(`a writer and its replicas: ${name}`, { skip: withoutPostgres || skip }, async (t) => {
    const cluster = await startClusterOf(
      t,
      await make(t, { length: 20, from: 4, intervalMs: 1, reorganisations }),
    )
    const { chain, postgres, steps } = cluster
    const writer = await startMember(t, cluster, writerOf(cluster))
    const early = await startMember(t, cluster, replicaOf(cluster))
    const services = [writer, early]
    for (const head of chain.heads) {
      await atHead(head, services)
      await steps.next()
    }
    const late = await startMember(t, cluster, replicaOf(cluster))
    const last = chain.heads.at(-1) as PlayedBlock
    await atHead(last, [late])
    const rows = await postgres.query(
      `select kind, number::int, epoch::int from tidegate_tides.entry
     where kind in ('block', 'unwind') order by sequence`,
    )
    const expected = expectedLog(chain)
    t.strictSame(rows, expected, 'the log has every head in order')
    const blocks = [...chain.blocks.slice(-5), ...chain.branches.map((branch) => branch[0] as PlayedBlock)]
    const answers = await compareAnswers(t, someOf(blocks, 4), writer, [early, late], subjectsAt)
    t.ok(answers > 200, `${answers} answers`)
    t.strictSame(withoutTimes((await healthOf(late)).networks.tides), {
      head: last.number,
      basis: executedHere,
      syncing: false,
      condition: 'ok',
      upstreams: { feed: { head: last.number } },
    })
  })
}

t.test(
  'a block diff that fails its check stops the replica at the last good block',
  { skip: withoutPostgres },
  async (t) => {
    const cluster = await startCluster(t, 9, [])
    const { chain, postgres, steps } = cluster
    const writer = await startMember(t, cluster, writerOf(cluster))
    await steps.next(5)
    await atHead(chain.heads.at(-1) as MadeBlock, [writer])
    await waitFor('all blocks to be published', async () => {
      const [row] = await postgres.query('select head_number::int from tidegate_tides.feed')
      return row?.head_number === 9
    })
    // Block 6 comes with the part of block 7: complete, with its checksum, but of another block.
    await postgres.query(`update tidegate_tides.part set bytes = (
    select other.bytes from tidegate_tides.part as other join tidegate_tides.entry using (sequence) where number = 7 and kind = 'block'
  ) where sequence = (select sequence from tidegate_tides.entry where number = 6 and kind = 'block')`)
    const replica = await startMember(t, cluster, replicaOf(cluster))
    await waitFor(
      'the replica to refuse it',
      async () => (await healthOf(replica)).networks.tides?.source === 'failed',
    )
    await atHead(chain.blocks[4] as MadeBlock, [replica])
    t.match((await healthOf(replica)).networks.tides, { head: 5, source: 'failed', syncing: true })
    const [, hash6, hash7] = chain.blocks.slice(4).map(({ hash }) => bytesToHex(hash))
    t.match(
      replica.said.err,
      `of the feed is refused: the block diff of block 6 (${hash6}) is of ${hash7}; the store stays at block 5`,
    )
  },
)
