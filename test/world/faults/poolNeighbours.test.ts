/**
 * One key repeats calls that take most of the pool, while another key asks for proofs. Proofs wait for a slice of a
 * running job, not for its end. Waits are counted by the server's CPU time, so that other programs on the machine do
 * not lengthen them.
 */
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { CpuClock } from '../../../bench/servers/cpuClock.js'
import { amsterdamFile, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { makeFolder } from '../../library/folder.js'
import { fixtureDir } from '../../service/fixtures.js'
import { createKeys } from '../../service/keyedDemo.js'
import { storePathOf, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

/**
 * Limit of the median wait of proofs, by the CPU time of the server. Two threads of its pool and the listening thread
 * work meanwhile.
 */
const medianCpuMsMax = 400
const proofsEach = 15
/** Requests at the same time. */
const attackers = 32

const overridden = `0x${'b0'.repeat(20)}`
const hex = (value: number, bytes = 0) => `0x${value.toString(16).padStart(bytes * 2, '0')}`
/** Blocks that fill the gas limit, in a chain of 400 blocks. */
const blockOf = (n: number) => hex(41 + (n % 260))

type Call = readonly [method: string, params: readonly unknown[]]

/** Keys of a proof that is long enough for the pool. */
const pooled = ['0x0', '0x1']

/** The `n`-th call of an attacker; no two are alike. */
const attacks: Readonly<Record<string, (n: number) => Call>> = {
  witnesses: (n) => ['debug_executionWitness', [blockOf(n)]],
  traceFilter: (n) => [
    'trace_filter',
    [{ fromBlock: '0x1', toBlock: 'latest', after: n, fromAddress: [hex(n + 1, 20)] }],
  ],
  traces: (n) => ['debug_traceBlockByNumber', [blockOf(n), { enableMemory: true }]],
  roots: (n) => ['debug_intermediateRoots', [blockOf(n)]],
  loops: (n) => [
    'eth_call',
    [{ to: overridden }, 'latest', { [overridden]: { code: '0x5b600056', balance: hex(n + 1) } }],
  ],
  proofs: (n) => [
    'eth_getProof',
    [overridden, Array.from({ length: 1_024 }, (_, at) => hex(n * 1_024 + at)), 'latest'],
  ],
  mappingSlots: (n) => [
    'tidegate_getMappingSlot',
    [Array.from({ length: 5_000 }, (_, at) => [hex(n, 32), hex(at, 32)]), '0x3'],
  ],
}
const all = Object.values(attacks)
const rows = { ...attacks, everything: (n: number) => (all[n % all.length] as (n: number) => Call)(n) }

t.test('proofs beside another key', { skip: withoutAmsterdam }, async (t) => {
  const folder = makeFolder(t)
  const dataDir = join(folder, 'data')
  const [from, to] = [fixtureDir, dataDir].map((path) => dirname(storePathOf(path, 'cross')))
  cpSync(from as string, to as string, { recursive: true })
  const networks = [{ name: 'cross', genesis: amsterdamFile('a1-cross', 'genesis.json') }]
  const config = writeConfig(folder, { dataDir, networks, limits: { poolThreads: 2 } })
  const [attackerKey, victimKey] = await createKeys(dataDir, ['attacker', 'victim'])
  const service = await startService(['--config', config])
  t.teardown(() => service.stop())
  const connect = (key: string | undefined) =>
    SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws/v3/${key}`)
  const victim = await connect(victimKey)
  t.teardown(() => victim.cut())
  let serial = 0
  const request = (client: SocketClient, [method, params]: Call) =>
    client.ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))

  const clock = new CpuClock(service.process.pid as number)
  const cpuMs = () => (clock.seconds() ?? performance.now() / 1_000) * 1_000
  /** CPU milliseconds of the server, the shortest first. */
  const waitsOfProofs = async () => {
    const waits: number[] = []
    for (let proof = 0; proof < proofsEach; proof++) {
      const sinceMs = cpuMs()
      const answer = await request(victim, ['eth_getProof', [hex(10 ** 9 + serial++, 20), pooled, 'latest']])
      waits.push(cpuMs() - sinceMs)
      t.match(answer, /^\{"jsonrpc":"2.0","id":1,"result":\{/)
    }
    return waits.sort((a, b) => a - b)
  }
  const median = (waits: readonly number[]) => waits[Math.floor(waits.length / 2)] as number
  const alone = median(await waitsOfProofs())

  for (const [name, callOf] of Object.entries(rows)) {
    const clients = await Promise.all(Array.from({ length: attackers }, () => connect(attackerKey)))
    let isOver = false
    let answered = 0
    const attack = clients.map(async (client) => {
      while (!isOver) {
        if ((await request(client, callOf(serial++))) === undefined) return
        answered++
      }
    })
    const waits = await waitsOfProofs()
    t.comment(`${name}: half ${median(waits).toFixed(0)} ms of CPU, the longest ${waits.at(-1)?.toFixed(0)}`)
    isOver = true
    for (const client of clients) client.cut()
    await Promise.allSettled(attack)
    const half = median(waits)
    const reported = `half within ${half.toFixed(0)} ms of CPU, the longest ${waits.at(-1)?.toFixed(0)}; alone ${alone.toFixed(0)}`
    t.ok(half <= medianCpuMsMax, `${name}: ${reported}; ${answered} answers of the others`)
  }
})
