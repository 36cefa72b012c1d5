import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { decodeHeader } from '../../../src/chain/header.js'
import { encodeBlockDiff } from '../../../src/feed/blockDiffCodec.js'
import type { FeedEvent } from '../../../src/feed/blockDiffLog.js'
import { PostgresLog } from '../../../src/feed/postgresLog.js'
import { FeedFollower } from '../../../src/ingest/feed/followFeed.js'
import type { IngestMessage } from '../../../src/ingest/messages.js'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { londonConfig, testGenesis } from '../../ingest/chainMaker.js'
import { executedChain, newStore } from '../feed/blockDiffs.js'

t.test(
  'a follower that was behind says so before it says that it has all, however slow its disk',
  { skip: withoutPostgres },
  async (t) => {
    const { genesisText, sent } = await executedChain(t, testGenesis(londonConfig()))
    const { store, schedule } = newStore(t, genesisText)
    const identity = store.readIdentity()
    if (identity === undefined) throw new Error('the store has no genesis')
    const events: FeedEvent[] = sent.map((parts) => {
      const { number, parentHash } = decodeHeader(parts.header)
      return {
        kind: 'block',
        block: { number, hash: parts.hash },
        parentHash,
        blockDiff: encodeBlockDiff(parts),
      }
    })
    const [first] = events as [FeedEvent]
    // With so many entries at once it counts as behind.
    while (events.length < 40) events.push({ kind: 'safe', block: first.block })
    const plan = { url: (await startPostgres(t)).url, schema: 'tidegate_slow', sendersChecked: 2 }
    const log = await PostgresLog.connect(plan, identity, true)
    const epoch = await log.acquire('writer', 600_000)
    await log.append(epoch ?? 0, 0, events)
    await log.close()

    const commitBatch = store.commitBatch.bind(store)
    store.commitBatch = async () => {
      await commitBatch()
      await sleep(300)
    }
    const stop = new AbortController()
    const told: IngestMessage[] = []
    const report = (message: IngestMessage) => {
      told.push(message)
      if (message.type === 'head') stop.abort()
    }
    await new FeedFollower(plan, store, schedule, report, stop.signal).run(false)
    t.strictSame(
      told.map(({ type }) => type),
      ['progress', 'upstream', 'head'],
    )
    t.match(told[0], { progress: { number: sent.length, executed: events.length } })
    t.match(told[1], { state: { head: sent.length, isDown: false } })
    store.commitBatch = commitBatch
  },
)
