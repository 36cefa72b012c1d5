/** Chains of other families behind a gateway: proved parts, parts that are marked as reported, and extra members. */
import t, { type Test } from 'tap'
import { type Chain, createPublicClient, http } from 'viem'
import {
  arbitrum,
  avalanche,
  base,
  bsc,
  celo,
  gnosis,
  linea,
  mantle,
  polygon,
  scroll,
  zksync,
} from 'viem/chains'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { patientLimits } from '../../service/fixtures.js'
import { post } from '../../service/httpClient.js'
import { runHere, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import {
  coded,
  type FamilyFixture,
  FamilyNode,
  familyFixture,
  oddSlot,
  plain,
  reportedCall,
} from '../../upstream/familyNode.js'
import { type MadeFamily, madeFamily } from '../../upstream/madeFamilies.js'

interface Expected {
  readonly fixture: string
  readonly hasRaw?: boolean
  /** Verification of the blocks. */
  readonly blocks: string | undefined
  /** Verification of a call that reads the block's number, and of a call to a precompiled contract of BNB. */
  readonly calls: readonly (string | undefined)[]
  readonly estimate: string | undefined
  /** Verification of all state. */
  readonly state?: string
  /** Verification of a search of logs. */
  readonly logs?: string
  /** Verification of all receipts, and of all blocks. */
  readonly receipts?: string
  readonly every?: string
}

const all: Expected[] = [
  { fixture: 'rule-bsc', blocks: undefined, calls: [undefined, 'none'], estimate: undefined },
  { fixture: 'rule-polygon', logs: 'none', blocks: 'none', calls: [undefined, undefined], estimate: 'none' },
  {
    fixture: 'rule-polygon',
    hasRaw: true,
    logs: 'none',
    blocks: undefined,
    calls: [undefined, undefined],
    estimate: 'none',
  },
  {
    fixture: 'rule-polygon-old',
    logs: 'none',
    blocks: 'none',
    calls: [undefined, undefined],
    estimate: 'none',
  },
  { fixture: 'rule-scroll', blocks: undefined, calls: [undefined, undefined], estimate: 'none' },
  { fixture: 'go-arbitrum', blocks: undefined, calls: ['none', 'none'], estimate: 'none' },
  { fixture: 'rule-avalanche', logs: 'none', blocks: undefined, calls: ['none', 'none'], estimate: 'none' },
]

const reported = { calls: ['none', 'none'], estimate: 'none' } as const
const made: readonly (Expected & { readonly fixture: MadeFamily })[] = [
  { fixture: 'celo', blocks: undefined, ...reported },
  { fixture: 'base', blocks: 'none', ...reported },
  { fixture: 'mantle', blocks: undefined, ...reported },
  { fixture: 'linea', blocks: undefined, calls: [undefined, undefined], estimate: undefined },
  { fixture: 'gnosis', blocks: undefined, calls: [undefined, undefined], estimate: undefined },
  { fixture: 'helicon', logs: 'none', blocks: undefined, ...reported, state: 'none', receipts: 'none' },
  { fixture: 'zksync', logs: 'none', blocks: 'none', ...reported, state: 'none', every: 'none' },
  { fixture: 'unknown', logs: 'none', blocks: 'none', ...reported, state: 'none' },
]
all.push(...made)

const fixtures = [
  ...all.slice(0, -made.length).map(({ fixture }) => familyFixture(fixture)),
  ...(await Promise.all(made.map(({ fixture }) => madeFamily(fixture)))),
]
const nodes = all.map(({ hasRaw }, index) => new FamilyNode(fixtures[index] as FamilyFixture, hasRaw))
let service: Service
let config = ''

t.before(async () => {
  for (const { node } of nodes) await node.start()
  const data = makeFolder(t)
  const networks = nodes.map(({ node }, index) => ({
    name: `n${index}`,
    kind: 'gateway',
    upstreams: [node.url],
  }))
  config = writeConfig(data, { dataDir: data, networks })
  service = await startService(['--config', config, '--no-auth'])
})
t.after(async () => {
  await service.stop()
  for (const { node } of nodes) await node.stop()
})

async function ask(index: number, method: string, params: readonly unknown[]) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { text, headers } = await post(`${service.origin}/n${index}`, body)
  const { result, error } = JSON.parse(text) as { result?: unknown; error?: unknown }
  return { result, error, trust: headers['tidegate-trust'] }
}

/** With lower-case hex: addresses with a checksum are the same. */
function folded(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? each.toLowerCase() : each)),
  )
}

/** Transactions of state sync, and of unknown types. */
function isReportedType({ type, from }: { readonly type: string; readonly from: string }): boolean {
  return /^0x0+$/.test(from) || type === '0x70' || type === '0x55'
}

/** Place of a log. */
function placeOf(log: object): unknown[] {
  const { blockHash, logIndex, address, topics, data } = log as Readonly<Record<string, unknown>>
  return [blockHash, Number(logIndex), address, topics, data]
}

async function compareBlock(t: Test, index: number, number: number, expected: Expected): Promise<void> {
  const { block, receipts } = (nodes[index] as FamilyNode).fixture.blocks[number] as never as {
    block: { hash: string; transactions: { type: string; hash: string; from: string }[] }
    receipts: object[]
  }
  const trust = expected.every ?? (block.transactions.some(isReportedType) ? expected.blocks : undefined)
  const whole = await ask(index, 'eth_getBlockByHash', [block.hash, true])
  t.strictSame(folded(whole.result), folded(block), 'every member of a block')
  t.equal(whole.trust, trust)
  const list = await ask(index, 'eth_getBlockReceipts', [block.hash])
  t.strictSame(folded(list.result), folded(receipts), 'every member of receipts')
  t.equal(list.trust, expected.receipts ?? trust)
  for (const [at, transaction] of block.transactions.entries()) {
    const place = [block.hash, `0x${at.toString(16)}`]
    const found = await ask(index, 'eth_getTransactionByBlockHashAndIndex', place)
    t.strictSame(folded(found.result), folded(transaction))
    // In samples several blocks have the same transaction; looked up by its hash, it is in one of them alone.
    if (['0x6a', '0x64', '0x7e'].includes(transaction.type)) continue
    const receipt = await ask(index, 'eth_getTransactionReceipt', [transaction.hash])
    t.strictSame(folded(receipt.result), folded(receipts[at]))
  }
  const short = await ask(index, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
  t.strictSame(
    (short.result as typeof block).transactions,
    block.transactions.map(({ hash }) => hash),
  )
}

for (const [index, expected] of all.entries()) {
  t.test(`${expected.fixture}${expected.hasRaw ? ' with raw blocks' : ''}`, async (t) => {
    for (const number of [12, 13, 16, 19, 20]) await compareBlock(t, index, number, expected)
    const read = async (method: string, ...params: unknown[]) => {
      const { result, trust } = await ask(index, method, params)
      return [result, trust]
    }
    const { state } = expected
    t.strictSame(await read('eth_getBalance', plain, 'latest'), ['0xde0b6b3a7640000', state])
    t.strictSame(await read('eth_getTransactionCount', coded, 'latest'), ['0x1', state])
    const slot = async (key: string) =>
      BigInt((await read('eth_getStorageAt', coded, key, 'latest'))[0] as string)
    t.equal(await slot('0x0'), 42n)
    t.equal(await slot(oddSlot), 7n, 'a slot whose key is changed before it is hashed')
    const range = { fromBlock: '0x10', toBlock: '0x13' }
    const found = (await ask(index, 'eth_getLogs', [range])) as { result: object[]; trust?: string }
    const logs = nodes[index]?.fixture.blocks
      .slice(16, 20)
      .flatMap(({ receipts }) => receipts.flatMap((receipt) => receipt.logs as object[]))
    t.strictSame(folded(found.result.map(placeOf)), folded(logs?.map(placeOf)), 'all logs')
    t.equal(found.trust, expected.logs)
    const [number, precompile] = expected.calls
    const numberCall = await read('eth_call', { to: coded }, 'latest')
    t.strictSame(numberCall, [number === undefined ? `0x${'14'.padStart(64, '0')}` : reportedCall, number])
    const called = await read('eth_call', { to: `0x${'64'.padStart(40, '0')}` }, 'latest')
    t.strictSame(called, [precompile === undefined ? '0x' : reportedCall, precompile])
    const created = await read('eth_call', { data: '0x4360005260206000f3' }, 'latest')
    t.equal(created[1], number, 'code that was never an account is watched too')
    const estimate = await read('eth_estimateGas', { from: plain, to: plain, value: '0x1' })
    t.strictSame(estimate, [expected.estimate === undefined ? '0x5208' : '0x5209', expected.estimate])
    t.strictSame(await read('eth_gasPrice'), ['0x77', 'none'], 'fees have rules that are not known here')
    const pending = await ask(index, 'eth_getBlockByNumber', ['pending', false])
    t.equal(pending.trust, 'none')
    const head = await ask(index, 'eth_getHeaderByNumber', ['0x14'])
    t.match(head.result, { extraData: nodes[index]?.fixture.blocks[20]?.block.extraData })
  })
}

t.test('members that nothing covers need a quorum of their own', async (t) => {
  const fixture = await madeFamily('zksync')
  const reported = [0, 1, 2].map(() => new FamilyNode(fixture))
  const tipping = (tip: string): FamilyNode['change'] => {
    return ({ method }, answer) => {
      if (method !== 'eth_getBlockByHash' || !('result' in answer)) return answer
      const block = answer.result as { readonly transactions: readonly object[] }
      // Transactions of type 0x71, whose bytes are unknown here.
      const transactions = block.transactions.map((each, index) =>
        index === 1 ? { ...each, maxPriorityFeePerGas: tip } : each,
      )
      return { result: { ...block, transactions } }
    }
  }
  const [first, second] = reported as [FamilyNode, FamilyNode]
  first.change = tipping('0x1')
  for (const { node } of reported) {
    await node.start()
    t.teardown(() => node.stop())
  }
  const data = makeFolder(t)
  const networks = [{ name: 'reported', kind: 'gateway', upstreams: reported.map(({ node }) => node.url) }]
  const service = await startService([
    '--config',
    writeConfig(data, { dataDir: data, networks }),
    '--no-auth',
  ])
  t.teardown(() => service.stop())
  const blockAt = async (number: number) => {
    const { block } = fixture.blocks[number] as FamilyFixture['blocks'][number]
    const params = [block.hash, true]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByHash', params })
    const { text, headers } = await post(`${service.origin}/`, body)
    return { block, found: JSON.parse(text).result as typeof block, trust: headers['tidegate-trust'] }
  }
  for (const number of [3, 5, 8]) {
    const { block, found, trust } = await blockAt(number)
    t.strictSame([folded(found), trust], [folded(block), 'quorum'])
  }
  second.change = tipping('0x2')
  const { block, found, trust } = await blockAt(9)
  t.strictSame([found.hash, trust], [block.hash, 'none'])
})

t.test('a chain whose node comes after the server is told with its parameters, too', async (t) => {
  const { node } = new FamilyNode(await madeFamily('unknown'))
  await node.start()
  t.teardown(() => node.stop())
  await node.stop()
  const data = makeFolder(t)
  const networks = [{ name: 'late', kind: 'gateway', upstreams: [node.url], pollMs: 100 }]
  const limits = { ...patientLimits, startMsMax: 500 }
  const late = await startService(
    ['--config', writeConfig(data, { dataDir: data, limits, networks }), '--no-auth'],
    {},
    true,
  )
  t.teardown(() => late.stop())
  await node.start()
  await waitFor('a head', async () => (await late.call('eth_blockNumber')).result === '0x14')
  t.match(await late.call('eth_getBalance', [plain, 'latest']), { result: '0xde0b6b3a7640000' })
  t.match(await late.call('eth_getTransactionCount', [coded, 'latest']), { result: '0x1' })
})

t.test("viem's chains read what is served", async (t) => {
  const chains = { arbitrum, polygon, bsc, avalanche, celo, linea, scroll, zksync, base, mantle, gnosis }
  for (const [index, { fixture }] of all.entries()) {
    const name = fixture.replace(/^(?:go|rule)-/, '').replace('helicon', 'avalanche')
    const chain = (chains as Readonly<Record<string, Chain>>)[name]
    if (chain === undefined) continue
    const client = createPublicClient({ chain, transport: http(`${service.origin}/n${index}`) })
    t.equal(await client.getChainId(), chain.id)
    for (const number of [13, 16]) {
      const block = await client.getBlock({ blockNumber: BigInt(number), includeTransactions: true })
      const expected = nodes[index]?.fixture.blocks[number]
      t.equal(block.hash, expected?.block.hash, name)
      t.equal(block.transactions.length, expected?.block.transactions.length)
      for (const { hash } of block.transactions) {
        const transaction = await client.getTransaction({ hash })
        const receipt = await client.getTransactionReceipt({ hash })
        t.equal(transaction.hash, hash)
        t.match(receipt, { transactionHash: hash, status: 'success', cumulativeGasUsed: /^\d+$/ })
      }
    }
    t.equal(await client.getBalance({ address: plain as `0x${string}` }), 10n ** 18n)
  }
})

t.test('/health and OpenRPC say how each part is known', async (t) => {
  const { networks } = (await (await fetch(`${service.origin}/health`)).json()) as {
    networks: Record<string, { basis: object }>
  }
  t.match(networks.n5?.basis, { headers: 'proved', state: 'proved', calls: 'executed or reported' })
  const { result } = await ask(5, 'rpc_discover', [])
  t.strictSame((result as { 'x-basis': object })['x-basis'], networks.n5?.basis)
})

t.test('methods of a family pass by default', async (t) => {
  t.match(await ask(1, 'bor_getAuthor', ['latest']), { result: '0x77', trust: 'none' })
  t.match(await ask(0, 'bor_getAuthor', ['latest']), { error: { code: -32601 } })
})

t.test("transactions of a family's own types are passed on", async (t) => {
  for (const [fixture, at] of [
    ['celo', 2],
    ['celo', 3],
    ['zksync', 1],
    ['zksync', 0],
  ] as const) {
    const index = all.findIndex((each) => each.fixture === fixture)
    const { fixture: made } = nodes[index] as FamilyNode
    const { block, rawTransactions } = made.blocks[9] as FamilyFixture['blocks'][number]
    const sent = await ask(index, 'eth_sendRawTransaction', [rawTransactions[at]])
    // RLP of type 0xff begins like a list, and no client sends it.
    if (block.transactions[at]?.type === '0xff') t.match(sent, { error: { code: -32000 } })
    else t.match(sent, { result: block.transactions[at]?.hash })
  }
})

t.test('heads are followed, several with one timestamp', async (t) => {
  const filters = await Promise.all(
    nodes.map((_, index) => ask(index, 'eth_newFilter', [{ address: coded }])),
  )
  for (const [index, node] of nodes.entries()) {
    node.head = 24
    node.node.tell(node.fixture.blocks[24]?.block)
    for (;;) {
      const { result } = await ask(index, 'eth_blockNumber', [])
      if (result === '0x18') break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    t.equal((await ask(index, 'eth_getBlockByNumber', ['finalized', false])).error, undefined)
    const { result: logs } = await ask(index, 'eth_getFilterChanges', [filters[index]?.result])
    const hashes = new Set((logs as { blockHash: string }[]).map(({ blockHash }) => blockHash))
    t.ok(hashes.has(String(node.fixture.blocks[24]?.block.hash)), 'logs of a head, whatever its bloom')
  }
})

t.test('verify finds no fault in what was kept', async (t) => {
  await service.stop()
  for (const name of ['n0', 'n1', 'n4', 'n6', 'n7', 'n11', 'n12', 'n13', 'n14']) {
    const { status, out, err } = await runHere(['verify', '--config', config, '--network', name])
    t.equal(status, 0, `${out}${err}`)
  }
})
