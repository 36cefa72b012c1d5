/** Which requests are logged, the content of their lines, and their ids in headers. */
import type { Test } from 'tap'
import type { RequestLine } from '../../../../src/serving/transport/requestLog.js'
import { test } from '../../../transport/eachTransport.js'
import { SocketClient } from '../../../transport/socketClient.js'
import {
  call,
  echo,
  echoed,
  goodKey,
  goodKeyId,
  withServer,
} from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`

async function withLog(t: Test, settings: { readonly sample: number; readonly isAll: boolean }) {
  const lines: (RequestLine & { readonly isSampled: boolean })[] = []
  const server = await withServer(
    t,
    {},
    {
      requestLog: {
        methods: new Set(['test_echo', 'test_bytes']),
        settings,
        write: (line, isSampled) => lines.push({ ...line, isSampled }),
      },
    },
  )
  return { ...server, lines }
}

test('off, nothing is logged, and only an id that was sent comes back', async (t) => {
  const { post, lines } = await withLog(t, { sample: 0, isAll: false })
  t.equal((await post(path, echo)).headers.get('x-request-id'), null)
  const sent = 'Root=1-67891233-abcdef012345678912345678'
  t.equal((await post(path, echo, { 'x-request-id': sent })).headers.get('x-request-id'), sent)
  t.equal((await post('/v3/wrong', echo, { 'x-request-id': sent })).headers.get('x-request-id'), sent)
  for (const bad of ['a b', 'a"b', 'é', '{}', 'x'.repeat(129)]) {
    t.equal((await post(path, echo, { 'x-request-id': bad })).headers.get('x-request-id'), null, bad)
  }
  t.strictSame(lines, [])
})

test('on, every request has a line, over HTTP and WebSocket', async (t) => {
  const { port, post, lines, server } = await withLog(t, { sample: 0, isAll: true })
  const first = await post(path, echo)
  t.equal(await first.text(), echoed)
  t.match(lines[0], {
    request: first.headers.get('x-request-id') as string,
    key: goodKeyId,
    network: 'testnet',
    method: 'test_echo',
    calls: undefined,
    status: 200,
    isSampled: false,
  })
  t.match(first.headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
  const [line] = lines
  t.ok(line !== undefined && Number.isInteger(line.microseconds) && line.microseconds >= 0)
  t.ok(line !== undefined && line.units > 0)
  await post(`/other${path}`, `[${call('test_bytes', '["0x1"]')},${echo}]`, { 'x-request-id': 'mine' })
  t.match(lines[1], { request: 'mine', network: 'other', method: 'test_bytes', calls: 2 })
  await post(path, call(`tg_${goodKey}`))
  t.equal(lines[2]?.method, 'other', 'names that are not served are not repeated')
  await post(path, '{')
  t.equal(lines[3]?.method, 'other')
  await post(path, echo.padEnd(70_000))
  t.match(lines[4], { method: 'other', status: 200 })
  const client = await SocketClient.connect(`ws://127.0.0.1:${port}/ws${path}`)
  t.equal(await client.ask(echo), echoed)
  client.cut()
  t.match(lines[5], { key: goodKeyId, network: 'testnet', method: 'test_echo' })
  t.equal(new Set(lines.map(({ request }) => request)).size, lines.length)
  await server.reconfigure({
    cors: '*',
    hosts: new Map(),
    trustedProxies: [],
    tls: undefined,
    allowedHosts: undefined,
    requestLog: { sample: 0, isAll: false },
  })
  await post(path, echo)
  t.equal(lines.length, 6)
})

test('of a share, about that many are logged', async (t) => {
  const { post, lines } = await withLog(t, { sample: 1, isAll: false })
  for (let round = 0; round < 5; round++) await post(path, echo)
  t.equal(lines.length, 5)
  t.ok(lines.every(({ isSampled }) => isSampled))
  const few = await withLog(t, { sample: 1_000_000_000, isAll: false })
  for (let round = 0; round < 5; round++) await few.post(path, echo)
  t.strictSame(few.lines, [])
})
