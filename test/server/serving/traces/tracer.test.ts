/** Which requests are traced, the sent spans, and their loss if the collector does not take them. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { waitingMax } from '../../../../src/serving/traces/spanExporter.js'
import { Tracer, type TracerOptions } from '../../../../src/serving/traces/tracer.js'
import type { RequestLine, TraceContext } from '../../../../src/serving/transport/requestLog.js'
import { waitFor } from '../../../library/until.js'
import { attributesOf, startCollector } from '../../../unit/serving/traces/collector.js'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const parent = `00-${traceId}-${spanId}-01`

const line: RequestLine = {
  request: 'mine',
  key: '0123456789ab',
  network: 'demo',
  method: 'eth_getBalance',
  calls: undefined,
  status: 200,
  units: 2,
  microseconds: 41,
}

/** A deadline beyond any test. */
const patient = { timeoutMs: 3_600_000, closeMsMax: 3_600_000, delayMs: 1 }

function makeTracer(t: Test, endpoint: string, options: Partial<TracerOptions> = {}) {
  const warnings: string[] = []
  const tracer = new Tracer({
    endpoint,
    sample: 1,
    parentsPerSecond: 100,
    headersFile: undefined,
    version: '1.2.3',
    warn: (text) => warnings.push(text),
    limits: patient,
    ...options,
  })
  t.teardown(() => tracer.close())
  return { tracer, warnings }
}

const nowhere = 'http://127.0.0.1:9/v1/traces'

t.test(
  'a sampled parent is continued, an unsampled one is not traced, anything else is no parent',
  async (t) => {
    const { tracer } = makeTracer(t, nowhere, { sample: 0 })
    for (const header of [parent, `01-${traceId}-${spanId}-03-more`, `cc-${traceId}-${spanId}-01`]) {
      t.match(tracer.begin(header), { traceId, parentId: spanId, spanId: /^[0-9a-f]{16}$/ }, header)
    }
    const { tracer: other } = makeTracer(t, nowhere, { sample: 1 })
    t.equal(other.begin(`00-${traceId}-${spanId}-00`), undefined)
    for (const header of [
      '',
      `${parent}-more`,
      `ff-${traceId}-${spanId}-01`,
      parent.toUpperCase(),
      `00-${'0'.repeat(32)}-${spanId}-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `${parent}, ${parent}`,
      'x'.repeat(10_000),
    ]) {
      t.equal(tracer.begin(header), undefined, header.slice(0, 200))
      const root = other.begin(header)
      t.match(root, { traceId: /^[0-9a-f]{32}$/, spanId: /^[0-9a-f]{16}$/, parentId: undefined })
      t.not(root?.traceId, traceId)
    }
  },
)

t.test('of a share about that many are traced, and of parents as many a second as are allowed', async (t) => {
  let nowMs = 5_000
  const { tracer } = makeTracer(t, nowhere, {
    sample: 1_000_000_000,
    parentsPerSecond: 2,
    nowMs: () => nowMs,
  })
  for (let round = 0; round < 5; round++) t.equal(tracer.begin(''), undefined)
  const continued = () => Array.from({ length: 4 }, () => tracer.begin(parent)).filter(Boolean).length
  t.equal(continued(), 2)
  nowMs += 1_000
  t.equal(continued(), 2)
})

t.test('a span is sent as OTLP, with what the log line has', async (t) => {
  const collector = await startCollector(t)
  const { tracer, warnings } = makeTracer(t, `${collector.endpoint}?a=b`)
  const beforeMs = Date.now()
  tracer.end(tracer.begin(parent) as TraceContext, line)
  tracer.end(tracer.begin('') as TraceContext, {
    ...line,
    calls: 3,
    status: 503,
    request: `tg_${'A'.repeat(49)}`,
  })
  await waitFor('the spans', () => collector.spans().length === 2)
  const afterMs = Date.now()
  const [request] = collector.received
  t.match(request, { path: '/v1/traces?a=b', headers: { 'content-type': 'application/json' } })
  const { resourceSpans } = JSON.parse(request?.body ?? '')
  t.match(attributesOf(resourceSpans[0].resource), {
    'service.name': 'tidegate',
    'service.version': '1.2.3',
    'service.instance.id': /^[0-9a-f-]{36}$/,
  })
  const [single, batch] = collector.spans()
  if (single === undefined || batch === undefined) throw new Error('there are two spans')
  t.match(single, { traceId, parentSpanId: spanId, flags: 0x301, name: 'eth_getBalance', kind: 2 })
  t.equal(single.status, undefined)
  t.strictSame(attributesOf(single), {
    'rpc.system': 'jsonrpc',
    'rpc.method': 'eth_getBalance',
    'http.response.status_code': 200,
    'tidegate.network': 'demo',
    'tidegate.key': '0123456789ab',
    'tidegate.units': 2,
    'tidegate.request': 'mine',
  })
  t.equal(BigInt(single.endTimeUnixNano) - BigInt(single.startTimeUnixNano), 41_000n)
  const endMs = Number(single.endTimeUnixNano) / 1e6
  // The two clocks may be 2 ms apart.
  t.ok(endMs >= beforeMs - 3 && endMs <= afterMs + 3)
  t.match(batch, { flags: 0x101, name: 'batch', status: { code: 2 } })
  t.equal(batch.parentSpanId, undefined)
  t.match(attributesOf(batch), { 'tidegate.calls': 3, 'error.type': '503', 'tidegate.request': 'tg_…' })
  t.strictSame(warnings, [])
})

t.test('headers come from a file that nobody else can read', async (t) => {
  const collector = await startCollector(t)
  const folder = t.testdir({})
  const headersFile = join(folder, 'headers')
  writeFileSync(headersFile, 'Authorization: Bearer secret words \n\nx-tenant:shop\r\n', { mode: 0o600 })
  const { tracer } = makeTracer(t, collector.endpoint, { headersFile })
  tracer.end(tracer.begin('') as TraceContext, line)
  await tracer.close()
  t.match(collector.received[0]?.headers, { authorization: 'Bearer secret words', 'x-tenant': 'shop' })
  chmodSync(headersFile, 0o644)
  t.throws(() => makeTracer(t, nowhere, { headersFile }), /other users can read the secret/)
  for (const bad of ['secret', 'a b: secret', 'a: secré', 'a:']) {
    const path = join(folder, 'bad')
    writeFileSync(path, `a: b\n${bad}\n`, 'latin1')
    chmodSync(path, 0o600)
    t.throws(() => makeTracer(t, nowhere, { headersFile: path }), {
      message: `${path}: line 2 is no header; write "name: value"`,
    })
  }
  t.throws(() => makeTracer(t, nowhere, { headersFile: join(folder, 'none') }), /there is no file/)
})

t.test('what a collector refuses is dropped, once, and what comes later is sent', async (t) => {
  let isRefusing = true
  const collector = await startCollector(t, (response) => {
    response.statusCode = isRefusing ? 503 : 200
    response.end('x'.repeat(1_000_000))
  })
  const { tracer, warnings } = makeTracer(t, collector.endpoint)
  const root = () => tracer.begin('') as TraceContext
  tracer.end(root(), line)
  await waitFor('the warning', () => warnings.length === 1)
  t.strictSame(warnings, ['a span of traces was dropped: the collector answered HTTP status 503'])
  isRefusing = false
  const later = root()
  tracer.end(later, line)
  await waitFor('the later span', () => collector.spans().length === 2)
  t.equal(collector.spans()[1]?.traceId, later.traceId)
  await tracer.close()
  t.equal(collector.spans().length, 2)
  t.equal(warnings.length, 1)
})

t.test('a collector that is not there costs the spans', async (t) => {
  const collector = await startCollector(t)
  await collector.close()
  const { tracer, warnings } = makeTracer(t, collector.endpoint)
  for (let round = 0; round < 3; round++) tracer.end(tracer.begin('') as TraceContext, line)
  await tracer.close()
  t.strictSame(warnings, ['3 spans of traces were dropped: the collector does not answer (ECONNREFUSED)'])
})

t.test('while a collector hangs a bounded number of spans waits, and closing does not', async (t) => {
  const collector = await startCollector(t, () => undefined)
  const limits = { ...patient, closeMsMax: 1 }
  const { tracer, warnings } = makeTracer(t, collector.endpoint, { limits })
  const trace = () => tracer.end(tracer.begin('') as TraceContext, line)
  trace()
  await waitFor('the request that hangs', () => collector.received.length === 1)
  for (let round = 0; round < waitingMax + 10; round++) trace()
  await tracer.close()
  t.equal(collector.received.length, 1, 'one request at a time')
  t.strictSame(warnings, [
    `${waitingMax + 11} spans of traces were dropped: the collector did not answer in time`,
  ])
})

t.test('an exchange ends at its deadline, and the next one begins', async (t) => {
  let isHanging = true
  let answered = 0
  const collector = await startCollector(t, (response) => {
    if (isHanging) return
    answered++
    response.end()
  })
  const { tracer, warnings } = makeTracer(t, collector.endpoint, { limits: { ...patient, timeoutMs: 100 } })
  const trace = () => tracer.end(tracer.begin('') as TraceContext, line)
  trace()
  await waitFor('the warning', () => warnings.length === 1)
  t.match(warnings[0], 'did not answer in time')
  isHanging = false
  await waitFor('an answer', () => {
    trace()
    return answered > 0
  })
})

t.test('many spans go in batches, none twice', async (t) => {
  const collector = await startCollector(t)
  const { tracer } = makeTracer(t, collector.endpoint, { limits: { ...patient, delayMs: 3_600_000 } })
  for (let round = 0; round < 1_300; round++) tracer.end(tracer.begin('') as TraceContext, line)
  await tracer.close()
  const ids = collector.spans().map(({ spanId }) => spanId)
  t.equal(ids.length, 1_300)
  t.equal(new Set(ids).size, 1_300)
  t.ok(collector.received.length >= 3)
})
