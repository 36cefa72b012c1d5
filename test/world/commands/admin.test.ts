// @shares
/** The admin listener beside the program's public one: /live, /ready, /metrics, its token and its port. */
import { readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { blockAt, chainPath, genesisPath, headBlock } from '../../rpc/demoChain.js'
import { adminOf } from '../../service/adminClient.js'
import { get } from '../../service/httpClient.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'
import { freePort } from '../../service/ports.js'
import { runProgram, startProgram, writeConfig } from '../../service/program.js'
import { copyDemo, type DemoSettings, serveDemo } from '../../service/servedDemo.js'
import { type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

async function start(t: Test, settings: DemoSettings = {}, flags: readonly string[] = []) {
  const networks = [{ name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA' }]
  const served = await serveDemo(t, { networks, ...settings }, ['--no-auth', ...flags])
  return { ...served, admin: await adminOf(served.service, served.dataDir) }
}

const ask = (method: string, params: unknown[] = []) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

for (const transport of ['uws', 'node']) {
  t.test(`${transport}: /live, /ready and /metrics`, async (t) => {
    const { service, admin } = await start(t, {}, ['--transport', transport])

    t.test('live and ready need no token, answer HEAD, and say which transport serves', async (t) => {
      for (const path of ['/live', '/ready']) {
        const { status, text } = await admin.get(path, { headers: {} })
        t.equal(status, 200, text)
        const head = await admin.get(path, { method: 'HEAD', headers: {} })
        t.strictSame([head.status, head.text], [200, ''])
        t.equal(Number(head.headers.get('content-length')), Buffer.byteLength(text))
        t.equal((await admin.get(path, { method: 'POST' })).status, 405)
      }
      t.strictSame(JSON.parse((await admin.get('/live')).text), { live: true, stuck: [] })
      t.match(JSON.parse((await admin.get('/ready')).text), { ready: true, transport, failing: [] })
    })

    t.test('metrics need the token', async (t) => {
      const bare = await admin.get('/metrics', { headers: {} })
      t.equal(bare.status, 401)
      t.equal(bare.headers.get('www-authenticate'), 'Bearer')
      const { status, headers } = await admin.get('/metrics')
      t.equal(status, 200)
      t.match(headers.get('content-type'), 'text/plain; version=0.0.4')
      t.equal((await admin.get('/nothing')).status, 404)
      t.ok(((await admin.metrics()).get('tidegate_store_free_bytes{store="node"}') ?? 0) > 2 ** 20)
    })

    t.test('calls are counted by method, over HTTP and WebSocket, single and in batches', async (t) => {
      const balance = ask('eth_getBalance', [`0x${'0'.repeat(40)}`, 'latest'])
      for (let time = 0; time < 5; time++) await service.post('/', balance)
      // A proof of two keys, which the pool makes; the edge makes a shorter one.
      const proof = ask('eth_getProof', [`0x${'0'.repeat(40)}`, ['0x0', '0x1'], 'latest'])
      await service.post('/', `[${proof},${balance},${ask('eth_nothing')}]`)
      const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
      t.teardown(() => client.cut())
      await client.ask(balance)
      const found = await admin.metrics()
      t.equal(found.get('tidegate_rpc_calls_total{network="demo",method="eth_getBalance"}'), 7)
      t.ok(
        (found.get('tidegate_rpc_repeated_answers_total{network="demo",method="eth_getBalance"}') ?? 0) >= 3,
      )
      t.equal(found.get('tidegate_rpc_result_bytes_count{method="eth_getBalance"}'), 7)
      t.equal(found.get('tidegate_rpc_calls_total{network="demo",method="eth_getProof"}'), 1)
      t.equal(found.get('tidegate_rpc_duration_seconds_count{network="demo",method="eth_getProof"}'), 1)
      t.equal(
        found.get('tidegate_rpc_duration_seconds_bucket{network="demo",method="eth_getProof",le="+Inf"}'),
        1,
      )
      t.equal(found.get('tidegate_rpc_calls_total{network="demo",method="other"}'), 1)
      t.equal(found.get('tidegate_rpc_errors_total{network="demo",method="other",code="-32601"}'), 1)
      t.equal(found.get('tidegate_pool_finished_jobs_total{class="proof"}'), 1)
      t.ok((found.get('tidegate_pool_cpu_seconds_total{class="proof"}') ?? 0) > 0)
      // Any thread may have had the proof.
      const heaps = [...found].filter(([name]) => name.startsWith('tidegate_pool_heap_bytes'))
      t.ok(heaps.some(([, bytes]) => bytes > 0))
      t.equal(found.get('tidegate_websockets'), 1)
    })

    t.test('subscriptions are counted while they are open, and caches when they are asked', async (t) => {
      const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
      t.teardown(() => client.cut())
      const opened = JSON.parse((await client.ask(ask('eth_subscribe', ['newHeads']))) ?? '')
      t.equal((await admin.metrics()).get('tidegate_subscriptions{edge="0"}'), 1)
      await client.ask(ask('eth_unsubscribe', [opened.result]))
      t.equal((await admin.metrics()).get('tidegate_subscriptions{edge="0"}'), 0)
      // One block by three names, so that no question repeats an earlier one.
      const named = [
        ask('eth_getBlockByNumber', ['latest', true]),
        ask('eth_getBlockByNumber', [`0x${headBlock.number.toString(16)}`, true]),
        ask('eth_getBlockByHash', [headBlock.hash, true]),
      ]
      for (const body of named) await service.post('/', body)
      const found = await admin.metrics()
      t.ok((found.get('tidegate_cache_hits_total{cache="blocks"}') ?? 0) > 0)
      t.ok((found.get('tidegate_cache_misses_total{cache="blocks"}') ?? 0) > 0)
      t.ok((found.get('tidegate_cache_bytes{cache="blocks"}') ?? 0) > 0)
      t.equal(found.get('tidegate_skipped_events_total'), 0)
    })

    t.test('stored submissions and readers of stores are counted', async (t) => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'rollupx_addInvokeTransaction',
        params: { invoke_transaction: makeTransaction(0xabc, 0) },
      })
      t.match((await service.post('/roll', body)).text, /"transaction_hash"/)
      const found = await admin.metrics()
      t.ok((found.get('tidegate_submission_commits_total') ?? 0) > 0, 'a removal of old ones may be another')
      t.ok((found.get('tidegate_submission_commit_seconds_total') ?? 0) > 0)
      t.equal(found.get('tidegate_submissions_waiting{network="roll"}'), 1)
      t.ok((found.get('tidegate_store_readers{store="node"}') ?? 0) > 0)
      t.ok((found.get('tidegate_store_readers{store="network demo"}') ?? 0) > 0)
    })

    t.test('bodies that are no requests, and refused requests, are counted', async (t) => {
      const before = await admin.metrics()
      await service.post('/', '{')
      await service.post('/nowhere', ask('eth_chainId'))
      const after = await admin.metrics()
      const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
      t.equal(grown('tidegate_rpc_errors_total{network="demo",method="other",code="-32700"}'), 1)
      t.equal(grown('tidegate_rejections_total{reason="path"}'), 1)
    })

    t.test('the head, stores, threads and the build are shown', async (t) => {
      const found = await admin.metrics()
      t.equal(found.get('tidegate_head_number{network="demo"}'), headBlock.number)
      const { timestamp } = blockAt(headBlock.number) as { timestamp?: unknown }
      t.ok((found.get('tidegate_head_timestamp_seconds{network="demo"}') ?? 0) > 0, String(timestamp))
      t.ok((found.get('tidegate_store_bytes{store="network demo"}') ?? 0) > 0)
      t.ok((found.get('tidegate_edge_heap_bytes{edge="0"}') ?? 0) > 0)
      t.ok((found.get('process_resident_memory_bytes') ?? 0) > 0)
      const build = [...found.keys()].find((name) => name.startsWith('tidegate_build_info'))
      t.match(build, `transport="${transport}"`)
    })
  })
}

t.test('wrong tokens keep nobody out who has the right one', async (t) => {
  const { admin } = await start(t)
  const wrong = Array.from({ length: 30 }, (_, guess) =>
    admin.get('/metrics', { headers: { authorization: `Bearer ${guess}` } }),
  )
  t.equal((await admin.get('/metrics')).status, 200, 'while they arrive')
  for (const { status, headers } of await Promise.all(wrong)) {
    t.ok(status === 401 || (status === 429 && Number(headers.get('retry-after')) > 0), String(status))
  }
  t.equal((await admin.get('/metrics')).status, 200, 'and after them')
})

t.test(
  'the counts of two edges are added up',
  { skip: process.platform !== 'linux' && 'edges share a port on Linux alone' },
  async (t) => {
    const { service, admin } = await start(t, { edges: 2 })
    // All connections are of one edge only once in two million runs.
    for (let time = 0; time < 22; time++) await service.post('/', ask('net_version'))
    const found = await admin.metrics()
    t.equal(found.get('tidegate_rpc_calls_total{network="demo",method="net_version"}'), 22)
    await waitFor('the second edge to publish', async () => {
      return ((await admin.metrics()).get('tidegate_edge_heap_bytes{edge="1"}') ?? 0) > 0
    })
    t.strictSame(JSON.parse((await admin.get('/live')).text), { live: true, stuck: [] })
  },
)

t.test('whatever connects and sends nothing that needs an answer, probes get theirs', async (t) => {
  const { admin } = await start(t)
  const { hostname, port } = new URL(admin.origin)
  const open = (text: string): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(text)
        resolve(socket)
      })
      // Answers stay unread.
      socket.on('error', () => undefined).pause()
      t.teardown(() => socket.destroy())
    })
  const head = 'HTTP/1.1\r\nHost: 127.0.0.1\r\n'
  for (const [what, text] of [
    ['silent', ''],
    ['half a head', `GET /live ${head}`],
    ['another request to come', `GET /live ${head}\r\n`],
    ['an unread page', `GET / ${head}\r\n`.repeat(50)],
    ['a body that does not come', `PATCH /api/keys/1 ${head}Content-Length: 9\r\n\r\n`],
    ['a wrong token', `GET /metrics ${head}Authorization: Bearer wrong\r\n\r\n`],
  ] as const) {
    for (let count = 0; count < 250; count++) await open(text)
    for (const path of ['/live', '/ready', '/metrics']) {
      const { status, text: body } = await get(`${admin.origin}${path}`, {
        authorization: `Bearer ${admin.token}`,
      })
      t.equal(status, 200, `${what}: ${path} ${body.slice(0, 100)}`)
    }
  }
})

t.test('a connection without a whole head ends before one whose body is awaited', async (t) => {
  const { admin } = await start(t)
  const { hostname, port } = new URL(admin.origin)
  const token = admin.token
  const ended: string[] = []
  const open = (name: string, text: string) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(text))
      socket.on('error', () => undefined).resume()
      socket.on('close', () => {
        ended.push(name)
        resolve()
      })
    })
  const head = 'HTTP/1.1\r\nHost: 127.0.0.1\r\n'
  const body = `POST /api/keys ${head}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`
  await Promise.all([open('body', body), open('silent', ''), open('half', `GET /live ${head}`)])
  t.strictSame(ended.slice(0, 2).sort(), ['half', 'silent'])
})

t.test('a head that is too old is named by /ready', async (t) => {
  const demo = { source: { type: 'file', path: chainPath } }
  const { admin } = await start(t, { demo, admin: { headAgeMsMax: 1_000 } })
  const { status, text } = await waitFor('the first import', async () => {
    const found = await admin.get('/ready')
    return !found.text.includes('"firstImport":"failing"') && found
  })
  t.equal(status, 503)
  t.match(JSON.parse(text), {
    ready: false,
    failing: [{ check: 'headAge', network: 'demo', why: /^its head is \d+ s old/ }],
  })
})

t.test('a client that leaves before its body is whole is no defect', async (t) => {
  const { service, admin } = await start(t)
  const { hostname, port } = new URL(admin.origin)
  const client = connect(Number(port), hostname).resume()
  const head = `POST /api/keys HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${admin.token.trim()}\r\n`
  client.end(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`)
  await once(client, 'close')
  t.equal((await admin.get('/live')).status, 200)
  await service.stop()
  t.notMatch(`${service.said.err}${service.lines.join('\n')}`, /aborted|"level":50/)
})

t.test('a port that was chosen must be free', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as { port: number }
  const { config } = copyDemo(t, { admin: { port } })
  const { status, err } = await runProgram(['serve', '--config', config, '--no-auth', '--port', '0'])
  t.equal(status, 1)
  t.match(err, `the admin listener cannot listen on 127.0.0.1:${port} (the port is taken)`)
  const { config: other } = copyDemo(t, { admin: false })
  const flagged = ['serve', '--config', other, '--no-auth', '--port', '0', '--admin-port', String(port)]
  t.match(await runProgram(flagged), { status: 1, err: `127.0.0.1:${port} (the port` }, 'by the flag')
  const elsewhere = await runProgram([...flagged, '--admin-host', 'localhost'])
  t.match(elsewhere, { status: 1, err: `localhost:${port} (the port` }, 'and its host')
})

t.test('where the default port is taken and none was chosen, the next free one is used', async (t) => {
  // The port is taken, by this server or by another program.
  const holder = createServer().listen(8550, '127.0.0.1')
  await new Promise((resolve) => holder.once('listening', resolve).once('error', resolve))
  t.teardown(() => holder.close())
  const { config } = copyDemo(t)
  const flags = ['--config', config, '--no-auth', '--port', String(await freePort())]
  const { said, process, finished } = startProgram(['serve', ...flags])
  t.teardown(async () => {
    process.kill('SIGTERM')
    await finished
  })
  const url = await waitFor('the address', () => /dashboard is at (http:\S+)\//.exec(said.out)?.[1])
  t.match(url, /^http:\/\/127\.0\.0\.1:85(5[1-9]|6[0-5])$/)
  t.match(said.err, `"admin":"${url}"`)
  t.equal((await fetch(`${url}/live`)).status, 200)
})

t.test('there is none where the configuration says so', async (t) => {
  const { service } = await serveDemo(t, { admin: false })
  await service.stop()
  t.notMatch(service.said.err, /admin/)
})

t.test('no key and no part of one is in any page', async (t) => {
  const { service, keys } = await startKeyedDemo(t, ['canary'], { logLevel: 'trace' })
  t.teardown(() => service.stop())
  const [key = ''] = keys
  const dataDir = JSON.parse(readFileSync(configPathOf(service), 'utf8')).dataDir as string
  const admin = await adminOf(service, dataDir)
  await service.post(`/v3/${key}`, ask('eth_chainId'))
  await service.post(`/v3/${key}`, ask(key, [key]))
  await service.post(`/${key}/v3/${key}`, ask('eth_chainId'))
  await service.post(`/v3/${key}x`, ask('eth_chainId'))
  await admin.get(`/${key}`)
  const pages = await Promise.all(['/live', '/ready', '/metrics', `/${key}`].map((path) => admin.get(path)))
  const health = await (await fetch(`${service.origin}/health`)).text()
  const shown = [...pages.map(({ text }) => text), health, service.said.err].join('\n')
  const secret = key.slice('tg_'.length)
  t.ok(secret.length > 40)
  for (let at = 0; at + 8 <= secret.length; at++) {
    if (shown.includes(secret.slice(at, at + 8))) t.fail('eight characters of the key are shown')
  }
  t.notOk(shown.includes(admin.token.slice(0, 8)), 'nor of the admin token')
})

function configPathOf({ process: { spawnargs } }: Service): string {
  return spawnargs[spawnargs.indexOf('--config') + 1] as string
}

t.test('the time of an import is shown by phase, and the commits of its store', async (t) => {
  const folder = makeFolder(t)
  const networks = [{ name: 'tides', genesis: genesisPath, source: { type: 'file', path: chainPath } }]
  const config = writeConfig(folder, { dataDir: 'data', networks })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const admin = await adminOf(service, join(folder, 'data'))
  const phases = ['check', 'execute', 'write']
  const figures = [
    ...phases.map((phase) => `tidegate_import_seconds_total{network="tides",phase="${phase}"}`),
    'tidegate_chain_commits_total{network="tides"}',
    'tidegate_chain_commit_seconds_total{network="tides"}',
    'tidegate_source_heap_bytes{network="tides"}',
  ]
  // A source publishes its figures at its start, each second and at its end; edges notice a head at once.
  const found = await waitFor('the figures of the whole chain', async () => {
    const metrics = await admin.metrics()
    const isWhole = metrics.get('tidegate_head_number{network="tides"}') === headBlock.number
    return isWhole && figures.every((name) => (metrics.get(name) ?? 0) > 0) && metrics
  })
  for (const name of figures) t.ok(found.has(name), name)
})
