/**
 * For each line of the input keeps COUNT new stores as a feed has it, in this process and thread, and prints what it
 * took from the block FROM (of the last of them) to the block TO, as a line of JSON ({@link Followed}).
 *
 *   npm run build && echo | node dist/bench/imports/feedFollowers.js URL SCHEMA GENESIS FROM TO [COUNT]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FeedFollower } from '../../src/ingest/feed/followFeed.js'
import { openTaskStore } from '../../src/ingest/taskStore.js'
import { defer } from '../../src/primitives/deferred.js'
import { perform } from '../servers/program.js'

export interface Followed {
  /** That were applied, in all stores together. */
  readonly blocks: number
  readonly seconds: number
  /** Of CPU, of the process. */
  readonly cpuSeconds: number
  /** By the process: from the database, since stores are mapped. Null where the system does not tell. */
  readonly bytesRead: number | null
}

const [url = '', schema = '', genesisPath = '', fromText, toText, count = '1'] = process.argv.slice(2)
const [from, to] = [Number(fromText), Number(toText)]

function usage(heads: Iterable<number>): Followed & { readonly bytesRead: number } {
  const { user, system } = process.cpuUsage()
  return {
    blocks: [...heads].reduce((sum, head) => sum + head, 0),
    seconds: performance.now() / 1_000,
    cpuSeconds: (user + system) / 1e6,
    bytesRead: bytesRead(),
  }
}

function bytesRead(): number {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}

/** Calls `onMove` after each change of the store, with its head, until `signal` is aborted. */
async function follow(folder: string, onMove: (head: number) => void, signal: AbortSignal): Promise<void> {
  const genesis = { text: readFileSync(genesisPath, 'utf8'), path: genesisPath }
  const task = { storePath: join(folder, 'chain.mdb'), mapBytes: 2 ** 34, genesis }
  const { store, schedule } = await openTaskStore(task)
  const plan = { url, schema, sendersChecked: 2 }
  const report = () => onMove(follower.progress().number)
  const follower: FeedFollower = new FeedFollower(plan, store, schedule, report, signal)
  try {
    report()
    await follower.run(false)
  } finally {
    await store.close()
  }
}

async function followAll(): Promise<Followed> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-followers-'))
  const stop = new AbortController()
  const [begun, ended] = [defer<ReturnType<typeof usage>>(), defer<ReturnType<typeof usage>>()]
  const heads = new Map<string, number>()
  const onMove = (own: string, head: number) => {
    heads.set(own, head)
    if (heads.size < Number(count)) return
    const lowest = Math.min(...heads.values())
    if (lowest >= from) begun.resolve(usage(heads.values()))
    if (lowest >= to) ended.resolve(usage(heads.values()))
  }
  const running = Array.from({ length: Number(count) }, () => {
    const own = mkdtempSync(join(folder, 'store-'))
    return follow(own, (head) => onMove(own, head), stop.signal)
  })
  try {
    await Promise.race([Promise.all(running), ended.promise])
    const [before, after] = await Promise.all([begun.promise, ended.promise])
    return {
      blocks: after.blocks - before.blocks,
      seconds: after.seconds - before.seconds,
      cpuSeconds: after.cpuSeconds - before.cpuSeconds,
      bytesRead: after.bytesRead - before.bytesRead,
    }
  } finally {
    stop.abort()
    await Promise.allSettled(running)
    rmSync(folder, { recursive: true })
  }
}

await perform(followAll)
