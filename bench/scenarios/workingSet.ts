/**
 * What a gateway holds while its upstream, an archive that plays a block a second, moves on: how many requests it puts
 * to the upstream, counted by a proxy between them, whether every answer is the archive's, and how long a held read takes
 * beside the same read of the archive. Once for each way in which held values stay current. `--seconds 600` lets each
 * way run for so many blocks, or as many as the chain has.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import type { Side } from '../report/outcome.js'
import type { ServerProcess } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import { CountingProxy } from './countingProxy.js'
import type { RunContext, SpecialScenario } from './specialScenario.js'

const accountsMax = 300
const slotsMax = 2_000
const callsMax = 200
/** Heads before anything counts: the first tell which methods there are, and what is read becomes held. */
const warmUpHeads = 4
/** Last block that is there at once. */
const firstHead = 2

interface PlayedFiles {
  readonly name: string
  readonly genesis: string
  readonly file: string
  readonly last: number
}

const devnet = (name: string) => join(packageRoot(), 'data/devnet', name)
const amsterdam = (name: string) => join(packageRoot(), '../shared/amsterdam/chains/a2-genesis', name)

const chains: readonly PlayedFiles[] = [
  { name: 'demo', genesis: devnet('genesis.json'), file: devnet('chain.rlp'), last: 264 },
  { name: 'amsterdam', genesis: amsterdam('genesis.json'), file: amsterdam('chain.rlp.gz'), last: 300 },
]

/** What upstreams are made to lack, so that each way is taken. */
const ways: readonly (readonly [way: string, chain: string, lacks: RegExp])[] = [
  ['accessList', 'amsterdam', /^debug_executionWitness$/],
  ['witness', 'amsterdam', /BlockAccessList$/],
  ['witness', 'demo', /BlockAccessList$/],
  ['proofs', 'demo', /^debug_executionWitness$|BlockAccessList$/],
]

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
  readonly calls: readonly Call[]
}

/** A server that plays the blocks of a chain after `from`. */
function startArchive({ folder, server }: RunContext, chain: PlayedFiles, from: number) {
  const plan = { type: 'replay', file: chain.file, from, intervalMs: 1_000 }
  return startTidegate(folder, [], {
    ...server,
    moreNetworks: [{ name: chain.name, genesis: chain.genesis, source: plan }],
  })
}

const headOf = async (url: string) => Number(await ask<string>(url, 'eth_blockNumber', []))

async function headAfter(url: string, number: number): Promise<number> {
  for (;;) {
    const head = await headOf(url)
    if (head > number) return head
    await sleep(20)
  }
}

/**
 * What the chain has at its end, so that much of it is absent at first and comes to be; and where that is less than asked
 * for, accounts and slots that nobody ever writes.
 */
async function chooseHeld(context: RunContext, chain: PlayedFiles): Promise<Held> {
  const archive = await startArchive(context, chain, chain.last - 1)
  try {
    const url = archive.said
    const head = await headAfter(url, chain.last - 2)
    const block = `0x${head.toString(16)}`
    const { hash } = await ask<HeadBlock>(url, 'eth_getBlockByNumber', [block, false])
    const found: { address?: string; code?: string }[] = []
    for (let next: string | undefined = '0x'; next !== undefined && found.length < accountsMax; ) {
      const page: AccountPage = await ask(url, 'debug_accountRange', [block, next, 256, false, true, false])
      found.push(...Object.values(page.accounts))
      next = page.next
    }
    const accounts = found.flatMap(({ address }) => address ?? []).slice(0, accountsMax)
    const contracts = found.flatMap(({ address, code }) => (code === undefined ? [] : (address ?? [])))
    const slots: [string, string][] = []
    for (const address of contracts) {
      const asked = [hash, 0, address, `0x${'0'.repeat(64)}`, 500]
      const { storage } = await ask<SlotPage>(url, 'debug_storageRangeAt', asked)
      for (const { key } of Object.values(storage ?? {})) if (key !== null) slots.push([address, key])
    }
    while (accounts.length < accountsMax) accounts.push(`0x${randomBytes(20).toString('hex')}`)
    while (slots.length < slotsMax) slots.push([choose(contracts), `0x${randomBytes(32).toString('hex')}`])
    const calls = Array.from({ length: callsMax }, () => chooseCall(accounts))
    return { accounts, slots: slots.slice(0, slotsMax), calls }
  } finally {
    await archive.stop()
  }
}

const choose = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

/** A value that is held, after block `number`. */
function readOf({ accounts, slots }: Held, block: string): Call {
  if (Math.random() < 0.5 && slots.length > 0) return ['eth_getStorageAt', [...choose(slots), block]]
  return [choose(['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode']), [choose(accounts), block]]
}

/** Gas of a call: 200 calls that burn theirs, and searches for the least, fit in a second on both servers. */
const callGas = '0x186a0'

/** A call, and an estimate of its gas, but for the block after which it is asked. */
function chooseCall(accounts: readonly string[]): Call {
  const [from, to, of] = [choose(accounts), choose(accounts), choose(accounts)]
  const data = `0x70a08231${of.slice(2).padStart(64, '0')}`
  const message = Math.random() < 0.5 ? { from, to, ...(Math.random() < 0.5 && { data }) } : { to, data }
  return [choose(['eth_call', 'eth_estimateGas']), [{ ...message, gas: callGas }]]
}

interface AccountPage {
  readonly accounts: Readonly<Record<string, { address?: string; code?: string }>>
  readonly next?: string
}

interface SlotPage {
  readonly storage: Readonly<Record<string, { key: string | null }>> | null
}

interface HeadBlock {
  readonly hash: string
  readonly transactions: readonly string[]
}

/** What a wallet or an indexer asks after each block: its receipts, and logs of the newest blocks. */
function readsOfBlock(head: number, hash: string, transactions: readonly string[]): Call[] {
  const [block, from] = [head, head - 3].map((number) => `0x${number.toString(16)}`)
  return [
    ['eth_getBlockReceipts', [block]],
    ['eth_getLogs', [{ fromBlock: from, toBlock: block }]],
    ['eth_getLogs', [{ blockHash: hash }]],
    ...transactions.slice(0, 3).map((of): Call => ['eth_getTransactionReceipt', [of]]),
  ]
}

/** Calls of a request. */
const batchMax = 100

/** Answers of both that differ. */
async function differences(urls: readonly string[], calls: readonly Call[], isTold = true): Promise<number> {
  let count = 0
  for (let start = 0; start < calls.length; start += batchMax) {
    const batch = asBatch(calls.slice(start, start + batchMax))
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
  readonly perHead: number
}

async function runWay(
  context: RunContext,
  [way, chainName, lacks]: (typeof ways)[number],
): Promise<WayFigures | undefined> {
  const chain = chains.find(({ name }) => name === chainName) as PlayedFiles
  if (!existsSync(chain.file)) return undefined
  const { folder, server: options, settings, isQuick } = context
  const held = await chooseHeld(context, chain)
  const archive = await startArchive(context, chain, firstHead)
  const proxy = await CountingProxy.start(archive.said, lacks)
  const entry = { name: 'gateway', kind: 'gateway', upstreams: [{ url: proxy.url }], quorum: 1 }
  let gateway: ServerProcess | undefined
  try {
    gateway = await startTidegate(folder, [], { ...options, moreNetworks: [entry] })
    const urls = [gateway.said, archive.said]
    const callsAfter = (block: string, count: number) =>
      held.calls.slice(0, count).map(([method, params]): Call => [method, [...params, block]])
    const all = (block: string): Call[] => [
      ...held.accounts.flatMap((address): Call[] => [
        ['eth_getBalance', [address, block]],
        ['eth_getCode', [address, block]],
      ]),
      ...held.slots.map(([address, slot]): Call => ['eth_getStorageAt', [address, slot, block]]),
      ...callsAfter(block, callsMax),
    ]
    let head = await headAfter(gateway.said, firstHead - 1)
    for (let count = 0; count < warmUpHeads; count++) {
      await differences(urls, all('latest'), false)
      head = await headAfter(gateway.said, head)
    }
    const [values, calls, proofs] = isQuick ? [200, 20, 10] : [1_000, 200, 50]
    const most = Math.min(Math.max(8, settings.seconds), chain.last - head - 2)
    const cpu = gateway.cpuSeconds() ?? 0
    const requests = proxy.heads + proxy.reads
    const bytes = proxy.bytes
    const first = head
    const asked = { values: 0, calls: 0, again: 0, proofs: 0 }
    const wrong = { values: 0, ofBlocks: 0, calls: 0, proofs: 0 }
    let ofBlocks = 0
    const times: Times = [[], []]
    /** Answers that differ; counts the requests to the upstream that they cause. */
    const compare = async (kind: 'values' | 'calls', reads: readonly Call[]) => {
      const [before, againBefore] = [proxy.reads, proxy.again]
      const count = await differences(urls, reads)
      asked[kind] += proxy.reads - before
      if (kind === 'calls') asked.again += proxy.again - againBefore
      return count
    }
    // Each head has its turn: where the machine is slow for a while, after the next has come.
    for (let number = first + 1; number <= first + most; number++) {
      while (head < number) {
        await timeRead(urls, held, times)
        head = await headOf(gateway.said)
      }
      const block = `0x${number.toString(16)}`
      wrong.values += await compare(
        'values',
        Array.from({ length: values }, () => readOf(held, block)),
      )
      const { hash, transactions } = await ask<HeadBlock>(archive.said, 'eth_getBlockByNumber', [
        block,
        false,
      ])
      const reads = readsOfBlock(number, hash, transactions)
      wrong.ofBlocks += await compare('values', reads)
      ofBlocks += reads.length
      wrong.calls += await compare('calls', callsAfter(block, calls))
      const proofOf = (): Call => ['eth_getProof', [...chooseProof(held), block]]
      // At once, so that what is missing is fetched together.
      const asks = Array.from({ length: proofs }, () => differences(urls, [proofOf()]))
      const before = proxy.reads
      for (const count of await Promise.all(asks)) wrong.proofs += count
      asked.proofs += proxy.reads - before
    }
    const cpuPerBlock = ((gateway.cpuSeconds() ?? 0) - cpu) / most
    const [mine, its] = times.map((each) => percentile(each, 0.99)) as [number, number]
    const heads = (await headOf(gateway.said)) - first
    const others = asked.values + asked.calls + asked.proofs
    // Each head takes one at least, so that none takes more where there are as many as heads.
    const forHeads = proxy.heads + proxy.reads - requests - others
    const text =
      `${way} (${chain.name}): ${most} heads compared, ${forHeads} requests for ${heads} heads, ` +
      `${Math.round((proxy.bytes - bytes) / most / 1_000)} KB a head with all reads, ${Math.round(cpuPerBlock * 1_000)} ms CPU; ` +
      `requests for values, code, logs and receipts ${asked.values}, for calls ${asked.calls} (of what was proved before ${asked.again}), for proofs ${asked.proofs}; ` +
      `wrong: ${wrong.values} of ${values * most} values, ${wrong.ofBlocks} of ${ofBlocks} logs and receipts, ${wrong.calls} of ${calls * most} calls, ${wrong.proofs} of ${proofs * most} proofs; ` +
      `p99 of ${times[0].length} held reads ${mine.toFixed(2)} ms, archive ${its.toFixed(2)} ms`
    const wrongAll = Object.values(wrong).reduce((sum, each) => sum + each, 0)
    return { text, ratio: mine / its, wrong: wrongAll, perHead: forHeads / heads }
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

/** Milliseconds of reads: the gateway's, the archive's. */
type Times = readonly [own: number[], other: number[]]

/** One more read of both, by turns, in the time until the next block and while it comes. */
async function timeRead(urls: readonly string[], held: Held, times: Times): Promise<void> {
  const [method, params] = readOf(held, 'latest')
  const turn = times[0].length
  for (const at of turn % 2 === 0 ? [0, 1] : [1, 0]) {
    const startedAtMs = performance.now()
    await post(urls[at] as string, { jsonrpc: '2.0', id: turn, method, params })
    times[at]?.push(performance.now() - startedAtMs)
  }
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
    const own: Side = { rate: Math.max(...found.map(({ perHead }) => perHead)), rateSpread: 0 }
    return {
      unit: 'requests a head',
      own,
      rivals: {},
      ratios: { archive: { value: Math.max(...found.map(({ ratio }) => ratio)), by: 'p99' } },
      note: found.map(({ text }) => text).join('; '),
    }
  },
}
