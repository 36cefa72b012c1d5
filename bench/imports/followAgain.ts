/**
 * At each message applies a feed in PostgreSQL to a new store, up to a block, and sends the seconds. The command line has
 * a {@link FollowTask}.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defer } from '../../src/primitives/deferred.js'
import { FeedFollower } from '../../src/sources/ingest/feed/followFeed.js'
import { openTaskStore } from '../../src/sources/ingest/thread/taskStore.js'

export interface FollowTask {
  readonly url: string
  readonly schema: string
  readonly genesisPath: string
  readonly to: number
}

const { url, schema, genesisPath, to } = JSON.parse(process.argv[2] ?? '') as FollowTask
/** As a replica checks by default. */
const sendersChecked = 2

async function followOnce(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'tidegate-follow-'))
  const stop = new AbortController()
  const genesis = { text: readFileSync(genesisPath, 'utf8'), path: genesisPath }
  const { store, schedule } = await openTaskStore({
    storePath: join(home, 'chain.mdb'),
    mapBytes: 2 ** 34,
    genesis,
  })
  const startedAtMs = performance.now()
  const reached = defer<number>()
  const report = () => {
    if (follower.progress().number >= to) reached.resolve((performance.now() - startedAtMs) / 1_000)
  }
  const follower: FeedFollower = new FeedFollower(
    { url, schema, sendersChecked },
    store,
    schedule,
    report,
    stop.signal,
  )
  const running = follower.run(false)
  try {
    return (await Promise.race([reached.promise, running])) as number
  } finally {
    stop.abort()
    await running.catch(() => undefined)
    await store.close()
    rmSync(home, { recursive: true, force: true })
  }
}

process.on('message', async () => process.send?.(await followOnce()))
