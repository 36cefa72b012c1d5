// @shares
/** With a secret in every part of every URL of the configuration, no secret is in anything that a server writes. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { configSchema } from '../../../src/operation/config/config.js'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { tokenOf } from '../../library/engineToken.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { genesisPath } from '../../rpc/demoChain.js'
import { adminOf } from '../../service/adminClient.js'
import { get, post } from '../../service/httpClient.js'
import { freePort } from '../../service/ports.js'
import { copyDemoStore, runProgram, startProgram, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const closedPort = await freePort()
const seen: IncomingMessage[] = []
/** Each request is refused in the next of several forms. */
const front = createServer((request, response) => {
  seen.push(request)
  const { url = '' } = request
  const refusals = [
    () => request.socket.destroy(),
    () => response.writeHead(502, { 'content-type': 'text/html' }).end('<html>bad gateway'),
    () => response.writeHead(302, { location: `http://127.0.0.1:${closedPort}${url}` }).end(),
    () => response.writeHead(401).end('no'),
    () => response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'),
  ]
  refusals[seen.length % refusals.length]?.()
}).listen(0, '127.0.0.1')
await once(front, 'listening')
t.teardown(() => front.close())
const { port } = front.address() as AddressInfo

const secrets: string[] = []
function secret(): string {
  const text = randomBytes(8).toString('hex')
  secrets.push(text)
  return text
}

/** A URL with secrets; an escape that is none is no reason to show its password either. */
function node(scheme: string, hostPort = port, path = `/${secret()}`): string {
  return `${scheme}://${secret()}:${secret()}%@127.0.0.1:${hostPort}${path}?key=${secret()}`
}
const database = () => `postgres://tidegate:${secret()}@127.0.0.1:${closedPort}/tidegate`
const headers = () => ({ 'x-key': secret() })
const nodes = (scheme: string) => [
  { url: node(scheme), headers: headers() },
  { url: node(scheme, closedPort), headers: headers() },
  { url: node(scheme, closedPort), proxy: node('http', port, '') },
]
const upstreams = [...nodes('http').map((entry) => ({ ...entry, socketUrl: node('ws') })), ...nodes('ws')]
const beacon = { nodes: nodes('http'), checkpoint: `0x${'11'.repeat(32)}` }
const sepolia = { chainId: 11_155_111 }

/**
 * Members that the networks of a configuration share, with one secret in each URL. Each row is a program of its own.
 */
const rows: Readonly<Record<string, { readonly [name: string]: unknown; readonly networks: object[] }>> = {
  rollups: {
    traces: { endpoint: `http://127.0.0.1:${closedPort}/${secret()}?key=${secret()}`, sample: 1 },
    networks: [
      ...[port, closedPort].flatMap((at, index) => [
        {
          name: `roll-${index}`,
          kind: 'rollup',
          chainId: 'SN_MAIN',
          upstream: { url: node('http', at), readUrl: node('http', at), waitMs: 500 },
        },
        {
          name: `gate-${index}`,
          kind: 'rollup',
          chainId: 'SN_MAIN',
          upstream: { url: node('http', at, `/${secret()}/gateway`), form: 'gateway', waitMs: 500 },
        },
      ]),
      {
        name: 'demo',
        genesis: genesisPath,
        source: { type: 'follow', upstreams },
      },
    ],
  },
  gateway: { networks: [{ name: 'main', kind: 'gateway', ...sepolia, upstreams, beacon }] },
  follower: {
    networks: [{ name: 'demo', genesis: genesisPath, source: { type: 'follow', upstreams, beacon } }],
  },
  keys: { shared: { url: database() }, networks: [{ name: 'demo', genesis: genesisPath }] },
  publisher: {
    networks: [
      {
        name: 'demo',
        genesis: genesisPath,
        source: { type: 'follow', upstreams },
        publish: { url: database() },
      },
    ],
  },
  replica: {
    networks: [{ name: 'demo', genesis: genesisPath, source: { type: 'feed', url: database() } }],
  },
  engine: {
    networks: [
      {
        name: 'engine',
        genesis: 'genesis.json',
        source: {
          type: 'consensus',
          port: 0,
          jwtSecret: 'jwt.hex',
          from: upstreams,
          beaconNodes: nodes('http'),
          transactions: { to: upstreams },
        },
      },
    ],
  },
  queue: {
    networks: [{ name: 'roll', kind: 'rollup', chainId: 'SN_MAIN', queue: { shared: { url: database() } } }],
  },
}

t.test('every URL that a configuration may have is in one of these', async (t) => {
  const planted = new Set(Object.values(rows).flatMap((row) => urlsIn(row)))
  const listed = urlsOf(configSchema())
  // A URL may be a short form of an object with that URL.
  const known = new Set(listed.filter((path) => !listed.includes(`${path}.url`)))
  t.ok(known.size >= 12)
  t.strictSame([...planted].sort(), [...known, 'traces.endpoint'].sort())
})

const call = (method: string, params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

t.test('no answer, page, metric, trace, line of the log or file tells a secret', async (t) => {
  const { folder, config } = configure(t, 'rollups')
  const dataDir = join(folder, 'data')
  copyDemoStore(dataDir, 'demo')
  const service = await startService(['--config', config, '--no-auth', '--log-level', 'trace'])
  t.teardown(() => service.stop())
  const answers: string[] = []
  const ask = async (path: string, method: string, params: unknown) => {
    const { text } = await service.post(path, call(method, params))
    answers.push(text)
    return text
  }
  for (let round = 0; round < 5; round++) {
    for (const index of [0, 1]) {
      const roll = `/roll-${index}`
      t.match(await ask(roll, 'rollupx_getNonce', ['latest', '0x1']), /the sequencer did not answer|no/)
      for (const path of [roll, `/gate-${index}`]) {
        const taken = await ask(path, 'rollupx_addInvokeTransaction', {
          invoke_transaction: makeTransaction(7, round),
        })
        const hash = JSON.parse(taken).result?.transaction_hash
        t.type(hash, 'string', taken)
        await ask(path, 'rollupx_getTransactionStatus', [hash])
      }
    }
    await ask('/demo', 'eth_syncing', [])
    await ask('/demo', 'eth_sendRawTransaction', ['0x02'])
  }
  await waitFor('a sequencer in the log', () => /sequencer/.test(service.said.err))
  await waitFor('a span that is dropped', () => /traces (was|were) dropped/.test(service.said.err))
  const admin = await adminOf(service, dataDir)
  const paths = ['/metrics', '/ready', '/live', '/api/state', '/api/networks', '/api/audit', '/api/usage']
  for (const path of paths) answers.push((await admin.get(path)).text)
  for (const path of ['/health', '/openrpc.json']) answers.push((await get(service.origin + path)).text)
  const shown = await runProgram(['config', '--config', config])
  t.equal(shown.status, 0)
  await service.stop()
  t.ok(
    seen.some(({ headers }) => headers.authorization?.startsWith('Basic ')),
    'a user and password are sent as a header',
  )
  const posted = seen.filter(({ url }) => url?.includes('/gateway/add_transaction?key='))
  t.ok(posted.length > 0, 'the query of a gateway stays its query')
  const stores = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
  checkAll(t, {
    answers: answers.join('\n'),
    log: service.said.err + service.lines.join('\n'),
    'shown configuration': shown.out + shown.err,
    stores: stores.join('\n'),
  })
})

t.test('what an engine says while it looks for blocks tells no secret', async (t) => {
  const { folder, config } = configure(t, 'engine')
  const jwt = randomBytes(32)
  writeInto(folder, 'jwt.hex', jwt.toString('hex'))
  writeInto(folder, 'genesis.json', testGenesis(mergedConfig(), { difficulty: '0x0' }))
  const service = await startService(['--config', config, '--no-auth', '--log-level', 'trace'])
  t.teardown(() => service.stop())
  const url = await waitFor(
    'the listener of the consensus client',
    () => /may call (http:\S+?)"/.exec(service.said.err)?.[1],
  )
  const zero = `0x${'00'.repeat(32)}`
  const chosen = { headBlockHash: `0x${'77'.repeat(32)}`, safeBlockHash: zero, finalizedBlockHash: zero }
  const { text } = await post(url, call('engine_forkchoiceUpdatedV3', [chosen]), {
    'content-type': 'application/json',
    authorization: `Bearer ${tokenOf(jwt, { iat: Math.floor(Date.now() / 1_000) })}`,
  })
  t.match(text, /"SYNCING"/)
  await waitFor('its trouble', () => /127\.0\.0\.1:\d+ does not answer/.test(service.said.err))
  const health = (await get(`${service.origin}/health`)).text
  await service.stop()
  checkAll(t, { answer: text, health, log: service.said.err + service.lines.join('\n') })
})

for (const name of Object.keys(rows).filter((name) => name !== 'rollups' && name !== 'engine')) {
  t.test(`what a ${name} says at its start tells no secret`, async (t) => {
    const { folder, config } = configure(t, name)
    if (name !== 'gateway') copyDemoStore(join(folder, 'data'), 'demo')
    const run = startProgram(['serve', '--port', '0', '--config', config, '--log-level', 'trace'], {
      env: { TIDEGATE_DEBUG: '1' },
    })
    let isOver = false
    void run.finished.then(() => {
      isOver = true
    })
    await waitFor('its trouble', () => isOver || /upstream|database|feed|ECONNREFUSED/.test(run.said.err))
    run.process.kill('SIGTERM')
    const { out, err } = await run.finished
    checkAll(t, { out, err })
  })
}

function configure(t: Parameters<typeof makeFolder>[0], name: string) {
  const folder = makeFolder(t)
  const config = writeConfig(folder, { dataDir: 'data', admin: { port: 0 }, ...rows[name] })
  return { folder, config }
}

function checkAll(t: Parameters<typeof makeFolder>[0], texts: Readonly<Record<string, string>>): void {
  const sent = seen.flatMap(({ headers }) => headers.authorization?.split(' ').slice(1) ?? [])
  for (const [where, text] of Object.entries(texts)) {
    const found = [...secrets, ...new Set(sent)].filter((one) => text.includes(one))
    t.strictSame(found, [], where)
  }
}

/** Paths of members of a schema that are URLs, as in `networks.source.url`. */
function urlsOf(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([name, inner]) => {
    if (name === 'format' && inner === 'uri') return [path]
    if (!['properties', 'items', 'anyOf', 'oneOf', 'allOf'].includes(name) && Number.isNaN(Number(name))) {
      return urlsOf(inner, path === '' ? name : `${path}.${name}`)
    }
    return urlsOf(inner, path)
  })
}

/** The URLs in a configuration, by their paths. */
function urlsIn(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return value.includes('://') ? [path] : []
  if (Array.isArray(value)) return value.flatMap((item) => urlsIn(item, path))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    urlsIn(inner, path === '' ? name : `${path}.${name}`),
  )
}
