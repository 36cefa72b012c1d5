/**
 * Invoke transactions to a rollup network that asks no sequencer: each is on disk before its answer. The rival is LMDB
 * alone, which stores the same bytes as often as it can. Each request is a transaction of another sender.
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { open as openLmdb } from 'lmdb'
import { askAtRate, saturate, targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import { askBody, resultsOf, rpc } from '../load/rpc.js'
import { warmUpSecondsOf } from '../options.js'
import { compareSides, type Round, roundOf, sideOfRounds } from '../report/outcome.js'
import { latenciesOfRounds } from '../report/statistics.js'
import { withCpu } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { Found, SpecialScenario } from './specialScenario.js'

/** The queue must not fill within a run. */
const network = {
  name: 'rollup',
  kind: 'rollup',
  chainId: 'TIDEGATE_BENCH',
  queue: { transactionsMax: 10_000_000, bytesMax: 2 ** 40, keySharePercent: 100 },
}
/** Share of the highest rate, as in scenarios over HTTP: low enough that requests do not queue. */
const latencyLoad = 0.25
const latencyRateMax = 500

export const submissions: SpecialScenario = {
  name: 'submissions',
  title: 'submissions, each on disk before its answer',
  seconds: (options) =>
    3 + warmUpSecondsOf(options) + 2 * options.rounds * options.seconds + options.latencySeconds,
  async run({ folder, settings, server: options }): Promise<Found> {
    const { connections, rounds, seconds, warmUpSecondsMax, latencySeconds } = settings
    const server = await startTidegate(folder, [], { ...options, moreNetworks: [network] })
    const url = new URL('/rollup', server.said).href
    let sent = 0
    const next = () => rpc('rollupx_addInvokeTransaction', [transaction(sent++)])
    try {
      resultsOf(await askBody(url, next()))
      return await withConnections(targetOf(url), connections, async (open) => {
        await warmUp(open, warmUpSecondsMax, next, server.pageFaults)
        const sides = { own: [] as Round[], lmdb: [] as Round[] }
        for (let round = 0; round < rounds; round++) {
          const [result, cpuSeconds] = await withCpu(server, () => saturate(open, seconds, next))
          sides.own.push(roundOf(result.answers, result.seconds, cpuSeconds))
          sides.lmdb.push(await storeAlone(folder, connections, seconds, next))
        }
        const [own, lmdb] = [sideOfRounds(sides.own), sideOfRounds(sides.lmdb)]
        const rate = Math.max(1, Math.min(latencyRateMax, Math.floor(latencyLoad * own.rate)))
        const { latencies } = await askAtRate(open, rate, latencySeconds, next)
        return {
          unit: 'submissions',
          own: { ...own, ...server.memory(), latencies: latenciesOfRounds([latencies]) },
          rivals: { lmdb },
          ratios: { lmdb: compareSides(own, lmdb) },
          note: `percentiles at ${rate} a second`,
        }
      })
    } finally {
      await server.stop()
    }
  },
}

/**
 * Stores bodies on as many lanes as there are connections. A lane stores each body after its previous one is on disk.
 */
async function storeAlone(
  folder: string,
  lanes: number,
  seconds: number,
  next: () => string,
): Promise<Round> {
  const store = openLmdb<string, number>({ path: join(mkdtempSync(join(folder, 'lmdb-')), 'alone.mdb') })
  const startedAtMs = performance.now()
  let stored = 0
  const lane = async () => {
    while (performance.now() - startedAtMs < seconds * 1_000) {
      await store.put(++stored, next())
      await store.flushed
    }
  }
  try {
    await Promise.all(Array.from({ length: lanes }, lane))
    return roundOf(stored, (performance.now() - startedAtMs) / 1_000, undefined)
  } finally {
    await store.close()
  }
}

/** Three felts of calldata and two of signature, as from wallets. */
function transaction(n: number): object {
  const felt = (value: number) => `0x${value.toString(16)}`
  return {
    type: 'INVOKE',
    version: '0x3',
    sender_address: felt(2 ** 40 + n),
    nonce: '0x0',
    calldata: [felt(1), felt(n + 1), felt(3)],
    signature: [felt(2 ** 52 - 1), felt(2 ** 51 + n)],
    resource_bounds: {
      l1_gas: { max_amount: '0x186a0', max_price_per_unit: '0x5af3107a4000' },
      l2_gas: { max_amount: '0x0', max_price_per_unit: '0x0' },
    },
    tip: '0x0',
    paymaster_data: [],
    account_deployment_data: [],
    nonce_data_availability_mode: 'L1',
    fee_data_availability_mode: 'L1',
  }
}
