// @shares
/**
 * Traces of a real server, on both transports: the sent spans, the traced requests, and the cost of a bad collector.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'
import { writeConfig } from '../../service/program.js'
import { reportsOf, startService } from '../../service/service.js'
import { transports } from '../../transport/eachTransport.js'
import { SocketClient } from '../../transport/socketClient.js'
import { attributesOf, startCollector } from '../../unit/serving/traces/collector.js'

const address = `0x${'c0ffee'.padEnd(40, '1')}`
const call = (method: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [address, 'latest'] })
const balance = call('eth_getBalance')

for (const { name } of transports) {
  t.test(`${name}: sampled requests arrive with their parents, times and attributes`, async (t) => {
    const collector = await startCollector(t)
    const traces = { endpoint: collector.endpoint, sample: 1, parentsPerSecond: 100_000 }
    const settings = { transport: name, logSample: 1, traces }
    const { service, keys } = await startKeyedDemo(t, ['first'], settings)
    t.teardown(() => service.stop())
    const [key = ''] = keys
    const traceId = randomBytes(16).toString('hex')
    const parentId = randomBytes(8).toString('hex')
    const traceparent = `00-${traceId}-${parentId}-01`
    const beforeMs = Date.now()
    const answer = await service.post(`/v3/${key}`, balance, { traceparent, 'x-request-id': key })
    t.equal(answer.status, 200)
    const find = (method: string) =>
      collector.spans().find((span) => attributesOf(span)['rpc.method'] === method)
    const continued = await waitFor('the span of the client', () => find('eth_getBalance'))
    const afterMs = Date.now()
    t.match(continued, { traceId, parentSpanId: parentId, name: 'eth_getBalance', kind: 2 })
    const [startMs, endMs] = [continued.startTimeUnixNano, continued.endTimeUnixNano].map(
      (nanoseconds) => Number(nanoseconds) / 1e6,
    ) as [number, number]
    // The clocks of two processes may be some milliseconds apart.
    t.ok(beforeMs - 5 <= startMs && startMs <= endMs && endMs <= afterMs + 5)
    const attributes = attributesOf(continued)
    t.match(attributes, {
      'rpc.system': 'jsonrpc',
      'http.response.status_code': 200,
      'tidegate.network': 'demo',
      'tidegate.key': /^[0-9a-f]{12}$/,
      'tidegate.request': 'tg_…',
    })
    t.ok(Number(attributes['tidegate.units']) > 0)
    t.match(service.said.err, `"trace":"${traceId}"`, 'the line of the log names the trace')
    await service.post(`/v3/${key}`, call('eth_getCode'))
    t.equal((await waitFor('a span without a parent', () => find('eth_getCode'))).parentSpanId, undefined)
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws/v3/${key}`)
    await client.ask(call('eth_getTransactionCount'))
    client.cut()
    await waitFor('the span of a message', () => find('eth_getTransactionCount'))
    await service.post(`/v3/${key}`, call('eth_getStorageAt'), {
      traceparent: `${traceparent.slice(0, -1)}0`,
    })
    await service.post(`/v3/${key}`, call('eth_getProof'))
    t.equal(await service.stop(), 0, 'what waits is sent when the server stops')
    t.ok(find('eth_getProof'))
    t.equal(find('eth_getStorageAt'), undefined, 'a client that does not sample is not traced')
    t.equal(collector.spans().length, 4)
    for (const { path, headers, body } of collector.received) {
      t.equal(path, '/v1/traces')
      const sent = JSON.stringify(headers) + body
      for (let at = 3; at + 12 <= key.length; at++) t.notOk(sent.includes(key.slice(at, at + 12)))
      t.notOk(sent.includes(address.slice(2, 14)), 'nor a parameter')
    }
  })
}

t.test('every edge sends its own', { skip: process.platform !== 'linux' }, async (t) => {
  const collector = await startCollector(t)
  const config = writeConfig(makeFolder(t), {
    ...JSON.parse(readFileSync(fixtureConfig, 'utf8')),
    edges: 2,
    traces: { endpoint: collector.endpoint, sample: 1 },
  })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const instances = () =>
    new Set(
      collector.received.map(
        ({ body }) => attributesOf(JSON.parse(body).resourceSpans[0].resource)['service.instance.id'],
      ),
    )
  let asked = 0
  await waitFor('spans of both', async () => {
    asked++
    await service.post('/', balance)
    return instances().size === 2
  })
  t.equal(await service.stop(), 0)
  t.equal(collector.spans().length, asked)
})

for (const weather of ['hangs', 'refuses', 'answers 503'] as const) {
  t.test(`a collector that ${weather} costs dropped spans and nothing else`, async (t) => {
    const collector = await startCollector(t, (response) => {
      if (weather === 'hangs') return
      response.statusCode = 503
      response.end('no')
    })
    if (weather === 'refuses') await collector.close()
    const traces = { endpoint: collector.endpoint, sample: 1 }
    const { service, keys } = await startKeyedDemo(t, ['first'], { traces })
    t.teardown(() => service.stop())
    for (let round = 0; round < 50; round++) {
      const { status } = await service.post(`/v3/${keys[0]}`, balance)
      if (status !== 200) t.fail(`status ${status}`)
    }
    if (weather === 'hangs') await waitFor('a request that hangs', () => collector.received.length > 0)
    t.equal(await service.stop(), 0)
    t.match(service.said.err, /spans? of traces w(?:ere|as) dropped: the collector/)
    t.strictSame(reportsOf(service.said.err), [])
  })
}

t.test('off, nothing of it is loaded', async (t) => {
  const scriptsOf = async (traces: object | undefined) => {
    const folder = makeFolder(t)
    const config = writeConfig(folder, {
      ...JSON.parse(readFileSync(fixtureConfig, 'utf8')),
      ...(traces && { traces }),
    })
    const coverage = join(folder, 'coverage')
    const service = await startService(['--config', config, '--no-auth'], { NODE_V8_COVERAGE: coverage })
    t.equal(
      (await service.post('/', balance, { traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01` })).status,
      200,
    )
    t.equal(await service.stop(), 0)
    // Counts of V8, by the URL of each script that a thread of the process loaded.
    const loaded = readdirSync(coverage)
      .map((file) => readFileSync(join(coverage, file), 'utf8'))
      .join('')
    t.match(loaded, '/dist/chunks/serve-', 'the list is one')
    return loaded.includes('/dist/chunks/tracer-')
  }
  t.equal(await scriptsOf(undefined), false)
  t.equal(await scriptsOf({ endpoint: 'http://127.0.0.1:9/' }), true)
})
