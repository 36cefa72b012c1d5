// @shares
/** After a run with keys of every kind, no part of a key is in anything that a server writes. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SignJWT } from 'jose'
import t from 'tap'
import { NodeStore } from '../../../src/data/store/node/nodeStore.js'
import { addToken, createKey, revokeKey, rotateKey } from '../../../src/serving/access/keyChanges.js'
import { Pepper } from '../../../src/serving/access/pepper.js'
import { verifierOfSecret } from '../../../src/serving/access/tokens.js'
import { makeFolder } from '../../library/folder.js'
import { genesisPath } from '../../rpc/demoChain.js'
import { adminOf } from '../../service/adminClient.js'
import { copyDemoStore, runProgram, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

/** Length of the parts that are looked for. */
const partChars = 12
const chainId = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'

t.test('no part of a key is in a log, a metric, an error, a page or the process list', async (t) => {
  const folder = makeFolder(t)
  const dataDir = join(folder, 'data')
  copyDemoStore(dataDir, 'demo')
  const [path, pepperPath] = ['node.mdb', 'pepper'].map((name) => join(dataDir, 'node', name)) as [
    string,
    string,
  ]
  const store = NodeStore.open({ path })
  const pepper = Pepper.open(store, pepperPath)
  const shop = createKey(store, pepper, { name: 'shop' }, 'test')
  const shopRotated = rotateKey(store, pepper, 'shop', 3_600_000, 'test')
  const gone = createKey(store, pepper, { name: 'gone' }, 'test')
  const secret = randomBytes(32)
  addToken(store, 'shop', verifierOfSecret(secret, pepper), 'test')
  const sign = (claims: object) =>
    new SignJWT({ exp: Math.floor(Date.now() / 1_000) + 600, ...claims })
      .setProtectedHeader({ alg: 'HS256', kid: shop.key.id })
      .sign(secret)
  const token = await sign({})
  const late = await sign({ exp: 1 })
  const config = writeConfig(folder, {
    dataDir,
    edges: process.platform === 'linux' ? 2 : 1,
    networks: [{ name: 'demo', genesis: genesisPath }],
  })
  const service = await startService(['--config', config, '--log-level', 'trace'])
  t.teardown(() => service.stop())
  const made = await runProgram(['keys', 'create', '--name', 'made', '--config', config])
  const rotated = await runProgram(['keys', 'rotate', 'made', '--config', config])
  const canaries = [shop.text, shopRotated.text, gone.text, made.out.trim(), rotated.out.trim(), token, late]
  const wrong = canaries.map((key) => `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)
  const seen: string[] = []
  const ask = async (to: string, init: RequestInit) => {
    const response = await fetch(service.origin + to, { ...init, signal: AbortSignal.timeout(60_000) })
    seen.push(JSON.stringify([...response.headers]), await response.text())
    return response.status
  }
  const json = { 'content-type': 'application/json' }
  const post = (to: string, headers: Record<string, string> = {}, body = chainId) =>
    ask(to, { method: 'POST', body, headers: { ...json, ...headers } })
  for (const key of [...canaries, ...wrong]) {
    const isGood = canaries.includes(key) && key !== late
    t.equal(await post(`/v3/${key}`), isGood ? 200 : 401)
    t.equal(await post('/', { authorization: `Bearer ${key}` }), isGood ? 200 : 401)
    t.equal(await post('/demo', { 'x-api-key': key }), isGood ? 200 : 401)
    await post(`/v3/${key}`, {}, `{"id":1,"method":"${key}"}`)
    await post(`/v3/${key}`, {}, `${chainId}${key}`)
    await post(`/nowhere/v3/${key}`)
    await post(`/v3/${key}/${key}?${key}`, { origin: `https://${key}` })
    await ask(`/v3/${key}`, { method: 'DELETE' })
    await ask(`/v3/${key}/block/${key}`, { headers: json })
    for (const headers of [{}, { 'x-api-key': key }]) {
      const to = `${service.origin.replace('http', 'ws')}/ws/v3/${'x-api-key' in headers ? '' : key}`
      const client = await SocketClient.connect(to, { headers }).catch(
        (error: Error) => void seen.push(error.message),
      )
      if (client) {
        seen.push((await client.ask(chainId)) ?? '')
        client.cut()
      }
    }
    seen.push(await raw(service.origin, `POST /v3/${key} HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n`))
  }
  // A text of the client is returned to this client alone.
  const echoed = seen.map((text) =>
    text.replace(/the method \S+ does not exist/g, '').replace(/got \\?"[^"]*"/g, ''),
  )

  const again = NodeStore.open({ path })
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws/v3/${gone.text}`)
  revokeKey(again, 'gone', 'test')
  await again.close()
  const { reason } = await client.closed
  t.equal(reason, 'unauthorized: this API key has been revoked')

  const admin = await adminOf(service, dataDir)
  const pages = [
    '/metrics',
    '/ready',
    '/live',
    '/',
    '/openapi.json',
    '/api/keys',
    '/api/state',
    '/api/networks',
  ]
  for (const page of pages) seen.push((await admin.get(page)).text)
  const publicPages = ['/health', '/openrpc.json']
  for (const page of publicPages) await ask(page, {})
  const listed = await runProgram(['keys', 'list', '--json', '--config', config])
  const proc = process.platform === 'linux' ? ['cmdline', 'environ', 'status'] : []
  const ofProcess = proc.map((name) => readFileSync(`/proc/${service.process.pid}/${name}`, 'latin1'))
  const threads = proc.length === 0 ? [] : readdirSync(`/proc/${service.process.pid}/task`)
  const names = threads.map((id) => readFileSync(`/proc/${service.process.pid}/task/${id}/comm`, 'latin1'))
  await service.stop()

  t.match(service.said.err, /request refused/, 'refusals are logged')
  const written = {
    'standard error': service.said.err,
    'standard output': service.lines.join('\n'),
    'answers and pages': [...echoed, ...seen.slice(echoed.length), reason].join('\n'),
    'list of keys': listed.out + listed.err,
    'messages of the command line': made.err + rotated.err,
    'list of processes': [...ofProcess, ...names].join('\n'),
    'node store': readFileSync(path, 'latin1'),
  }
  // There are spaces on both sides, because a neighbouring letter could be equal to that of the key.
  t.equal(partsIn(` ${shop.text.slice(20, 32)} `, canaries).length, 1, 'a part would be found')
  for (const [where, content] of Object.entries(written)) t.strictSame(partsIn(content, canaries), [], where)
  t.equal(partsIn(written['node store'], [secret.toString('latin1')]).length, 0, 'the secret of tokens')
})

/** The parts of keys in a text; the beginning that all tokens share does not count. */
function partsIn(content: string, keys: readonly string[]): string[] {
  const parts = keys.flatMap((key) => {
    const secretAt = key.startsWith('eyJ') ? key.indexOf('.') : 0
    const secret = key.slice(secretAt)
    return Array.from({ length: Math.max(secret.length - partChars + 1, 0) }, (_, at) =>
      secret.slice(at, at + partChars),
    )
  })
  return [...new Set(parts)].filter((part) => content.includes(part))
}

/** Sends bytes that no HTTP client would, and returns all that comes back. */
async function raw(origin: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.end(bytes)
  return text(socket).catch(() => '')
}
