/**
 * What proofs and gas estimates on the pool do to cached reads: latency of one read at a fixed rate and at
 * saturation, while the pool is idle, while it has more work than it can do, and, to tell what the pool does from
 * what any busy machine does, while it is idle but as many processes of the pool's niceness turn in empty loops. The
 * three take turns; medians of the rounds are printed. Target: p99 under load ≤ 2 × idle.
 *
 *   node dist/bench/poolLoad.js [--rate 2000] [--seconds 4] [--rounds 5] [--niceness 10] [--pin]
 *
 * Load comes from a process of its own: 16 connections, each asking again at once, every other a proof with 3 keys
 * never asked before, or an estimate of a token transfer. `--pin` keeps the whole server, pool included, on the
 * first core and both loaders on the last; without it they share all cores.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packageRoot } from '../src/config.js'
import { threadsDefault } from '../src/pool/jobPool.js'
import { askAtRate, askInTurns, KeepAliveClient } from './keepAliveClient.js'
import { pinLoader, startServer } from './serverProcess.js'

const { values: options } = parseArgs({
  options: {
    rate: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    niceness: { type: 'string', default: '10' },
    pin: { type: 'boolean', default: false },
    background: { type: 'string' },
    spin: { type: 'boolean', default: false },
  },
})
const cores = availableParallelism()
const seconds = Number(options.seconds)
const devnet = join(packageRoot(), 'data/devnet')

interface Sights {
  readonly slots: readonly { readonly address: string; readonly slot: string }[]
  readonly contracts: readonly { readonly name: string; readonly address: string }[]
  readonly accounts: readonly { readonly address: string }[]
}
const sights = JSON.parse(readFileSync(join(devnet, 'sights.json'), 'utf8')) as Sights

function rpc(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

if (options.spin) spin()
else if (options.background === undefined) await main()
else await makeLoad(new URL(options.background))

/** Turns in an empty loop until the parent ends it. */
function spin(): void {
  setPriority(Number(options.niceness))
  process.send?.('turning')
  for (;;);
}

/** Keeps the pool busy until the parent ends it; tells it each second how much was answered, and how. */
async function makeLoad(origin: URL): Promise<void> {
  // It stands for other machines, so it should not take cores from the edge that these would not take.
  setPriority(10)
  const token = sights.contracts.find(({ name }) => name === 'Tide')?.address as string
  const [from, to] = sights.accounts.map(({ address }) => address) as [string, string]
  let serial = Date.now() * 1_000
  const word = () => (serial++).toString(16).padStart(64, '0')
  const bodies = [
    () => rpc('eth_getProof', [token, [`0x${word()}`, `0x${word()}`, `0x${word()}`], 'latest']),
    () => {
      // The recipient varies, so that no two questions are the same.
      const data = `0xa9059cbb${to.slice(2).padStart(64, '0').slice(0, 32)}${word().slice(32)}${'0'.repeat(64)}`
      return rpc('eth_estimateGas', [{ from, to: token, data }])
    },
  ]
  const answered = { done: 0, refused: 0 }
  const ask = (client: KeepAliveClient, turn: number): void => {
    client.ask((bodies[turn % 2] as () => string)(), (status) => {
      if (status === 200) answered.done++
      else answered.refused++
      ask(client, turn + 1)
    })
  }
  for (let i = 0; i < 16; i++) ask(await KeepAliveClient.open(origin), i)
  setInterval(() => process.send?.(answered), 200)
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  try {
    await compare(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function compare(folder: string): Promise<void> {
  const program = join(packageRoot(), 'dist/src/main.js')
  const genesis = join(devnet, 'genesis.json')
  console.log('importing the demo network …')
  const importFlags = ['--network', 'demo', '--data', folder, '--genesis', genesis]
  execFileSync(process.execPath, [program, 'import', ...importFlags, join(devnet, 'chain.rlp')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const config = join(folder, 'tidegate.json')
  const limits = { poolNiceness: Number(options.niceness) }
  writeFileSync(config, JSON.stringify({ networks: [{ name: 'demo', genesis }], limits }))
  if (options.pin) pinLoader(cores)
  const server = await startServer(
    [
      program,
      'serve',
      '--config',
      config,
      '--data',
      folder,
      '--port',
      '0',
      '--no-auth',
      '--log-level',
      'error',
    ],
    /listens on (http:\S+)/,
    options.pin ? cores : 1,
  )
  const origin = new URL(server.said)
  const { address, slot } = sights.slots[0] as Sights['slots'][number]
  const read = () => rpc('eth_getStorageAt', [address, slot, 'latest'])
  const few = await Promise.all(Array.from({ length: 32 }, () => KeepAliveClient.open(origin)))
  const modes = [
    [`${options.rate} reads/s`, () => askAtRate(few, Number(options.rate), seconds, read)],
    ['saturated, 32 connections', () => askInTurns(few, seconds, read)],
  ] as const
  console.log(
    `node ${process.versions.node}, ${cores} cores${options.pin ? ', server on one of them' : ''}, pool niceness ${options.niceness}, ${options.rounds} rounds of ${seconds} s each\n`,
  )
  console.log(
    'reads'.padEnd(28) +
      ['pool', 'reads/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'jobs/s', 'refused']
        .map((name) => name.padStart(10))
        .join(''),
  )
  await askInTurns(few, 2, read)
  try {
    for (const [name, ask] of modes) {
      const idle: Sample[] = []
      const spun: Sample[] = []
      const busy: Sample[] = []
      for (let round = 0; round < Number(options.rounds); round++) {
        idle.push(toSample(await ask()))
        spun.push(await besideSpinners(ask))
        busy.push(await underLoad(origin, ask))
      }
      const [idleP99, spunP99] = [show(name, 'idle', idle), show(name, 'spun', spun)]
      const busyP99 = show(name, 'busy', busy)
      const [toIdle, toSpun] = [idleP99, spunP99].map((p99) => (busyP99 / p99).toFixed(2))
      console.log(`${''.padEnd(28)}p99 busy / idle: ${toIdle}, busy / spun: ${toSpun}\n`)
    }
  } finally {
    for (const client of few) client.close()
    server.stop()
  }
}

interface Sample {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  /** Jobs answered and refused a second. */
  readonly jobs: number
  readonly refused: number
}

function toSample(latencies: number[], jobs = 0, refused = 0): Sample {
  const sorted = latencies.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] as number
  return { rate: sorted.length / seconds, p50: at(0.5), p99: at(0.99), p999: at(0.999), jobs, refused }
}

async function besideSpinners(ask: () => Promise<number[]>): Promise<Sample> {
  const flags = ['--spin', '--niceness', options.niceness]
  const spinners = Array.from({ length: threadsDefault() }, () => fork(fileURLToPath(import.meta.url), flags))
  await Promise.all(spinners.map((spinner) => once(spinner, 'message')))
  const sample = toSample(await ask())
  for (const spinner of spinners) spinner.kill('SIGKILL')
  await Promise.all(spinners.map((spinner) => once(spinner, 'exit')))
  return sample
}

async function underLoad(origin: URL, ask: () => Promise<number[]>): Promise<Sample> {
  const loader = fork(fileURLToPath(import.meta.url), ['--background', origin.href])
  let answered = { done: 0, refused: 0 }
  loader.on('message', (message: typeof answered) => {
    answered = message
  })
  await once(loader, 'message')
  const before = answered
  const latencies = await ask()
  const sample = toSample(
    latencies,
    (answered.done - before.done) / seconds,
    (answered.refused - before.refused) / seconds,
  )
  loader.kill()
  await once(loader, 'exit')
  return sample
}

/** Prints the medians of some rounds and returns that of p99. */
function show(name: string, pool: string, samples: readonly Sample[]): number {
  const median = (key: keyof Sample) =>
    samples.map((sample) => sample[key]).sort((a, b) => a - b)[samples.length >> 1] as number
  const cells = [
    pool,
    median('rate').toFixed(0),
    ...(['p50', 'p99', 'p999'] as const).map((key) => median(key).toFixed(2)),
    median('jobs').toFixed(0),
    median('refused').toFixed(0),
  ]
  console.log(name.padEnd(28) + cells.map((cell) => cell.padStart(10)).join(''))
  return median('p99')
}
