import { until } from '../../../library/until.js'
import { test } from '../../../transport/eachTransport.js'
import { withSocketServer } from '../../../unit/serving/transport/socketServer.js'
import { call, echo, echoed, goodKey } from '../../../unit/serving/transport/testServer.js'

test('answers are those of HTTP, ids echoed as they were written', async (t) => {
  const { connect, post } = await withSocketServer(t)
  const client = await connect()
  for (const body of [
    ...['0', '-1', '12345678901234567890123', '1.50', '"a\\u0041é"', 'null'].map((id) =>
      call('test_echo', '["é"]', id),
    ),
    `[${echo},1,${call('test_fault', '[]', '"f"')},${call('test_none', '[]', '3')},{"jsonrpc":"2.0","method":"test_count"}]`,
    `[${Array.from({ length: 1000 }, (_, id) => call('test_echo', `[${id}]`, String(id))).join()}]`,
    `[${Array.from({ length: 1001 }, () => '1').join()}]`,
    ...['[]', '{}', 'x', '', ' ', '[', '"', '{"jsonrpc":"2.0"}', '\u0000', '\ud800'],
  ]) {
    t.equal(await client.ask(body), await (await post(`/v3/${goodKey}`, body)).text(), body.slice(0, 60))
  }
})

test('notifications get no message', async (t) => {
  const { connect, network } = await withSocketServer(t)
  const client = await connect()
  client.send('{"jsonrpc":"2.0","method":"test_count"}')
  client.send('[{"jsonrpc":"2.0","method":"test_count"}]')
  t.equal(await client.ask(echo), echoed)
  t.equal(network.runs, 3)
})

test('methods are handed the subscriptions of the socket', async (t) => {
  const { connect } = await withSocketServer(t)
  const answer = await (await connect()).ask(call('test_subscriber'))
  t.match(answer, '"result":true')
})

test('1,000 requests in parallel on one socket are all answered', async (t) => {
  const { connect } = await withSocketServer(t)
  const client = await connect()
  for (let id = 0; id < 1000; id++) client.send(call('test_echo', `["${'x'.repeat(id)}"]`, String(id)))
  const ids = new Set<number>()
  while (ids.size < 1000) {
    const { id, result } = JSON.parse((await client.next()) ?? '')
    t.equal(result[0].length, id)
    ids.add(id)
  }
})

test('calls that wait are limited, those of a batch too, and the others go on', async (t) => {
  const { connect, network } = await withSocketServer(t, { callsMax: 4 })
  const client = await connect()
  const busy = { error: { code: -32005, message: 'server busy', data: { retryAfterMs: 1000 } } }
  for (let id = 0; id < 3; id++) client.send(call('test_job', `["0x${id}"]`, String(id)))
  await until(() => network.jobs.length === 3)
  client.send(
    `[${[7, 8, 9].map((id) => call('test_job', `["0x${id}"]`, String(id))).join()},${call('test_echo', '[]', '10')}]`,
  )
  await until(() => network.jobs.length === 4)
  t.match(JSON.parse((await client.ask(call('test_job', '["0x20"]', '20'))) ?? ''), { id: 20, ...busy })
  t.equal(await client.ask(echo), echoed, 'what needs no job is answered')
  const other = await connect()
  other.send(call('test_job', '["0x30"]', '30'))
  await until(() => network.jobs.length === 5)
  for (const job of network.jobs.splice(0)) job.resolve('"done"')
  t.match(JSON.parse((await other.next()) ?? ''), { id: 30, result: 'done' }, 'another socket has its own')
  const answers = [await client.next(), await client.next(), await client.next(), await client.next()]
  t.match(
    answers.map((answer) => JSON.parse(answer ?? '')).sort((a, b) => (a.id ?? 9) - (b.id ?? 9)),
    [
      { id: 0 },
      { id: 1 },
      { id: 2 },
      [{ id: 7, result: 'done' }, { id: 8, ...busy }, { id: 9, ...busy }, { id: 10 }],
    ],
  )
  client.send(call('test_job', '["0x40"]', '40'))
  await until(() => network.jobs.length === 1)
  network.jobs.pop()?.resolve('"again"')
  t.match(JSON.parse((await client.next()) ?? ''), { id: 40, result: 'again' })
})

test('messages whose calls wait are limited in bytes', async (t) => {
  const { connect, network } = await withSocketServer(t, { messageBytesMax: 1000 })
  const client = await connect()
  client.send(call('test_job', '["0x1"]', '1').padEnd(600))
  await until(() => network.jobs.length === 1)
  t.match(await client.ask(call('test_job', '["0x2"]', '2').padEnd(600)), 'server busy')
  t.equal(await client.ask(echo.padEnd(1000)), echoed)
  network.jobs.pop()?.resolve('1')
  await client.next()
  client.send(call('test_job', '["0x2"]', '2').padEnd(1000))
  await until(() => network.jobs.length === 1)
  network.jobs.pop()?.resolve('2')
  t.match(await client.next(), '"result":2')
})
