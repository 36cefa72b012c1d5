/**
 * Requests of a gateway to its upstream while blocks come, for values that users read at each head. The upstream is a
 * developer chain of which each block changes some of them.
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { testAddresses } from '../../test/ingest/chainMaker.js'
import { addressOf, word } from '../data/demoFacts.js'
import { madeNetwork, signLogs, walletOf } from '../data/madeChain.js'
import { HeadListener } from '../load/headListener.js'
import { askBody, askResult, batch, resultsOf } from '../load/rpc.js'
import { CountingProxy } from '../servers/countingProxy.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { Found, RunContext, SpecialScenario } from './specialScenario.js'

/** Heads of a check, and of a whole run. */
const headsQuick = 20
const headsWhole = 200
/** The gateway takes the first ones while it still connects. */
const headsBefore = 3
/** Slots that the upstream has no value in: the gateway stores a proof of each. */
const absentSlots = 50

const holders = [...testAddresses.map(String), addressOf('bea'), addressOf('cal')]
const values = [
  ...holders.flatMap((holder) => [
    ['eth_getBalance', [holder, 'latest']] as const,
    ['eth_getTransactionCount', [holder, 'latest']] as const,
  ]),
  ...Array.from({ length: absentSlots }, (_, at) => {
    return ['eth_getStorageAt', [holders[0], word(at), 'latest']] as const
  }),
]
const reads = batch(values)

async function follow(context: RunContext): Promise<Found> {
  const { folder, settings, server: options } = context
  const heads = settings.isQuick ? headsQuick : headsWhole
  const home = mkdtempSync(join(folder, 'made-'))
  const archive = await startTidegate(home, [], { ...options, moreNetworks: [madeNetwork(home)] })
  const proxy = await CountingProxy.start(archive.said)
  const entry = { name: 'gateway', kind: 'gateway', upstreams: [{ url: `${proxy.url}/made` }] }
  const gateway = await startTidegate(folder, [], { ...options, moreNetworks: [entry] })
  const urls = [new URL('/made', archive.said).href, gateway.said]
  let listener: HeadListener | undefined
  const wallet = walletOf(0)
  let failures = 0
  try {
    listener = await HeadListener.open(`${gateway.said.replace('http', 'ws')}/ws`)
    let before = 0
    for (let number = 1; number <= headsBefore + heads; number++) {
      if (number === headsBefore + 1) {
        before = proxy.requests
        proxy.methods.clear()
      }
      const raw = await signLogs(wallet, number - 1, 1)
      await askResult(urls[0] as string, 'eth_sendRawTransaction', [raw])
      await listener.reached(number)
      const [own, theirs] = await Promise.all(urls.map(async (url) => resultsOf(await askBody(url, reads))))
      failures += (own ?? []).filter((value, at) => value !== theirs?.[at]).length
    }
    const requests = proxy.requests - before
    const methods = [...proxy.methods].map(([method, calls]) => `${method} ${calls}`).join(', ')
    return {
      unit: 'requests a head',
      own: { rate: requests / heads, rateSpread: 0, ...gateway.memory() },
      ratios: { heads: { value: heads / requests, by: 'rate' } },
      failures,
      note: `${heads} heads, ${values.length} values read at each, compared with the upstream's; calls: ${methods}`,
    }
  } finally {
    listener?.close()
    await gateway.stop()
    proxy.stop()
    await archive.stop()
  }
}

export const workingSet: SpecialScenario = {
  name: 'working-set',
  title: 'requests of a gateway a head, for values in use',
  seconds: ({ isQuick }) => 5 + (isQuick ? headsQuick : headsWhole) * 0.1,
  run: follow,
}
