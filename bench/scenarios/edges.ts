/**
 * The effect of several edges: the same load on a server with one edge and on one with `--edges`, in turns, both on
 * all cores, which the loader shares.
 *
 *   npm run -s build && node dist/bench/scenarios/edges.js [--edges 2] [--connections 64] [--seconds 3] [--rounds 3]
 *
 * Caches are off. One slot takes about as much of the loader as of the server, so on a full machine its rate shows
 * how the cores are divided; a batch of 100 slots is nearly all the server's work and shows the effect of edges. A
 * proof goes to the pool, from all edges but the first through the main thread; the pool's threads limit it, not the
 * edges. CPU time per request shows the cost of sharing.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type BenchNetwork, demoNetwork, programPath } from '../data/benchData.js'
import { saturate, targetOf, withConnections } from '../load/httpLoader.js'
import { batch, rpc } from '../load/rpc.js'
import { median } from '../report/statistics.js'
import { isPinned, type ServerProcess, startServer } from '../servers/serverProcess.js'

const { values: options } = parseArgs({
  options: {
    edges: { type: 'string', default: '2' },
    connections: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
  },
})

const cores = availableParallelism()
const contract = '0x00000000000000000000000000000000000c0de2'
const hundred = Array.from({ length: 100 }, (_, at) => at)

const works = {
  'one slot': rpc('eth_getStorageAt', [contract, '0x0', 'latest']),
  'batch of 100 slots': batch(
    hundred.map((at) => [
      'eth_getStorageAt',
      [contract, `0x${at.toString(16)}`, `0x${(at + 1).toString(16)}`],
    ]),
  ),
  'proof, a job': rpc('eth_getProof', [contract, ['0x0'], '0xc8']),
}

interface Measure {
  readonly rate: number
  readonly cpuMicros: number
  readonly busyCores: number
  readonly loaderCores: number
}

async function startOnAllCores(folder: string, demo: BenchNetwork, edges: number): Promise<ServerProcess> {
  const home = mkdtempSync(join(folder, 'tidegate-'))
  mkdirSync(join(home, 'networks'))
  symlinkSync(demo.folder, join(home, 'networks', demo.name))
  const config = join(home, 'tidegate.json')
  const limits = { memoBytes: 0, proofCacheBytes: 0 }
  writeFileSync(
    config,
    JSON.stringify({ networks: [{ name: demo.name, genesis: demo.genesisPath }], limits }),
  )
  const flags = ['--config', config, '--data', home, '--port', '0', '--no-auth', '--edges', String(edges)]
  const server = await startServer(
    [process.execPath, programPath, 'serve', ...flags],
    /listens on (http:\S+)/,
  )
  if (isPinned) {
    const all = `0-${cores - 1}`
    execFileSync('taskset', ['-a', '-p', '-c', all, String(server.pid)], { stdio: 'ignore' })
  }
  return server
}

/** Each round uses new connections, because one round may spread unevenly over the edges. */
async function measure(server: ServerProcess, body: string): Promise<Measure> {
  const connections = Number(options.connections)
  return withConnections(targetOf(server.said), connections, async (open) => {
    const serverBefore = server.cpuSeconds() ?? 0
    const loaderBefore = process.cpuUsage()
    const { answers, seconds } = await saturate(open, Number(options.seconds), () => body)
    const cpu = (server.cpuSeconds() ?? 0) - serverBefore
    const { user, system } = process.cpuUsage(loaderBefore)
    return {
      rate: answers / seconds,
      cpuMicros: (cpu * 1e6) / answers,
      busyCores: cpu / seconds,
      loaderCores: (user + system) / 1e6 / seconds,
    }
  })
}

const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
const servers: (readonly [edges: number, server: ServerProcess])[] = []
try {
  const demo = await demoNetwork()
  for (const edges of [1, Number(options.edges)]) {
    servers.push([edges, await startOnAllCores(folder, demo, edges)])
  }
  console.log(`node ${process.versions.node}, ${cores} cores, ${options.connections} connections`)
  console.log('                       edges   requests/s   CPU µs each   cores of server, loader        RSS')
  for (const [name, body] of Object.entries(works)) {
    const found = new Map(servers.map(([edges]) => [edges, [] as Measure[]]))
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const [edges, server] of servers) found.get(edges)?.push(await measure(server, body))
    }
    for (const [edges, server] of servers) {
      const of = (key: keyof Measure) => median((found.get(edges) ?? []).map((one) => one[key])) ?? Number.NaN
      const columns = [
        name.padEnd(22),
        String(edges).padStart(5),
        Math.round(of('rate')).toLocaleString('en').padStart(12),
        of('cpuMicros').toFixed(1).padStart(13),
        `${of('busyCores').toFixed(2)}, ${of('loaderCores').toFixed(2)}`.padStart(25),
        `${Math.round((server.memory().residentBytes ?? 0) / 2 ** 20)} MiB`.padStart(10),
      ]
      console.log(columns.join(' '))
    }
  }
} finally {
  await Promise.all(servers.map(([, server]) => server.stop()))
  rmSync(folder, { recursive: true, force: true })
}
