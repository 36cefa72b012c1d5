/**
 * Heads for thousands of clients, and what happens to them and to the server when some stop reading. The program
 * plays a chain made for it; one loader process has all clients (`ws`) and records which head arrived when.
 *
 *   npm run -s build && node dist/bench/scenarios/slowReaders.js [--clients 5000] [--stopped 500] [--heads 16] [--interval 500]
 *
 * First a quiet run in which all clients read. Then, for each policy, `--stopped` of the clients also subscribe to
 * logs and stop reading, while blocks with 540 KB of logs fill the operating system's buffers (4 MB per connection)
 * and then their queues; after `--heads` such blocks they read on. The quiet run has the same blocks without
 * subscriptions to logs.
 *
 * Delays are from the first receiver of a head to each other one, in the loader, which decodes each message on a
 * single thread. CPU time is that of the whole server process, execution of blocks included. Every process needs a
 * file descriptor per client: run `ulimit -n 20000` first if the limit is lower.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { type Policy, policies } from '../../src/streams/subscription.js'
import { makeReplayedChainIn } from '../../test/ingest/replayedChain.js'
import { readRssBytes } from '../../test/service/service.js'
import { EventListener, openListeners } from '../../test/streams/eventListener.js'
import {
  type BlockRange,
  isHandledAs,
  loudBlocksMin,
  planOfLoudness,
  stoppedStreams,
} from '../../test/streams/fanOut.js'
import { cores, pinLoader, type ServerProcess, startServer } from '../servers/serverProcess.js'

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '5000' },
    stopped: { type: 'string', default: '500' },
    heads: { type: 'string', default: '16' },
    interval: { type: 'string', default: '500' },
  },
})
const clients = Number(options.clients)
const stoppedCount = Number(options.stopped)
const heads = Number(options.heads)
const intervalMs = Number(options.interval)
if (heads < loudBlocksMin) throw new Error(`--heads has to be ${loudBlocksMin} or more, or no policy acts`)

/** Time for all clients to connect, between two phases, and for stopped clients to read everything. */
const [openingMs, gapMs, readingMs] = [10_000, 2_000, 7_000]
const blocksIn = (ms: number) => Math.ceil(ms / intervalMs)

/** The loud blocks of the quiet run and of each policy, one range after the other. */
const quietBlocks = rangeFrom(2 + blocksIn(openingMs))
const loudOf = new Map<Policy, BlockRange>()
let last = quietBlocks.to
for (const policy of policies) {
  const loud = rangeFrom(last + 1 + blocksIn(gapMs))
  loudOf.set(policy, loud)
  last = loud.to + blocksIn(readingMs)
}
const length = last + blocksIn(gapMs)
const loudRanges = [quietBlocks, ...loudOf.values()]

/** Head → times at which readers received it, in ms since the loader's start, in order. */
const arrivals = new Map<number, number[]>()
let newest = 0

const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
try {
  await run()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function run(): Promise<void> {
  const isLoud = (number: number) => loudRanges.some(({ from, to }) => number >= from && number <= to)
  const chain = await makeReplayedChainIn(folder, {
    ...{ length, from: 1, intervalMs },
    planOf: (number) => planOfLoudness(isLoud(number)),
  })
  pinLoader()
  const program = join(packageRoot(), 'dist/src/main.js')
  const server = await startServer(
    [process.execPath, program, 'serve', '--port', '0', '--config', chain.configPath, '--no-auth'],
    /listens on http:(\S+)/,
  )
  try {
    await measure(server)
  } finally {
    await server.stop()
  }
}

async function measure(server: ServerProcess): Promise<void> {
  const url = `ws:${server.said}/ws`
  console.log(
    `node ${process.versions.node}, ${cores} cores; ${clients} clients, ${stoppedCount} of which stop reading; a head every ${intervalMs} ms`,
  )
  console.log(`RSS with no client ${rssText(server)}`)
  const openReader = () => EventListener.open(url, [['newHeads']], onHead)
  const readers = await openListeners(clients - stoppedCount, openReader)
  const others = await openListeners(stoppedCount, openReader)
  if (newest >= quietBlocks.from) throw new Error('connecting took too long; raise --interval')
  console.log(`RSS with all of them ${rssText(server)}`)

  await headAfter(quietBlocks.from - 1)
  const cpuBefore = server.cpuSeconds()
  await headAfter(quietBlocks.to)
  const cpuAfter = server.cpuSeconds()
  report('quiet', quietBlocks, clients)
  if (cpuBefore !== undefined && cpuAfter !== undefined) {
    const micros = ((cpuAfter - cpuBefore) * 1e6) / (heads * clients)
    console.log(`  server CPU ${micros.toFixed(1)} µs a message`)
  }
  for (const listener of others) listener.cut()
  for (const [policy, loud] of loudOf) await stopSome(server, url, policy, loud)

  await headAfter(length - 1)
  await setTimeout(intervalMs)
  const missed = readers.filter((reader) => !reader.heads.isComplete(1, reader.heads.from, length))
  console.log(`${readers.length - missed.length} of ${readers.length} readers got every head up to ${length}`)
  for (const reader of readers) reader.cut()
}

/** Some clients of one policy, from their connecting to their end. */
async function stopSome(server: ServerProcess, url: string, policy: Policy, loud: BlockRange): Promise<void> {
  const stopped = await openListeners(stoppedCount, async () => {
    const listener = await EventListener.open(url, stoppedStreams(policy))
    listener.pause()
    return listener
  })
  if (newest >= loud.from) throw new Error('connecting took too long; raise --interval')
  const before = rssText(server)
  let duringBytes = 0
  let systemBytes = 0
  while (newest <= loud.to) {
    duringBytes = Math.max(duringBytes, readRssBytes(server.pid))
    systemBytes = Math.max(systemBytes, tcpBytes())
    await setTimeout(100)
  }
  for (const listener of stopped) listener.resume()
  await headAfter(loud.to + blocksIn(readingMs) - 1)
  const handled = stopped.filter((listener) => isHandledAs(policy, listener, loud, newest - 1)).length
  for (const listener of stopped) listener.cut()
  await setTimeout(1000)
  const half = loud.from + Math.floor(heads / 2)
  const readers = clients - stoppedCount
  report(`${policy}, buffers fill`, { from: loud.from, to: half - 1 }, readers)
  report(`${policy}, policy acts`, { from: half, to: loud.to }, readers)
  console.log(
    `  ${handled} of ${stopped.length} handled as declared; RSS before ${before}, during ${mib(duringBytes)}, after ${rssText(server)}; TCP buffers of the system ${mib(systemBytes)}`,
  )
}

/** One line for each head of a range, and one for all. */
function report(name: string, { from, to }: BlockRange, receivers: number): void {
  const delays: number[] = []
  let complete = 0
  for (let number = from; number <= to; number++) {
    const times = arrivals.get(number) ?? []
    const own = times.map((time) => time - (times[0] as number))
    delays.push(...own)
    if (times.length === receivers) complete++
    console.log(`  head ${number}: ${times.length} of ${receivers}, ${delayText(own)}`)
  }
  console.log(`${name}: ${complete} of ${to - from + 1} heads reached all ${receivers}; ${delayText(delays)}`)
}

function delayText(delays: number[]): string {
  const sorted = delays.sort((a, b) => a - b)
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((part) => sorted[Math.floor(sorted.length * part)])
  return `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, last ${(sorted.at(-1) ?? 0).toFixed(1)} ms after the first`
}

function onHead(number: number): void {
  const times = arrivals.get(number)
  if (times === undefined) arrivals.set(number, [performance.now()])
  else times.push(performance.now())
  newest = Math.max(newest, number)
}

/** Waits for the head after `number`, so that all readers have had time to receive `number`. */
async function headAfter(number: number): Promise<void> {
  while (newest <= number) await setTimeout(10)
}

/** Bytes in the operating system's TCP buffers, of all processes. */
function tcpBytes(): number {
  const pages = /TCP:.* mem (\d+)/.exec(readFileSync('/proc/net/sockstat', 'latin1'))?.[1]
  return Number(pages) * 4096
}

function rssText({ pid }: ServerProcess): string {
  return mib(readRssBytes(pid))
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}

function rangeFrom(from: number): BlockRange {
  return { from, to: from + heads - 1 }
}
