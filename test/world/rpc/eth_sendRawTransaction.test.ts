// @shares
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keccak256, Wallet } from 'ethers'
import t from 'tap'
import { testKeys } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { hex } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { recordedConfig, recordings, withoutRecordings } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'
import { type AnvilNode, startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import {
  followAnvil,
  followBetween,
  openBetween,
  reaches,
  startFollower,
} from '../../upstream/followedNode.js'
import { forwardTo, type NodeAnswer, WeatherNode } from '../../upstream/weatherNode.js'

const method = 'eth_sendRawTransaction'
const [key = new Uint8Array(0)] = testKeys
const wallet = new Wallet(hex(key))
const to = `0x${'22'.repeat(20)}`

/** A transfer of one wei. */
function transfer(fields: Record<string, unknown> = {}): Promise<string> {
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1, gasLimit: 21_000 }
  return wallet.signTransaction({ type: 2, chainId: 31_337, nonce: 0, to, value: 1, ...fees, ...fields })
}

function countSent(node: WeatherNode): number {
  return node.calls.filter((call) => call.method === method).length
}

t.test('a network without upstreams refuses it, and says why', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const why =
    'this network has no upstream to send transactions to; its operator can follow a node (--follow) or serve a gateway (--upstream)'
  await checkRefusals(t, service, method, [
    ...countRefusals(['0x02']),
    [['0x0'], -32602, 'invalid argument 0: hex string of odd length'],
    [['02'], -32602, 'invalid argument 0: hex string without 0x prefix'],
    [[await transfer()], -32000, why],
  ])
})

t.test('a transaction reaches a block of the node', { skip: withoutAnvil }, async (t) => {
  const { anvil, node, service } = await followBetween(t, { blocks: 1 })
  const raw = await transfer()
  const { result: hash } = await service.call(method, [raw])
  t.equal(hash, await sentHash(anvil, raw), 'the hash is the one that the node knows')
  await waitFor('its block', async () => {
    const { result } = await service.call('eth_getTransactionByHash', [hash])
    return result !== null && result.blockNumber !== null
  })
  t.equal((await service.call('eth_getBalance', [to])).result, '0x1')

  const sent = countSent(node)
  await checkRefusals(t, service, method, [
    [['0x'], -32000, 'typed transaction too short'],
    [
      [await transfer({ chainId: 1 })],
      -32000,
      'invalid sender: invalid chain id for signer: have 1 want 31337',
    ],
    [
      [await transfer({ nonce: 1, gasLimit: 20_000 })],
      -32000,
      'intrinsic gas too low: gas 20000, minimum needed 21000',
    ],
  ])
  t.equal(countSent(node), sent, 'the node is not asked')
  const { error } = await service.call(method, [await transfer({ value: 2 })])
  t.match(error, { code: -32003, message: 'nonce too low' }, "the node's refusal, as it is")
})

/** The hash under which anvil has a transaction. */
async function sentHash(anvil: AnvilNode, raw: string): Promise<string> {
  const found = await anvil.ask('eth_getTransactionByHash', [keccak256(raw)])
  return found.hash
}

t.test('the first of several nodes that accepts decides', { skip: withoutAnvil }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder, undefined, ['--no-mining'])
  const refusal = { error: { code: -32010, message: 'too cheap', data: { least: '0x5' } } }
  const other = { result: `0x${'55'.repeat(32)}` }
  let answers: readonly ((answer: NodeAnswer) => NodeAnswer)[] = []
  const same = (answer: NodeAnswer) => answer
  const nodes = [0, 1].map((at) =>
    openBetween(t, anvil, (call, answer) =>
      call.method === method ? (answers[at] ?? same)(answer) : answer,
    ),
  )
  const [first, second] = (await Promise.all(nodes)) as [WeatherNode, WeatherNode]
  const urls = [first.url, second.url]
  const options = { urls, genesisPath: anvil.genesisPath, timeoutMs: 1_000 }
  const service = await startFollower(t, folder, options)
  await reaches(service, await anvil.head())
  const send = async (nonce: number) => service.call(method, [await transfer({ nonce })])

  t.match((await send(0)).result, /^0x/)
  await waitFor('both to be sent it', () => countSent(first) === 1 && countSent(second) === 1)
  t.match((await send(0)).result, /^0x/, 'they have it already')
  answers = [() => refusal, same]
  t.match((await send(1)).result, /^0x/, 'one refuses it')
  answers = [() => refusal, () => refusal]
  t.strictSame((await send(2)).error, refusal.error, 'both refuse it')
  answers = [() => ({ error: { code: -32000, message: 'already known' } }), () => refusal]
  t.match((await send(3)).result, /^0x/, 'one has it already')
  answers = [() => other, same]
  t.match((await send(4)).result, /^0x/, 'one lies')
  await waitFor('the lie to be named', () => service.said.err.includes('lied: the hash of a transaction'))
})

t.test('where no node answers, it is sent again until one does', { skip: withoutAnvil }, async (t) => {
  const { node, service } = await followBetween(t, { blocks: 1 })
  let refused = 0
  node.weather = (calls) => {
    if (!calls.some((call) => call.method === method)) return { kind: 'fine' }
    return ++refused > 2 ? { kind: 'fine' } : { kind: 'status', status: 500 }
  }
  t.match((await service.call(method, [await transfer()])).result, /^0x/)
  t.ok(refused > 2)
})

t.test('while the only node has an invalid block, callers are told so', { skip: withoutAnvil }, async (t) => {
  // Shorter than a quarantine, after which the node is asked again.
  const { anvil, service } = await followAnvil(t, { blocks: 1, sourceMs: 500 })
  // Outside of blocks, so that the next one has another state root than its execution here.
  await anvil.ask('anvil_setBalance', [to, '0x5'])
  await anvil.mine(1)
  await waitFor('the trouble to be told', async () => {
    const health = await fetch(`${service.origin}/health`, { headers: { connection: 'close' } })
    return JSON.parse(await health.text()).networks.dev.trouble !== undefined
  })
  const why = 'no upstream answered eth_sendRawTransaction'
  t.strictSame((await service.call(method, [await transfer()])).error, { code: -32000, message: why })
  const whole = /no upstream answered eth_sendRawTransaction \(\S+: quarantined, because it lied\)/
  await waitFor('the reason in the log', () => whole.test(service.said.err))
})

t.test('from every edge', { skip: withoutAnvil || process.platform !== 'linux' }, async (t) => {
  const { service } = await followAnvil(t, { flags: ['--no-mining'], edges: 2 })
  // Each uses a connection of its own; all are of one edge only once in 500,000 runs.
  const raws = await Promise.all(Array.from({ length: 20 }, (_, nonce) => transfer({ nonce })))
  const answers = await Promise.all(raws.map((raw) => service.call(method, [raw])))
  for (const { result } of answers) t.match(result, /^0x[0-9a-f]{64}$/)
})

t.test('a gateway passes on what was recorded', { skip: withoutRecordings }, async (t) => {
  const archive = await startService(['--config', recordedConfig, '--no-auth'])
  t.teardown(() => archive.stop())
  const forward = forwardTo(archive.origin)
  const exchanges = readdirSync(join(recordings, method)).map((file) => {
    const text = readFileSync(join(recordings, method, file), 'utf8')
    const [, call = '', answer = ''] = /^>> (.*)\n<< (.*)$/m.exec(text) ?? []
    return { file, params: JSON.parse(call).params, result: JSON.parse(answer).result as string }
  })
  t.ok(exchanges.length > 0)
  const node = new WeatherNode((call) => {
    if (call.method !== method) return forward(call)
    return { result: exchanges.find(({ params }) => params[0] === call.params[0])?.result }
  })
  await node.start()
  t.teardown(() => node.stop())
  const flags = ['--network', 'main', '--upstream', node.url, '--data', t.testdir(), '--no-auth']
  const gateway = await startService(flags)
  t.teardown(() => gateway.stop())
  for (const { file, params, result } of exchanges) {
    t.strictSame(await gateway.call(method, params), { jsonrpc: '2.0', id: 1, result }, file)
  }
})
