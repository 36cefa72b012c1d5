// @shares
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { defer } from '../../../../src/primitives/deferred.js'
import { encodeBlockDiff } from '../../../../src/sources/feed/blockDiffCodec.js'
import type { FeedEvent } from '../../../../src/sources/feed/blockDiffLog.js'
import { PostgresLog } from '../../../../src/sources/feed/postgresLog.js'
import { FeedFollower } from '../../../../src/sources/ingest/feed/followFeed.js'
import type { IngestMessage } from '../../../../src/sources/ingest/thread/messages.js'
import { startPostgres, withoutPostgres } from '../../../feed/postgres.js'
import { londonConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { waitFor } from '../../../library/until.js'
import { executedChain, newStore } from '../../../unit/sources/feed/blockDiffs.js'

/** A store with the genesis of a chain, whose blocks are entries, and a log of that. */
async function openFeed(t: Test, schema: string) {
  const { genesisText, sent } = await executedChain(t, testGenesis(londonConfig()))
  const { store, schedule } = newStore(t, genesisText)
  const identity = store.readIdentity()
  if (identity === undefined) throw new Error('the store has no genesis')
  const blocks = sent.map((parts) => {
    const { number, parentHash } = decodeHeader(parts.header)
    const block = { number, hash: parts.hash }
    return { kind: 'block', block, parentHash, blockDiff: encodeBlockDiff(parts) } as const
  }) as readonly FeedEvent[] as readonly [FeedEvent, FeedEvent, FeedEvent, FeedEvent, FeedEvent]
  const postgres = await startPostgres(t)
  const plan = { url: postgres.url, schema, sendersChecked: 2 }
  const log = await PostgresLog.connect(plan, identity, true)
  t.teardown(() => log.close())
  const epoch = (await log.acquire('writer', 600_000)) ?? 0
  const append = async (events: readonly FeedEvent[]) => {
    await log.append(epoch, (await log.readTip()).sequence, events)
  }
  /** Follows until `holds`, which is asked after each report. */
  const followUntil = async (
    holds: (last: IngestMessage) => boolean,
    during?: () => Promise<void>,
  ): Promise<IngestMessage[]> => {
    const stop = new AbortController()
    const reported: IngestMessage[] = []
    const report = (message: IngestMessage) => {
      reported.push(message)
      if (holds(message)) stop.abort()
    }
    const follower = new FeedFollower(plan, store, schedule, report, stop.signal)
    await Promise.all([follower.run(false), during?.()])
    return reported
  }
  return { store, blocks, postgres, append, followUntil }
}

t.test(
  'a follower that was behind says so before it says that it has all, however slow its disk',
  { skip: withoutPostgres },
  async (t) => {
    const { store, blocks, append, followUntil } = await openFeed(t, 'tidegate_slow')
    const events: FeedEvent[] = [...blocks]
    // With this number of entries at once the follower counts as behind.
    while (events.length < 40) events.push({ kind: 'safe', block: blocks[0].block })
    await append(events)

    const commitBatch = store.commitBatch.bind(store)
    store.commitBatch = async () => {
      await commitBatch()
      await sleep(300)
    }
    const reported = await followUntil((last) => last.type === 'head')
    t.strictSame(
      reported.map(({ type }) => type),
      ['progress', 'upstream', 'head'],
    )
    t.match(reported[0], { progress: { number: blocks.length, executed: events.length } })
    t.match(reported[1], { state: { head: blocks.length, isDown: false } })
    store.commitBatch = commitBatch
  },
)

t.test(
  'a follower takes what was said of safe blocks before the block that it comes back to',
  { skip: withoutPostgres },
  async (t) => {
    const { store, blocks, append, followUntil } = await openFeed(t, 'tidegate_marked')
    const [first, second, third] = blocks
    await append([first, second])
    await followUntil((last) => last.type === 'head')
    await append([
      third,
      { kind: 'safe', block: second.block },
      { kind: 'finalized', block: first.block },
      { kind: 'unwind', block: second.block },
      third,
    ])
    await followUntil((last) => last.type === 'head' && store.readMarker('finalized') !== undefined)
    t.match([store.readMarker('safe'), store.readMarker('finalized')], [{ number: 2 }, { number: 1 }])
  },
)

t.test('a follower goes on in a database that was set back', { skip: withoutPostgres }, async (t) => {
  const { store, blocks, postgres, append, followUntil } = await openFeed(t, 'tidegate_set_back')
  const [first, second, third, fourth, fifth] = blocks
  const safe = { kind: 'safe', block: first.block } as const
  await append([first, second, safe, safe, safe, third])
  const reached = defer<void>()
  await followUntil(
    () => {
      if (store.head.number === 3) reached.resolve()
      return store.head.number === 5
    },
    async () => {
      await reached.promise
      // Like a restored backup.
      await postgres.query(
        `with gone as (delete from tidegate_set_back.entry where sequence > 2)
        update tidegate_set_back.feed set sequence = 2, head_number = 2, head_hash = $1`,
        [Buffer.from(second.block.hash)],
      )
      await append([third, fourth])
      await waitFor('block 4', () => store.head.number === 4)
      await append([fifth])
    },
  )
  t.equal(store.head.number, 5)
})
