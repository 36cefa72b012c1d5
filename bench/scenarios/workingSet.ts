/**
 * What a gateway holds while its upstream, an archive that plays a block a second, moves on: how many requests it puts
 * to the upstream, counted by a proxy between them, whether every answer is the archive's, and how long a held read takes
 * beside the same read of the archive. Once for each way in which held values stay current. `--seconds 600` lets each
 * way run for so many blocks, or as many as the chain has.
 */
import { existsSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import type { Side } from '../report/outcome.js'
import { median } from '../report/statistics.js'
import type { ServerProcess } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { RunContext, SpecialScenario } from './specialScenario.js'

const accountsMax = 300
const slotsMax = 2_000
/** Heads before anything counts: the first tell which methods there are, and what is read becomes held. */
const warmUpHeads = 4

interface PlayedFiles {
  readonly name: string
  readonly genesis: string
  readonly file: string
  /** Last block that is there at once, and the last of all. */
  readonly from: number
  readonly last: number
}

const devnet = (name: string) => join(packageRoot(), 'data/devnet', name)
const cross = (name: string) => join(packageRoot(), '../shared/amsterdam/chains/a1-cross', name)

const chains: readonly PlayedFiles[] = [
  { name: 'demo', genesis: devnet('genesis.json'), file: devnet('chain.rlp'), from: 100, last: 264 },
  { name: 'amsterdam', genesis: cross('genesis.json'), file: cross('chain.rlp.gz'), from: 60, last: 300 },
]

/** What upstreams are made to lack, so that each way is taken. */
const ways: readonly (readonly [way: string, chain: string, lacks: RegExp])[] = [
  ['accessList', 'amsterdam', /^debug_executionWitness$/],
  ['witness', 'amsterdam', /BlockAccessList$/],
  ['witness', 'demo', /BlockAccessList$/],
  ['proofs', 'demo', /^debug_executionWitness$|BlockAccessList$/],
]

/** Counts HTTP requests, and their bytes; names methods that the upstream shall lack otherwise. */
class CountingProxy {
  requests = 0
  bytes = 0
  /** The largest number of calls in one request. */
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(url: string, lacks: RegExp): Promise<CountingProxy> {
    const { hostname, port } = new URL(url)
    const server = createServer(async (incoming, outgoing) => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const body = JSON.parse(Buffer.concat(chunks).toString())
      const calls: { method: string; params: readonly unknown[] }[] = Array.isArray(body) ? body : [body]
      const isPoll = calls.length === 1 && calls[0]?.params[0] === 'latest'
      if (!isPoll) proxy.requests++
      for (const call of calls) if (lacks.test(call.method)) call.method = 'bench_unknown'
      const headers = { 'content-type': 'application/json' }
      const onward = request(url, { method: 'POST', headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, headers)
        answer.on('data', (chunk: Buffer) => {
          proxy.bytes += chunk.length
        })
        answer.pipe(outgoing)
      })
      onward.on('error', () => outgoing.destroy())
      onward.end(JSON.stringify(body))
    })
    server.on('upgrade', (incoming, socket, head) => {
      const onward = connect(Number(port), hostname, () => {
        const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${value}`)
        onward.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
        onward.write(head)
        onward.pipe(socket).pipe(onward)
      })
      onward.on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
    })
    const proxy = new CountingProxy(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

async function post(url: string, body: unknown): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.text()
}

async function ask<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const { result, error } = JSON.parse(await post(url, { jsonrpc: '2.0', id: 1, method, params }))
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

type Call = readonly [method: string, params: readonly unknown[]]
const asBatch = (calls: readonly Call[]) =>
  calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))

interface Held {
  readonly accounts: readonly string[]
  readonly slots: readonly (readonly [address: string, slot: string])[]
}

/** Accounts and slots that the archive has. */
async function chooseHeld(url: string, head: number): Promise<Held> {
  const block = `0x${head.toString(16)}`
  const { hash } = await ask<{ hash: string }>(url, 'eth_getBlockByNumber', [block, false])
  const page = await ask<{ accounts: Record<string, { address?: string; code?: string }> }>(
    url,
    'debug_accountRange',
    [block, '0x', accountsMax, false, true, false],
  )
  const found = Object.values(page.accounts)
  const accounts = found.flatMap(({ address }) => address ?? [])
  const slots: [string, string][] = []
  for (const { address, code } of found) {
    if (address === undefined || code === undefined || slots.length >= slotsMax) continue
    const start = `0x${'0'.repeat(64)}`
    const { storage } = await ask<{ storage: Record<string, { key: string | null }> | null }>(
      url,
      'debug_storageRangeAt',
      [hash, 0, address, start, 500],
    )
    for (const { key } of Object.values(storage ?? {})) if (key !== null) slots.push([address, key])
  }
  return { accounts, slots: slots.slice(0, slotsMax) }
}

const choose = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

/** A value that is held, after block `number`. */
function readOf({ accounts, slots }: Held, block: string): Call {
  if (Math.random() < 0.5 && slots.length > 0) return ['eth_getStorageAt', [...choose(slots), block]]
  return [choose(['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode']), [choose(accounts), block]]
}

function callOf({ accounts }: Held, block: string): Call {
  const [from, to, of] = [choose(accounts), choose(accounts), choose(accounts)]
  const data = `0x70a08231${of.slice(2).padStart(64, '0')}`
  const message = { from, to, ...(Math.random() < 0.5 && { data }) }
  return [
    choose(['eth_call', 'eth_estimateGas']),
    Math.random() < 0.5 ? [message, block] : [{ to, data }, block],
  ]
}

/** Answers of both that differ. */
async function differences(urls: readonly string[], calls: readonly Call[], isTold = true): Promise<number> {
  let count = 0
  for (let start = 0; start < calls.length; start += 100) {
    const batch = asBatch(calls.slice(start, start + 100))
    const [mine, its] = await Promise.all(urls.map((url) => post(url, batch)))
    if (mine === its) continue
    const [own, other] = [mine, its].map((text) => JSON.parse(text as string) as unknown[])
    for (const [at, answer] of (own ?? []).entries()) {
      // How much gas a call may have follows from the newest block, which one of the two may have a moment earlier.
      const [text, otherText] = [answer, other?.[at]].map((each) => {
        return JSON.stringify(each)?.replace(/exceeds allowance \(\d+\)/, 'exceeds allowance')
      })
      if (text === otherText) continue
      if (count++ === 0 && isTold)
        console.error(
          [batch[at], answer, other?.[at]].map((each) => JSON.stringify(each)?.slice(0, 300)).join('\n'),
        )
    }
  }
  return count
}

function percentile(times: readonly number[], share: number): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? 0
}

interface WayFigures {
  readonly text: string
  readonly ratio: number
  readonly wrong: number
  readonly most: number
}

async function runWay(
  context: RunContext,
  [way, chainName, lacks]: (typeof ways)[number],
): Promise<WayFigures | undefined> {
  const chain = chains.find(({ name }) => name === chainName) as PlayedFiles
  if (!existsSync(chain.file)) return undefined
  const { folder, server: options, settings, isQuick } = context
  const plan = { type: 'replay', file: chain.file, from: chain.from, intervalMs: 1_000 }
  const source = { name: chain.name, genesis: chain.genesis, source: plan }
  const archive = await startTidegate(folder, [], { ...options, moreNetworks: [source] })
  const proxy = await CountingProxy.start(archive.said, lacks)
  const entry = { name: 'gateway', kind: 'gateway', upstreams: [{ url: proxy.url }], quorum: 1 }
  let gateway: ServerProcess | undefined
  try {
    gateway = await startTidegate(folder, [], { ...options, moreNetworks: [entry] })
    const urls = [gateway.said, archive.said]
    const headOf = async (url: string) => Number(await ask<string>(url, 'eth_blockNumber', []))
    const held = await chooseHeld(archive.said, await headOf(archive.said))
    const nextHead = async (after: number) => {
      for (;;) {
        const head = await headOf(urls[0] as string)
        if (head > after) return head
        await sleep(20)
      }
    }
    const all = (block: string): Call[] => [
      ...held.accounts.flatMap((address): Call[] => [
        ['eth_getBalance', [address, block]],
        ['eth_getCode', [address, block]],
      ]),
      ...held.slots.map(([address, slot]): Call => ['eth_getStorageAt', [address, slot, block]]),
    ]
    let head = await headOf(urls[0] as string)
    for (let count = 0; count < warmUpHeads; count++) {
      await differences(urls, all('latest'), false)
      head = await nextHead(head)
    }
    // Calls read more than was warmed up, such as the one who is paid for the block.
    const [values, calls, proofs] = isQuick ? [200, 20, 10] : [1_000, 200, 50]
    const most = Math.min(Math.max(8, settings.seconds), chain.last - head - 2)
    const cpu = gateway.cpuSeconds() ?? 0
    const counts: number[] = []
    const wrong = { values: 0, calls: 0, proofs: 0 }
    let [heads, bytes, forProofs, forCalls] = [0, 0, 0, 0]
    while (heads < most && head < chain.last) {
      const before = head
      const [requests, bytesBefore] = [proxy.requests, proxy.bytes]
      head = await nextHead(head)
      const block = `0x${head.toString(16)}`
      wrong.values += await differences(
        urls,
        Array.from({ length: values }, () => readOf(held, block)),
      )
      counts.push((proxy.requests - requests) / (head - before))
      bytes += proxy.bytes - bytesBefore
      const atCalls = proxy.requests
      wrong.calls += await differences(
        urls,
        Array.from({ length: calls }, () => callOf(held, block)),
      )
      forCalls += proxy.requests - atCalls
      const atProofs = proxy.requests
      const proofOf = (): Call => ['eth_getProof', [...chooseProof(held), block]]
      wrong.proofs += await differences(urls, Array.from({ length: proofs }, proofOf))
      forProofs += proxy.requests - atProofs
      heads += head - before
    }
    const cpuPerBlock = ((gateway.cpuSeconds() ?? 0) - cpu) / heads
    const [own, other] = await timesOf(urls, held, isQuick ? 300 : 1_500)
    const [mine, its] = [percentile(own, 0.99), percentile(other, 0.99)]
    const text =
      `${way} (${chain.name}): ${heads} heads, requests a head ${median(counts)?.toFixed(2)} (most ${Math.max(...counts).toFixed(2)}), ` +
      `${Math.round(bytes / heads / 1_000)} KB a head, ${Math.round(cpuPerBlock * 1_000)} ms CPU a head with all reads; calls asked ${forCalls} times, ` +
      `proofs ${forProofs}; wrong: ${wrong.values} of ${values * counts.length} values, ${wrong.calls} of ${calls * counts.length} calls, ${wrong.proofs} of ${proofs * counts.length} proofs; ` +
      `p99 of a held read ${mine.toFixed(2)} ms, archive ${its.toFixed(2)} ms`
    const wrongAll = wrong.values + wrong.calls + wrong.proofs
    return { text, ratio: mine / its, wrong: wrongAll, most: median(counts) ?? 0 }
  } finally {
    await gateway?.stop()
    proxy.stop()
    await archive.stop()
  }
}

function chooseProof({ accounts, slots }: Held): [string, string[]] {
  if (slots.length === 0 || Math.random() < 0.3) return [choose(accounts), []]
  const [address, slot] = choose(slots)
  return [address, [slot]]
}

/** Milliseconds of reads that nobody asked for before, by turns of the gateway and the archive. */
async function timesOf(
  urls: readonly string[],
  held: Held,
  count: number,
): Promise<readonly [own: number[], other: number[]]> {
  const times: readonly [number[], number[]] = [[], []]
  for (let turn = 0; turn < count; turn++) {
    const [method, params] = readOf(held, 'latest')
    for (const at of turn % 2 === 0 ? [0, 1] : [1, 0]) {
      const startedAtMs = performance.now()
      await post(urls[at] as string, { jsonrpc: '2.0', id: turn, method, params })
      times[at]?.push(performance.now() - startedAtMs)
    }
  }
  return times
}

export const workingSet: SpecialScenario = {
  name: 'working-set',
  title: 'requests of a gateway to its upstream while blocks come, and held reads beside the archive',
  async run(context) {
    const found: WayFigures[] = []
    for (const way of ways) {
      const figures = await runWay(context, way)
      if (figures !== undefined) found.push(figures)
    }
    const wrong = found.reduce((sum, each) => sum + each.wrong, 0)
    if (wrong > 0) throw new Error(`${wrong} answers differ: ${found.map(({ text }) => text).join('; ')}`)
    const own: Side = { rate: Math.max(...found.map(({ most }) => most)), rateSpread: 0 }
    return {
      unit: 'requests a head',
      own,
      rivals: {},
      ratios: { archive: { value: Math.max(...found.map(({ ratio }) => ratio)), by: 'p99' } },
      note: found.map(({ text }) => text).join('; '),
    }
  },
}
