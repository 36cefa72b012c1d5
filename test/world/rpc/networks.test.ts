// @shares
import { request } from 'node:http'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { inTime } from '../../library/until.js'
import { blockAt, blockBytes, genesisPath, headBlock, quantity } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { importHere } from '../../rpc/servedChain.js'
import { executedHere, spendingBatch } from '../../service/fixtures.js'
import { withoutTimes } from '../../service/healthTimes.js'
import { copyDemoStore, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const folder = makeFolder(t)
const dataDir = `${folder}/data`
copyDemoStore(dataDir, 'whole')
copyDemoStore(dataDir, 'late')
const shortHead = 12
await importHere(folder, Buffer.concat(blockBytes.slice(0, shortHead)), 'short')

const config = writeConfig(folder, {
  dataDir: 'data',
  defaultNetwork: 'short',
  limits: { keyUnitsPerSecond: 1 },
  allowedHosts: ['unknown.example'],
  networks: [
    { name: 'whole', genesis: genesisPath, hosts: ['whole.example', 'Other.Example'], safe: false },
    { name: 'short', genesis: genesisPath },
    {
      name: 'late',
      genesis: genesisPath,
      hosts: ['late.example'],
      networkId: 77,
      safeLag: 3,
      finalizedLag: 10,
    },
  ],
})
const service = await startService(['--config', config, '--no-auth'])
t.teardown(() => service.stop())

/** Posts with a Host header of its own, which fetch does not allow. */
function postAs(host: string, path: string, body: string): Promise<{ status: number; text: string }> {
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    const { port } = new URL(service.origin)
    const headers = { host, 'content-type': 'application/json' }
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
  return inTime(`the answer to ${body}`, answered)
}

async function ask(path: string, method: string, params: unknown[], host?: string) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { status, text } =
    host === undefined ? await service.post(path, body) : await postAs(host, path, body)
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return JSON.parse(text).result
}

t.test('each network answers under its name, the default one without', async (t) => {
  for (const [path, number] of [
    ['/whole', headBlock.number],
    ['/whole/', headBlock.number],
    ['/whole/v3/any', headBlock.number],
    ['/late/v3/any', headBlock.number],
    ['/short', shortHead],
    ['/short/v3/any', shortHead],
    ['/v3/any', shortHead],
    ['/', shortHead],
  ] as const) {
    t.equal(await ask(path, 'eth_blockNumber', []), quantity(number), path)
  }
})

t.test('a host name addresses a network, whatever its port and case', async (t) => {
  for (const [host, number] of [
    ['whole.example', headBlock.number],
    ['WHOLE.example:8545', headBlock.number],
    ['other.example', headBlock.number],
    ['unknown.example', shortHead],
    ['127.0.0.1', shortHead],
  ] as const) {
    t.equal(await ask('/v3/any', 'eth_blockNumber', [], host), quantity(number), host)
    t.equal(await ask('/', 'eth_blockNumber', [], host), quantity(number), host)
  }
  t.equal(
    await ask('/short', 'eth_blockNumber', [], 'whole.example'),
    quantity(shortHead),
    'a name goes first',
  )
})

t.test('a name that no network has is 404', async (t) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' })
  for (const path of ['/nothing', '/nothing/v3/any', '/Whole', '/who%6ce']) {
    const { status, text } = await service.post(path, body)
    t.equal(status, 404, path)
    const message = 'no such network: /health names those that are served; a key stands behind /v3/'
    t.strictSame(JSON.parse(text), { jsonrpc: '2.0', id: null, error: { code: -32600, message } })
  }
})

t.test('networks do not mix what they remember', async (t) => {
  const params = ['latest', false]
  for (let round = 0; round < 3; round++) {
    t.equal((await ask('/whole', 'eth_getBlockByNumber', params)).hash, headBlock.hash)
    t.equal((await ask('/short', 'eth_getBlockByNumber', params)).hash, blockAt(shortHead).hash)
    t.equal(await ask('/short', 'eth_getBlockByNumber', [quantity(shortHead + 1), false]), null)
  }
})

t.test('a network id of its own is what net_version answers', async (t) => {
  t.equal(await ask('/late', 'net_version', []), '77')
  t.equal(await ask('/whole', 'net_version', []), '8433')
})

t.test('safe and finalized follow the head at their distance', async (t) => {
  const number = async (path: string, tag: string) =>
    Number((await ask(path, 'eth_getBlockByNumber', [tag, false])).number)
  t.equal(await number('/late', 'latest'), headBlock.number)
  t.equal(await number('/late', 'safe'), headBlock.number - 3)
  t.equal(await number('/late', 'finalized'), headBlock.number - 10)
  t.equal(await number('/whole', 'finalized'), headBlock.number)
  const receipts = await ask('/late', 'eth_getBlockReceipts', ['finalized'])
  t.strictSame(receipts, await ask('/late', 'eth_getBlockReceipts', [headBlock.number - 10]))
  const address = '0x0000f90827f1c53a10cb7a02335b175320002935'
  const slot = quantity(headBlock.number - 4)
  const before = await ask('/late', 'eth_getStorageAt', [address, slot, 'safe'])
  t.equal(
    before,
    blockAt(headBlock.number - 4).hash,
    'the hash of the parent of the safe block is in storage',
  )
  t.equal(
    await ask('/late', 'eth_getStorageAt', [address, quantity(headBlock.number - 3), 'safe']),
    `0x${'0'.repeat(64)}`,
  )
})

t.test('a network without the safe tag says which to use', async (t) => {
  const whole = { ...service, post: (_path: string, body: string) => service.post('/whole', body) }
  const message = (at: number) =>
    `invalid argument ${at}: the safe tag is not supported on this network, use finalized`
  const address = `0x${'00'.repeat(20)}`
  for (const safe of ['safe', { blockNumber: 'safe' }]) {
    await checkRefusals(t, whole, 'eth_getBlockByNumber', [[[safe, true], -32602, message(0)]])
    await checkRefusals(t, whole, 'eth_getBlockReceipts', [[[safe], -32602, message(0)]])
    await checkRefusals(t, whole, 'eth_estimateGas', [[[{ to: address }, safe], -32602, message(1)]])
    await checkRefusals(t, whole, 'eth_getStorageAt', [[[address, '0x0', safe], -32602, message(2)]])
    for (const method of ['eth_getTransactionByBlockNumberAndIndex', 'eth_getUncleByBlockNumberAndIndex']) {
      const answer = await ask('/whole', method, [safe, '0x0'])
      t.strictSame(answer, await ask('/whole', method, ['latest', '0x0']), `${method} takes it everywhere`)
    }
  }
})

t.test('health names every network with its head', async (t) => {
  const response = await fetch(`${service.origin}/health`)
  t.equal(response.status, 200)
  const { note, ...health } = (await response.json()) as { readonly note?: string }
  t.strictSame(withoutTimes(health), {
    status: 'ok',
    networks: {
      whole: { head: headBlock.number, basis: executedHere, syncing: false, condition: 'ok' },
      short: { head: shortHead, basis: executedHere, syncing: false, condition: 'ok' },
      late: { head: headBlock.number, basis: executedHere, syncing: false, condition: 'ok' },
    },
  })
})

t.test('what all may spend together without keys is limited where that is configured', async (t) => {
  const { text } = await service.post('/whole', spendingBatch)
  t.match(text, /"code":-32602.*"limit exceeded: this call costs 60 /)
  t.equal((await service.post('/late', '{}')).status, 200)
  const { status } = await service.post('/late', spendingBatch.slice(1, spendingBatch.indexOf('},') + 1))
  t.equal(status, 429)
})
