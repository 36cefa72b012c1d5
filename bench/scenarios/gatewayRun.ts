/**
 * A gateway beside the archive that is its upstream: what it has proved is read at the archive's rate, and what it must
 * fetch takes little longer than to ask the upstream oneself. The way to that upstream takes as long as one over the
 * Internet: a proxy in this process delays each question.
 */
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { addressOf, calldata, headNumber, slots } from '../data/demoFacts.js'
import { saturate, targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import { rpc } from '../load/rpc.js'
import type { Side } from '../report/outcome.js'
import { median, spread } from '../report/statistics.js'
import type { ServerProcess } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { RunContext, SpecialScenario } from './specialScenario.js'

/** From this machine to a hosted node and back. */
const wayMs = 20
/** Questions of each kind, none asked before. */
const missesMax = 40
const connections = 64

const { address, slot } = slots[0] as (typeof slots)[number]
const cached = rpc('eth_getStorageAt', [address, slot, 'latest'])

/** Runs `use` with an archive of the demo chain, and a gateway whose upstream it is, over `wayMs`. */
async function withGateway<T>(
  { folder, server: options, network }: RunContext,
  way: number,
  use: (archive: ServerProcess, gateway: ServerProcess, proxied: string) => Promise<T>,
): Promise<T> {
  const archive = await startTidegate(folder, [await network('demo')], options)
  const proxy = await startProxy(archive.said, way)
  const proxied = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const entry = { name: 'gateway', kind: 'gateway', upstreams: [{ url: proxied }] }
  const gateway = await startTidegate(folder, [], { ...options, moreNetworks: [entry] })
  try {
    return await use(archive, gateway, proxied)
  } finally {
    await gateway.stop()
    proxy.closeAllConnections()
    proxy.close()
    await archive.stop()
  }
}

/** Passes every request on after `way` ms, over connections that are kept. */
async function startProxy(url: string, way: number): Promise<Server> {
  const proxy = createServer(async (incoming, outgoing) => {
    const body: Buffer[] = []
    for await (const chunk of incoming) body.push(chunk as Buffer)
    await setTimeout(way)
    const onward = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' })
        answer.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    onward.end(Buffer.concat(body))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return proxy
}

export const gatewayCached: SpecialScenario = {
  name: 'gateway-cached',
  title: 'storage slot, cached, of a gateway',
  run: (context) =>
    withGateway(context, 0, async (archive, gateway) => {
      const rates = { archive: [] as number[], gateway: [] as number[] }
      const measure = (server: ServerProcess, seconds: number) =>
        withConnections(targetOf(server.said), connections, (open) => saturate(open, seconds, () => cached))
      for (const server of [archive, gateway]) {
        await withConnections(targetOf(server.said), connections, (open) =>
          warmUp(
            open,
            context.settings.warmUpSecondsMax,
            () => cached,
            () => undefined,
          ),
        )
      }
      for (let round = 0; round < context.settings.rounds; round++) {
        for (const [name, server] of [['archive', archive] as const, ['gateway', gateway] as const]) {
          const { answers, seconds } = await measure(server, context.settings.seconds)
          rates[name].push(answers / seconds)
        }
      }
      const own: Side = { rate: median(rates.gateway) ?? 0, rateSpread: spread(rates.gateway) }
      const other: Side = { rate: median(rates.archive) ?? 0, rateSpread: spread(rates.archive) }
      const ratio = median(rates.gateway.map((rate, at) => rate / (rates.archive[at] as number))) ?? 0
      return {
        unit: 'answers',
        own,
        rivals: { archive: other },
        ratios: { archive: { value: ratio, by: 'rate' } },
      }
    }),
}

/** Questions that are sent once each to the upstream and to the gateway. */
const kinds: Readonly<Record<string, (n: number) => string>> = {
  block: (n) => rpc('eth_getBlockByNumber', [hex(headNumber - 1 - n), true]),
  slot: (n) => rpc('eth_getStorageAt', [address, slot, hex(headNumber - 1 - n)]),
  // The same contract at another block each time: what changed since is fetched.
  call: (n) =>
    rpc('eth_call', [
      { to: addressOf('Tide'), data: calldata('balanceOf(address)', [addressOf('bea')]) },
      hex(headNumber - 1 - n),
    ]),
}

export const gatewayMiss: SpecialScenario = {
  name: 'gateway-miss',
  title: `fetched and proved by a gateway, ${wayMs} ms from its upstream`,
  run: (context) =>
    withGateway(context, wayMs, async (_archive, gateway, proxied) => {
      const count = context.isQuick ? missesMax / 4 : missesMax
      const notes: string[] = []
      const ratios: number[] = []
      for (const [kind, question] of Object.entries(kinds)) {
        const times = { direct: [] as number[], cold: [] as number[], warm: [] as number[] }
        for (let n = 0; n < count; n++) {
          times.direct.push(await timeOf(proxied, question(n)))
          times.cold.push(await timeOf(gateway.said, question(n)))
          times.warm.push(await timeOf(gateway.said, question(n)))
        }
        const direct = median(times.direct) ?? 1
        const [cold, warm] = [median(times.cold) ?? 0, median(times.warm) ?? 0]
        ratios.push(cold / direct)
        notes.push(`${kind} ${(cold / direct).toFixed(2)}, again ${(warm / direct).toFixed(2)}`)
      }
      const own: Side = { rate: 0, rateSpread: 0 }
      return {
        unit: 'medians',
        own,
        rivals: {},
        ratios: { upstream: { value: Math.max(...ratios), by: 'p99' } },
        note: `time of a first question to that of the upstream itself: ${notes.join('; ')}`,
      }
    }),
}

async function timeOf(url: string, body: string): Promise<number> {
  const startedAtMs = performance.now()
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const text = await response.text()
  if (!text.includes('"result":')) throw new Error(`${body}: ${text.slice(0, 300)}`)
  return performance.now() - startedAtMs
}

function hex(number: number): string {
  return `0x${number.toString(16)}`
}
