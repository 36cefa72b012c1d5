// @shares
/** Methods that Tidegate does not know and that its upstreams are asked. */
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import { writeFollowConfig } from '../../upstream/followedNode.js'
import { forwardTo, type NodeAnswer, WeatherNode } from '../../upstream/weatherNode.js'

const archive = await startService()
t.teardown(() => archive.stop())
const askArchive = forwardTo(`${archive.origin}/`)

const refused: NodeAnswer = { error: { code: -32_011, message: 'no such span', data: { span: 7 } } }

/** A node of the demo chain that has methods of its own. */
async function openNode(t: Test): Promise<WeatherNode> {
  const node = new WeatherNode(async (call) => {
    if (call.method === 'bor_getAuthor') return { result: { author: '0x1', params: call.params } }
    return call.method === 'bor_getSpan' ? refused : askArchive(call)
  })
  await node.start()
  t.teardown(() => node.stop())
  return node
}

async function startGateway(t: Test, node: WeatherNode, transport: string): Promise<Service> {
  const upstreams = [{ url: node.url }]
  const passThrough = ['bor_*', 'eth_*', 'zks_estimateFee']
  const config = writeConfig(makeFolder(t), {
    dataDir: 'data',
    transport,
    networks: [{ name: 'main', kind: 'gateway', upstreams, passThrough }],
  })
  const gateway = await startService(['--config', config, '--no-auth'])
  t.teardown(() => gateway.stop())
  return gateway
}

interface Asked {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly json: any
  readonly trust: string | null
  readonly block: string | null
}

async function post(service: Service, body: unknown, headers: Record<string, string> = {}): Promise<Asked> {
  const response = await fetch(`${service.origin}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const header = (name: string) => response.headers.get(name)
  return { json: await response.json(), trust: header('tidegate-trust'), block: header('tidegate-block') }
}

function call(method: string, params: unknown = [], id = 1) {
  return { jsonrpc: '2.0', id, method, params }
}

for (const transport of ['uws', 'node']) {
  t.test(`what matches is passed on, by ${transport}`, async (t) => {
    const node = await openNode(t)
    const gateway = await startGateway(t, node, transport)
    const asked = () => node.calls.filter(({ method }) => method.startsWith('bor_')).length
    for (const params of [['0x1', { full: true }], [], { number: '0x1' }]) {
      const { json, trust, block } = await post(gateway, call('bor_getAuthor', params))
      t.strictSame(json, { jsonrpc: '2.0', id: 1, result: { author: '0x1', params } })
      t.strictSame([trust, block], ['none', null])
    }
    await post(gateway, call('bor_getAuthor'))
    t.equal(asked(), 4, 'nothing is stored')
    const failed = await post(gateway, call('bor_getSpan', ['0x7']))
    t.strictSame(failed.json, { jsonrpc: '2.0', id: 1, ...refused }, "the node's own error")
    t.equal(failed.trust, 'none')

    const batch = await post(gateway, [call('eth_chainId'), call('bor_getAuthor', [], 2)])
    t.match(batch.json, [
      { id: 1, result: /^0x/ },
      { id: 2, result: { author: '0x1' } },
    ])
    t.equal(batch.trust, 'none', 'a batch has the header for any of its calls')
    t.match(batch.block, /^\d+ 0x/)
    t.equal((await post(gateway, [call('eth_chainId')])).trust, null)
    t.equal((await post(gateway, call('eth_getBalance', [`0x${'22'.repeat(20)}`]))).trust, null)
  })
}

t.test('anything else is refused here', async (t) => {
  const node = await openNode(t)
  const gateway = await startGateway(t, node, 'auto')
  const before = node.calls.length
  for (const method of ['zks_estimateGas', 'bor_subscribe', 'bor_unsubscribe', 'eth_subscribe']) {
    const { json, trust } = await post(gateway, call(method, ['newHeads']))
    t.equal(json.error.code, -32_601, method)
    t.equal(trust, null)
  }
  t.equal((await post(gateway, call('bor_getAuthor', 'x'))).json.error.code, -32_602)
  const pinned = { 'tidegate-at': 'latest' }
  t.match((await post(gateway, call('bor_getAuthor'), pinned)).json.error, {
    code: -32_600,
    message: 'invalid request: a method that is passed on to upstreams cannot be pinned to a block',
  })
  const asked = node.calls.slice(before).map(({ method }) => method)
  t.strictSame(
    asked.filter((method) => !method.startsWith('eth_getBlock')),
    [],
    'the node was not asked',
  )
})

t.test('over a WebSocket', async (t) => {
  const gateway = await startGateway(t, await openNode(t), 'auto')
  const client = await SocketClient.connect(`${gateway.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  const answer = await client.ask(JSON.stringify(call('bor_getAuthor', ['0x1'])))
  t.match(JSON.parse(String(answer)), { result: { author: '0x1' } })
})

t.test('a follower passes on, too', { skip: withoutAnvil }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder)
  const options = { urls: [anvil.url], genesisPath: anvil.genesisPath, passThrough: ['anvil_*'] }
  const service = await startService(['--config', writeFollowConfig(folder, options), '--no-auth'])
  t.teardown(() => service.stop())
  const { json, trust } = await post(service, call('anvil_nodeInfo'))
  t.match(json.result, { environment: { chainId: 31_337 } })
  t.equal(trust, 'none')
})
