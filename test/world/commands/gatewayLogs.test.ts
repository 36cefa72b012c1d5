/** A gateway that completes its logs, as a process: its messages, its upstreams, and the trust of its answers. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { examples, headBlock, quantity } from '../../rpc/demoChain.js'
import { adminOf } from '../../service/adminClient.js'
import { runHere, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { forwardTo, WeatherNode } from '../../upstream/weatherNode.js'

const archive = await startService()
t.teardown(() => archive.stop())

async function startNode(t: Test): Promise<WeatherNode> {
  const node = new WeatherNode(forwardTo(`${archive.origin}/`))
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}

/** Questions except those for heads and markers, which never end. */
function asked(node: WeatherNode): readonly string[] {
  return node.calls
    .filter(({ params }) => !['latest', 'safe', 'finalized'].includes(String(params[0])))
    .map(({ method, params }) => `${method} ${params[0]}`)
}

interface Logs {
  readonly from: number
  readonly lazy?: boolean
}

/** A gateway whose headers are linked only a few blocks deep, except for its logs. */
async function startWith(
  t: Test,
  folder: string,
  nodes: readonly WeatherNode[],
  logs: Logs,
): Promise<Service> {
  const upstreams = nodes.map(({ url }) => ({ url, timeoutMs: 600_000 }))
  const config = writeConfig(folder, {
    dataDir: 'data',
    networks: [{ name: 'main', kind: 'gateway', upstreams, historyBlocks: 8, pollMs: 50, logs }],
  })
  const gateway = await startService(['--config', config, '--no-auth'])
  t.teardown(() => gateway.stop())
  return gateway
}

async function logsOf(gateway: Service): Promise<unknown> {
  const response = await fetch(`${gateway.origin}/health`)
  const { networks } = (await response.json()) as { networks: { main: { logs?: { missing: number } } } }
  return networks.main.logs
}

async function complete(gateway: Service, from: number): Promise<void> {
  const text = JSON.stringify({ from, completeFrom: from, missing: 0 })
  await waitFor('complete logs', async () => JSON.stringify(await logsOf(gateway)) === text, 30)
}

/** Asks both the same. Returns the header of the gateway's answer. */
async function compare(t: Test, gateway: Service, method: string, params: readonly unknown[]) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${gateway.origin}/`, { method: 'POST', headers, body })
  const [text, { text: expected }] = [await response.text(), await archive.post('/', body)]
  if (text !== expected) t.equal(text, expected, body)
  return response.headers.get('tidegate-trust')
}

const addresses = examples.contracts.map(({ address }) => address)

t.test('complete logs are asked of nobody, by any method, and are proved', async (t) => {
  const nodes = [await startNode(t), await startNode(t)]
  const folder = makeFolder(t)
  const first = 100
  const gateway = await startWith(t, folder, nodes, { from: first })
  await complete(gateway, first)
  for (const node of nodes)
    t.ok(
      asked(node).some((text) => /Receipts/.test(text)),
      'both were asked',
    )
  for (const node of nodes) await node.stop()
  const before = nodes.flatMap(asked).length

  const { seed, numRuns } = propertyRuns(100)
  const dice = new Dice(seed as number)
  for (let run = 0; run < (numRuns as number); run++) {
    const from = first + dice.throw(headBlock.number - first + 1)
    const to = from + dice.throw(headBlock.number - from + 1)
    const address = dice.throw(2) === 0 ? {} : { address: addresses[dice.throw(addresses.length)] }
    const filter = { fromBlock: quantity(from), toBlock: quantity(to), ...address }
    if ((await compare(t, gateway, 'eth_getLogs', [filter])) !== null) t.fail('a complete answer is proved')
    await compare(t, gateway, 'tidegate_getLogs', [{ ...filter, limit: 50 }])
  }
  const filter = { fromBlock: quantity(first), toBlock: 'latest', address: addresses }
  const [mine, its] = await Promise.all(
    [gateway, archive].map(async (service) => {
      const { result: id } = await service.call('eth_newFilter', [filter])
      return (await service.call('eth_getFilterLogs', [id])).result
    }),
  )
  t.ok(its.length > 0)
  t.strictSame(mine, its, 'a filter')
  t.equal(nodes.flatMap(asked).length, before)
  t.match(await gateway.call('eth_getLogs', [{ fromBlock: quantity(first - 1), toBlock: 'latest' }]), {
    error: { message: /fewer than [12] upstreams agree on block 99|no upstream answered/ },
  })

  const admin = await adminOf(gateway, join(folder, 'data'))
  const [network] = JSON.parse((await admin.get('/api/networks')).text)
  t.strictSame(network.chain.logs, { from: first, completeFrom: first, missing: 0 })
  t.equal(await gateway.stop(), 0)
  const config = join(folder, 'tidegate.json')
  t.match(await runHere(['verify', '--config', config, '--network', 'main']), {
    status: 0,
    out: /the index of logs against the receipts of \d+ blocks\n.*\nNo fault found/,
  })
})

t.test('the log says where a search is that fetches for long', async (t) => {
  const node = await startNode(t)
  const forward = node.answer
  node.answer = async (call) => {
    if (/Receipts/.test(call.method)) await pause(2_000)
    return forward(call)
  }
  const gateway = await startWith(t, makeFolder(t), [node], { from: 0, lazy: true })
  const found = compare(t, gateway, 'eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }])
  const line = /a search for logs in blocks 0 to 264 is at block [1-9]\d*; it fetches receipts/
  await waitFor('a line', () => line.test(gateway.said.err))
  await found
  t.match(gateway.said.err, line)
})

t.test('below the lowest block logs are fetched, and the answer says what is believed', async (t) => {
  const node = await startNode(t)
  const gateway = await startWith(t, makeFolder(t), [node], { from: 100 })
  await complete(gateway, 100)
  const filter = { fromBlock: '0x20', toBlock: quantity(headBlock.number) }
  t.equal(await compare(t, gateway, 'eth_getLogs', [filter]), 'quorum')
  t.equal(await compare(t, gateway, 'eth_getLogs', [{ ...filter, fromBlock: '0x64' }]), null)
})

t.test('lazy: headers alone are fetched early, and receipts once for each search', async (t) => {
  const node = await startNode(t)
  const gateway = await startWith(t, makeFolder(t), [node], { from: 0, lazy: true })
  await complete(gateway, 0)
  const receipts = () => asked(node).filter((text) => /Receipts/.test(text)).length
  t.ok(receipts() < 10, `${receipts()} were asked for with heads`)
  const filter = { fromBlock: '0x0', toBlock: 'latest', address: addresses[0] }
  t.equal(await compare(t, gateway, 'eth_getLogs', [filter]), null, 'it is proved')
  const fetched = receipts()
  const before = asked(node).length
  t.ok(fetched > 0 && fetched < headBlock.number / 2, `${fetched} of ${headBlock.number} blocks match`)
  t.equal(await compare(t, gateway, 'eth_getLogs', [{ ...filter, fromBlock: '0x1' }]), null)
  t.equal(asked(node).length, before, 'the same is not asked again')
})

t.test('without a configuration a flag says from where on', async (t) => {
  const node = await startNode(t)
  const words = ['--network', 'main', '--upstream', node.url, '--no-auth', '--data', makeFolder(t)]
  const gateway = await startService([...words, '--logs-from', '200'])
  t.teardown(() => gateway.stop())
  await complete(gateway, 200)
  t.match(await runHere(['serve', '--logs-from', '200']), {
    status: 2,
    err: /--logs-from is for a network with --upstream/,
  })
})
