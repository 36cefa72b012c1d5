/** Old blocks from an archive and new ones from a node, served as one network. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeBlocks, storedBlocks, writeArchive } from '../../ingest/eraArchives.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { blockAt, chainPath, genesisPath, headBlock, quantity } from '../../rpc/demoChain.js'
import { methodTable } from '../../rpc/methodTable.js'
import { runHere, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { demoStore } from '../../unit/execution/evm/demoExecution.js'
import { startFollower, writeFollowConfig } from '../../upstream/followedNode.js'
import { forwardTo, WeatherNode } from '../../upstream/weatherNode.js'

const upstream = await startService()
t.teardown(() => upstream.stop())

/** The demo chain as `tidegate export` writes an archive. */
async function exportArchive(t: Test): Promise<string> {
  const folder = makeFolder(t)
  const made = join(folder, 'made.era1')
  writeArchive(made, storedBlocks(demoStore))
  const words = ['--network', 'old', '--data', folder]
  t.equal((await runHere(['import', ...words, '--genesis', genesisPath, made])).status, 0)
  t.equal((await runHere(['export', ...words, '--out', join(folder, 'out')])).status, 0)
  const [name = ''] = readdirSync(join(folder, 'out'))
  t.match(name, /\.era1$/)
  return join(folder, 'out', name)
}

async function startNode(t: Test): Promise<WeatherNode> {
  const node = new WeatherNode(forwardTo(`${upstream.origin}/`))
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}

/** Sends one request to the service and to its upstream, and compares the texts of the answers. */
async function compare(t: Test, service: Service, method: string, params: readonly unknown[]): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const [{ text }, { text: expected }] = [await service.post('/', body), await upstream.post('/', body)]
  if (text === expected) t.pass()
  else t.equal(text, expected, body)
}

t.test('beneath a gateway: old blocks are served without any upstream', async (t) => {
  const folder = makeFolder(t)
  const archive = await exportArchive(t)
  const node = await startNode(t)
  const entry = {
    name: 'main',
    kind: 'gateway',
    upstreams: [{ url: node.url }],
    historyBlocks: 5,
    pollMs: 50,
  }
  const config = writeConfig(folder, { dataDir: 'data', networks: [entry] })
  const importing = (...words: string[]) => runHere(['import', '--config', config, ...words])
  t.match(await importing(archive), { status: 1, err: /main has no head yet to which blocks could link/ })
  const first = await startService(['--config', config, '--no-auth'])
  t.equal(await first.stop(), 0)

  t.match(await importing('--accumulators', genesisPath, archive), { status: 2, err: /leave --accumulators/ })
  const imported = await importing(archive)
  t.match(imported, { status: 0, out: /Epoch 0: blocks 0 to \d+, linked to the head, block by block\./ })
  t.match(imported.out, /Done: the blocks of main are linked from 0 on; blocks: \d+ checked and stored/)
  t.match(await importing(archive), { out: /blocks: 0 checked and stored, 265 known already/ })

  const words = ['--data', join(folder, 'data'), '--network', 'main']
  const refused = /is of a network of kind gateway, in which no blocks are executed; import archives/
  t.match(await runHere(['import', ...words, chainPath]), { status: 1, out: '', err: refused })
  const exported = await runHere(['export', ...words, '--out', join(folder, 'out')])
  t.match(exported, { status: 1, out: '', err: /main is of kind gateway, whose store holds of most blocks/ })

  await node.stop()
  const asked = node.calls.length
  writeConfig(folder, { dataDir: 'data', networks: [{ ...entry, logs: { from: 0 } }] })
  const gateway = await startService(['--config', config, '--no-auth'])
  t.teardown(() => gateway.stop())
  for (const number of [0, 1, 14, 60, 148, 200, headBlock.number]) {
    const hash = number === 0 ? undefined : blockAt(number).hash
    for (const isFull of [false, true]) {
      await compare(t, gateway, 'eth_getBlockByNumber', [quantity(number), isFull])
      if (hash !== undefined) await compare(t, gateway, 'eth_getBlockByHash', [hash, isFull])
    }
    await compare(t, gateway, 'eth_getBlockReceipts', [quantity(number)])
    await compare(t, gateway, 'debug_getRawBlock', [quantity(number)])
    const [transaction] = number === 0 ? [] : blockAt(number).transactions
    if (transaction !== undefined) {
      await compare(t, gateway, 'eth_getTransactionByHash', [transaction.hash])
      await compare(t, gateway, 'eth_getTransactionReceipt', [transaction.hash])
    }
  }
  await compare(t, gateway, 'eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }])
  await waitFor('the index of their logs', async () => {
    const response = await fetch(`${gateway.origin}/health`)
    const { networks } = (await response.json()) as { networks: { main: { logs: { missing: number } } } }
    return networks.main.logs.missing === 0
  })
  await compare(t, gateway, 'eth_getLogs', [{ fromBlock: '0x0', toBlock: quantity(headBlock.number) }])
  t.equal(node.calls.length, asked)
})

t.test('into a follower: the blocks of the archive are executed, and not asked for', async (t) => {
  const folder = makeFolder(t)
  const last = 200
  const archive = join(folder, 'demo.era1')
  writeArchive(archive, storedBlocks(demoStore).slice(0, last + 1))
  const node = await startNode(t)
  const options = { urls: [node.url], genesisPath }
  const config = writeFollowConfig(folder, options)
  const importing = (path: string) => runHere(['import', '--config', config, path])
  t.match(await importing(archive), { status: 0, out: /dev is at block 200; blocks: 200 executed/ })
  t.match(await importing(archive), { status: 0, out: /blocks: 0 executed, 201 known already/ })
  const stranger = join(folder, 'stranger.era1')
  writeArchive(stranger, makeBlocks(10))
  t.match(await importing(stranger), {
    status: 1,
    err: /stranger.era1: at byte 8: .*it is the genesis of another chain/,
  })

  const service = await startFollower(t, folder, options)
  await waitFor('the head', async () => {
    return (await service.call('eth_blockNumber')).result === quantity(headBlock.number)
  })
  const old = node.calls.filter(({ method, params: [number] }) => {
    return method === 'eth_getBlockByNumber' && Number(number) > 0 && Number(number) <= last
  })
  t.strictSame(old, [], 'blocks of the archive were not asked for')
  for (const method of ['eth_getBalance', 'eth_getBlockReceipts', 'eth_getProof'] as const) {
    for (const params of (methodTable[method].reads ?? []).slice(0, 30))
      await compare(t, service, method, params)
  }
})
