/**
 * Cached reads against a bare uWebSockets.js server that answers the same bytes, side by side in one run: for each
 * scenario the two servers take turns under autocannon, and medians are printed.
 *
 *   npm run bench [-- --seconds 3 --rounds 5 --connections 64]
 *
 * The loader is one Node process and often the slower side: where both servers show the same rate, the CPU time per
 * request is what tells them apart. The demo network is imported into a temporary folder first.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { packageRoot } from '../src/config.js'
import { pinLoader, type ServerProcess, startServer } from './serverProcess.js'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
  },
})
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)
const connections = Number(options.connections)
const cores = cpus().length

interface Scenario {
  readonly name: string
  readonly method: string
  readonly params: readonly unknown[]
}

interface Sights {
  readonly slots: readonly { readonly address: string; readonly slot: string }[]
  readonly blocks: readonly {
    readonly hash: string
    readonly number: number
    readonly transactions: number
  }[]
}

interface Sample {
  readonly rate: number
  readonly p99Ms: number
  readonly cpuMicros: number | undefined
}

const root = packageRoot()
const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
try {
  await run()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function run(): Promise<void> {
  const devnet = join(root, 'data/devnet')
  const main = join(root, 'dist/src/main.js')
  console.log('importing the demo chain …')
  // Under a name of its own nothing plays it, so the head stands still while it is measured.
  const flags = ['--network', 'still', '--data', folder]
  execFileSync(
    process.execPath,
    [main, 'import', ...flags, '--genesis', join(devnet, 'genesis.json'), join(devnet, 'chain.rlp')],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  pinLoader(cores)
  const tidegate = await startServer(
    [main, 'serve', ...flags, '--port', '0', '--no-auth', '--log-level', 'error'],
    /listens on (http:\S+)/,
    cores,
  )
  console.log(
    `node ${process.versions.node}, ${cores} cores, ${connections} connections, ${rounds} rounds of ${seconds} s each; medians\n`,
  )
  console.log(
    `${'scenario'.padEnd(34)}${'bytes'.padStart(8)}${'req/s'.padStart(9)}${'bare'.padStart(9)}${'ratio'.padStart(7)}${'CPU µs'.padStart(9)}${'bare'.padStart(8)}${'ratio'.padStart(7)}${'p99 ms'.padStart(8)}`,
  )
  try {
    for (const scenario of scenarios(join(devnet, 'sights.json'))) await measure(scenario, tidegate)
  } finally {
    tidegate.stop()
  }
}

function scenarios(sightsPath: string): Scenario[] {
  const { slots, blocks } = JSON.parse(readFileSync(sightsPath, 'utf8')) as Sights
  const slot = slots[0] as Sights['slots'][number]
  const full = blocks.find(({ transactions }) => transactions >= 200) as Sights['blocks'][number]
  const small = blocks.find(({ transactions }) => transactions <= 1) as Sights['blocks'][number]
  return [
    { name: 'storage slot, latest', method: 'eth_getStorageAt', params: [slot.address, slot.slot, 'latest'] },
    { name: 'block by hash, no transactions', method: 'eth_getBlockByHash', params: [small.hash, false] },
    { name: 'block, 200 full transactions', method: 'eth_getBlockByHash', params: [full.hash, true] },
    { name: 'receipts of that block', method: 'eth_getBlockReceipts', params: [full.hash] },
  ]
}

async function measure({ name, method, params }: Scenario, tidegate: ServerProcess): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(tidegate.said, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const answer = Buffer.from(await response.arrayBuffer())
  if (JSON.parse(answer.toString()).result == null)
    throw new Error(`${name}: no result: ${answer.toString().slice(0, 200)}`)
  const answerFile = join(folder, 'answer.json')
  writeFileSync(answerFile, answer)
  const bare = await startServer([join(root, 'dist/bench/bareServer.js'), answerFile], /^(\d+)$/, cores)
  const bareUrl = `http://127.0.0.1:${bare.said}/`
  const samples: { tidegate: Sample[]; bare: Sample[] } = { tidegate: [], bare: [] }
  try {
    await load(tidegate, tidegate.said, body, 1)
    await load(bare, bareUrl, body, 1)
    for (let round = 0; round < rounds; round++) {
      samples.tidegate.push(await load(tidegate, tidegate.said, body, seconds))
      samples.bare.push(await load(bare, bareUrl, body, seconds))
    }
  } finally {
    bare.stop()
  }
  const rate = median(samples.tidegate.map((sample) => sample.rate))
  const bareRate = median(samples.bare.map((sample) => sample.rate))
  const cpu = median(samples.tidegate.map((sample) => sample.cpuMicros ?? Number.NaN))
  const bareCpu = median(samples.bare.map((sample) => sample.cpuMicros ?? Number.NaN))
  const p99 = median(samples.tidegate.map((sample) => sample.p99Ms))
  const columns = [
    name.padEnd(34),
    String(answer.length).padStart(8),
    rate.toFixed(0).padStart(9),
    bareRate.toFixed(0).padStart(9),
    (rate / bareRate).toFixed(2).padStart(7),
    cpu.toFixed(1).padStart(9),
    bareCpu.toFixed(1).padStart(8),
    (bareCpu / cpu).toFixed(2).padStart(7),
    p99.toFixed(1).padStart(8),
  ]
  console.log(columns.join(''))
}

async function load(server: ServerProcess, url: string, body: string, duration: number): Promise<Sample> {
  const before = server.cpuSeconds()
  const result = await autocannon({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    connections,
    duration,
  })
  const after = server.cpuSeconds()
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} bad answers, ${result.errors} errors`)
  const total = result.requests.total
  return {
    rate: total / result.duration,
    p99Ms: result.latency.p99,
    cpuMicros: before === undefined || after === undefined ? undefined : ((after - before) * 1e6) / total,
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] as number
}
