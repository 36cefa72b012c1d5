// @scene a node under a consensus client, over its own listener
/**
 * The listener for a consensus client: tokens, limits, its answers, and the methods that the public listener refuses.
 */
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { parsedBytesMax } from '../../../src/operation/process/engine/engineListener.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { ChainMaker, type MadeBlock, mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { payloadOf } from '../../ingest/payloads.js'
import { tokenOf } from '../../library/engineToken.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { once } from '../../library/until.js'
import { type EngineNode, startEngine } from '../../service/engineNode.js'
import { get } from '../../service/httpClient.js'
import { writeConfig } from '../../service/program.js'

const zero = `0x${'00'.repeat(32)}`
const beaconRoot = `0x${'be'.repeat(32)}`
const chainIdCall = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'

const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })

/** The status for a body without an announced length. */
async function sendInChunks({ url, tokenNow }: EngineNode, bytes: number): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${tokenNow()}` }
  const sent = request(url, { method: 'POST', headers, agent: false })
  const answered = once(sent, 'response')
  for (let at = 0; at < bytes; at += 2 ** 16) sent.write('x'.repeat(2 ** 16))
  sent.end()
  const [answer] = await answered
  answer.resume()
  return answer.statusCode
}

async function startNode(t: Test, flags: readonly string[] = [], data?: string) {
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  return startEngine(t, { genesis: path, flags, ...(data !== undefined && { data }) })
}

const stateOf = (head: MadeBlock, safe?: MadeBlock, finalized?: MadeBlock) => ({
  headBlockHash: bytesToHex(head.hash),
  safeBlockHash: safe === undefined ? zero : bytesToHex(safe.hash),
  finalizedBlockHash: finalized === undefined ? zero : bytesToHex(finalized.hash),
})

async function giveAndChoose(node: EngineNode, blocks: readonly MadeBlock[]): Promise<void> {
  for (const made of blocks) await node.call('engine_newPayloadV4', [payloadOf(made), [], beaconRoot, []])
  await node.call('engine_forkchoiceUpdatedV3', [stateOf(blocks.at(-1) as MadeBlock, blocks[0], blocks[0])])
}

t.test(
  'blocks and choices over the listener are what the public one serves, also after a restart',
  async (t) => {
    const maker = await ChainMaker.create(genesis)
    const blocks = await maker.extendBy(maker.genesis, [{}, {}, {}])
    const data = makeFolder(t)
    const node = await startNode(t, [], data)
    const tagOf = async ({ service }: EngineNode, tag: string) =>
      service.call('eth_getBlockByNumber', [tag, false])
    t.equal((await tagOf(node, 'safe')).error?.message, 'safe block not found')
    t.equal((await tagOf(node, 'finalized')).error?.message, 'finalized block not found')
    await giveAndChoose(node, blocks)
    const tags = { latest: blocks[2], safe: blocks[0], finalized: blocks[0] }
    for (const [tag, made] of Object.entries(tags))
      t.equal((await tagOf(node, tag)).result.hash, bytesToHex((made as MadeBlock).hash), tag)
    t.equal((await node.call('eth_blockNumber')).result, '0x3', 'eth_ methods stand on both')
    await node.service.stop()
    const again = await startEngine(t, { data })
    for (const [tag, made] of Object.entries(tags))
      t.equal(
        (await tagOf(again, tag)).result.hash,
        bytesToHex((made as MadeBlock).hash),
        `${tag} after a restart`,
      )
    t.equal(
      (await again.call('engine_newPayloadV4', [payloadOf(blocks[1] as MadeBlock), [], beaconRoot, []]))
        .result.status,
      'VALID',
    )
  },
)

t.test('only a right token is heard, and the public listener has no engine', async (t) => {
  const node = await startNode(t)
  t.equal((await node.send(chainIdCall)).status, 200)
  const stale = tokenOf(new Uint8Array(32), { iat: Math.floor(Date.now() / 1_000) })
  for (const authorization of [null, 'Bearer', `Bearer ${stale}`]) {
    const { status, text } = await node.send('{ no JSON', authorization)
    t.equal(status, 401, text)
  }
  t.equal((await get(node.url)).status, 401, 'whatever the method')
  for (const method of ['engine_exchangeCapabilities', 'engine_newPayloadV4', 'engine_forkchoiceUpdatedV3']) {
    const { text } = await node.service.post(
      '/',
      JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [[]] }),
    )
    t.equal(JSON.parse(text).error.code, -32601, method)
  }
  t.equal((await node.call('admin_nodeInfo')).error?.code, -32601, 'nor has this one other methods')
})

t.test('a request that is too long for the main thread is answered as a short one', async (t) => {
  const maker = await ChainMaker.create(genesis)
  const [one] = (await maker.extendBy(maker.genesis, [{}])) as [MadeBlock]
  const node = await startNode(t)
  const padding = 'x'.repeat(parsedBytesMax)
  const params = [{ ...payloadOf(one), padding }, [], beaconRoot, []]
  const request = { jsonrpc: '2.0', id: 'long', method: 'engine_newPayloadV4', params }
  const { text } = await node.send(JSON.stringify(request))
  t.match(JSON.parse(text), { jsonrpc: '2.0', id: 'long', result: { status: 'VALID' } })
  const codeOf = async (body: string) => JSON.parse((await node.send(body)).text).error.code
  t.equal(await codeOf(`{${padding}`), -32700)
  t.equal(await codeOf(JSON.stringify([padding])), -32600)
  t.equal(await codeOf(JSON.stringify({ ...request, method: 'eth_chainId' })), -32601)
})

t.test('bodies, batches and connections are bounded', async (t) => {
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  const limits = { engineBodyBytesMax: 2 ** 20, engineConnectionsMax: 3, batchCallsMax: 2 }
  const config = writeConfig(folder, { limits })
  const node = await startEngine(t, { genesis: path, flags: ['--config', config] })
  t.equal((await node.send('x'.repeat(2 ** 20 + 1))).status, 413)
  t.equal(await sendInChunks(node, 2 ** 21), 413)
  t.match(JSON.parse((await node.send(`[${chainIdCall},${chainIdCall}]`)).text), [
    { result: /^0x/ },
    { result: /^0x/ },
  ])
  const three = JSON.parse((await node.send(`[${chainIdCall},${chainIdCall},${chainIdCall}]`)).text)
  t.equal(three.error.code, -32600)
  const { hostname, port } = new URL(node.url)
  const sockets: Socket[] = []
  t.teardown(() => sockets.map((socket) => socket.destroy()))
  for (let count = 0; count < 3; count++) {
    const socket = connect(Number(port), hostname)
    socket.resume()
    socket.on('error', () => undefined)
    sockets.push(socket)
    await once(socket, 'connect')
  }
  // A new client replaces a silent connection.
  const [first] = sockets as [Socket]
  const ended = once(first, 'close')
  t.equal((await node.send(chainIdCall)).status, 200)
  await ended
})

/** A WebSocket to the listener with this `Authorization`, and the HTTP status if there is none. */
async function dial({ url }: EngineNode, authorization: string) {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers: { authorization } })
  socket.on('error', () => undefined)
  const status = new Promise<number>((resolve) => {
    socket.once('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode))
    socket.once('open', () => resolve(101))
  })
  return { socket, status: await status }
}

t.test('a WebSocket gets one answer after the other, once its handshake had a right token', async (t) => {
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  const limits = { engineBodyBytesMax: 2 ** 20, engineConnectionsMax: 2, batchCallsMax: 2 }
  const node = await startEngine(t, {
    genesis: path,
    flags: ['--config', writeConfig(folder, { limits })],
  })
  t.equal((await dial(node, 'Bearer')).status, 401)
  const stale = tokenOf(new Uint8Array(32), { iat: Math.floor(Date.now() / 1_000) })
  t.equal((await dial(node, `Bearer ${stale}`)).status, 401, 'another secret')
  const { socket, status } = await dial(node, `Bearer ${node.tokenNow()}`)
  t.teardown(() => socket.terminate())
  t.equal(status, 101)
  const answers: { readonly id: number; readonly result?: unknown; readonly error?: { code: number } }[] = []
  const count = 40
  const answered = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      answers.push(JSON.parse(String(data)))
      if (answers.length === count + 2) resolve()
    })
  })
  const methods = ['eth_chainId', 'engine_exchangeCapabilities', 'eth_blockNumber', 'admin_nodeInfo']
  for (let id = 0; id < count; id++) {
    const method = methods[id % methods.length] as string
    const params = method.startsWith('engine_') ? [[]] : []
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  }
  socket.send('no JSON')
  socket.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'eth_chainId', params: [] })))
  await answered
  t.strictSame(
    answers.map(({ id }) => id),
    [...Array(count).keys(), null, 'last'],
    'in the order of the requests',
  )
  t.equal(answers[3]?.error?.code, -32601)
  t.ok(Array.isArray(answers[1]?.result))
  t.equal(answers[count]?.error?.code, -32700)
  const closed = once(socket, 'close')
  socket.send('x'.repeat(2 ** 20 + 1))
  const [code] = await closed
  t.equal(code, 1009, 'a message that is too long ends the connection')
})

t.test('an idle WebSocket gives its place to a new client, and the end of the node closes it', async (t) => {
  const folder = makeFolder(t)
  const path = writeInto(folder, 'genesis.json', genesis)
  const config = writeConfig(folder, { limits: { engineConnectionsMax: 2 } })
  const node = await startEngine(t, { genesis: path, flags: ['--config', config] })
  const authorization = `Bearer ${node.tokenNow()}`
  const first = (await dial(node, authorization)).socket
  const ended = once(first, 'close')
  const others = [(await dial(node, authorization)).socket, (await dial(node, authorization)).socket]
  await ended
  const ends = others.map((socket) => once(socket, 'close'))
  t.strictSame(
    others.map(({ readyState }) => readyState),
    [WebSocket.OPEN, WebSocket.OPEN],
  )
  t.equal(await node.service.stop(), 0)
  await Promise.all(ends)
})
