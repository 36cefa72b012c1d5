/**
 * How long after anvil a Tidegate that follows it tells of a new head: `node dist/bench/scenarios/followDelay.js [BLOCKS]
 * [TRANSACTIONS]`. Both are subscribed to over WebSockets by this process; the delay contains fetching, execution, the
 * commit and telling. Beside it, the delay where the node has no WebSocket and is polled.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HeadListener } from '../load/headListener.js'
import { askResult } from '../load/rpc.js'
import { anvilPath } from '../servers/anvil.js'
import { startServer } from '../servers/serverProcess.js'

const blocks = Number(process.argv[2] ?? 100)
const transactions = Number(process.argv[3] ?? 50)
const program = fileURLToPath(new URL('../../src/main.js', import.meta.url))

function quantile(sorted: readonly number[], share: number): string {
  return `${(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1)} ms`
}

const genesis = {
  config: {
    chainId: 31337,
    ...Object.fromEntries(
      [
        'homestead',
        'eip150',
        'eip155',
        'eip158',
        'byzantium',
        'constantinople',
        'petersburg',
        'istanbul',
        'berlin',
        'london',
      ].map((name) => [`${name}Block`, 0]),
    ),
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 0,
    blobSchedule: {
      cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
      prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
    },
  },
  gasLimit: '0x1c9c380',
  difficulty: '0x0',
  alloc: {},
}

const anvil = anvilPath()
if (anvil === undefined) throw new Error('the package @foundry-rs/anvil has no program for this machine')
const folder = mkdtempSync(join(tmpdir(), 'tidegate-follow-'))
const genesisPath = join(folder, 'genesis.json')
writeFileSync(genesisPath, JSON.stringify(genesis))
const node = await startServer(
  [anvil, '--port', '0', '--init', genesisPath, '--hardfork', 'prague', '--no-mining'],
  /^Listening on 127\.0\.0\.1:(\d+)/,
)
const nodeUrl = `http://127.0.0.1:${node.said}`
const [from, to] = (await askResult(nodeUrl, 'eth_accounts', [])) as string[]

async function mine(): Promise<void> {
  for (let count = 0; count < transactions; count++) {
    await askResult(nodeUrl, 'eth_sendTransaction', [{ from, to, value: '0x1', gas: '0x5208' }])
  }
  await askResult(nodeUrl, 'evm_mine', [])
}

for (const [name, socketUrl] of [
  ['by subscription', undefined],
  // Nothing listens there, so the node is polled.
  ['by polling every 500 ms', 'ws://127.0.0.1:9'],
] as const) {
  const configPath = join(folder, 'tidegate.json')
  const upstream = { url: nodeUrl, ...(socketUrl !== undefined && { socketUrl }) }
  writeFileSync(
    configPath,
    JSON.stringify({
      dataDir: name.replaceAll(' ', '-'),
      networks: [{ name: 'dev', genesis: 'genesis.json', source: { type: 'follow', upstreams: [upstream] } }],
    }),
  )
  const words = [process.execPath, program, 'serve', '--config', configPath, '--port', '0', '--no-auth']
  const server = await startServer(words, /listens on (http:\S+)/)
  const theirs = await HeadListener.open(nodeUrl.replace('http', 'ws'))
  const ours = await HeadListener.open(`${server.said.replace('http', 'ws')}/ws`)
  const told = async (before: number) => {
    while (theirs.heads.size === before || !ours.heads.has([...theirs.heads.keys()].at(-1) ?? '')) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  // The first block comes while it still catches up.
  for (let block = 0; block <= blocks; block++) {
    const before = theirs.heads.size
    await mine()
    await told(before)
  }
  const delays = [...theirs.heads].slice(1).map(([hash, at]) => (ours.heads.get(hash) ?? Number.NaN) - at)
  delays.sort((a, b) => a - b)
  console.log(
    `${name}: ${delays.length} blocks of ${transactions} transactions, after anvil: median ${quantile(delays, 0.5)}, p95 ${quantile(delays, 0.95)}, most ${quantile(delays, 1)}`,
  )
  theirs.close()
  ours.close()
  await server.stop()
}
await node.stop()
rmSync(folder, { recursive: true, force: true })
