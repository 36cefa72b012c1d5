/** Host names that requests may be sent to, over HTTP and WebSocket. */
import { test } from '../../../transport/eachTransport.js'
import { refusedUpgrade, SocketClient } from '../../../transport/socketClient.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { echo, echoed, goodKey, withServer } from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`
const pages = ['own.example', 'Own.Example:8545']
const always = [
  '127.0.0.1',
  '127.0.0.1:1',
  '[::1]',
  '[::1]:8545',
  '10.1.2.3',
  'localhost',
  'LOCALHOST:1',
  'a.localhost',
]
const others = [
  'evil.example',
  'evil.example:8545',
  'own.example.evil',
  '127.0.0.1.evil.example',
  'localhost.evil',
  '::1.evil',
]

test('listed names, addresses and localhost are answered, others are refused', async (t) => {
  const { port, rejections, server } = await withServer(t, {}, { allowedHosts: ['own.example'] })
  const statusOf = async (request: string) => {
    const client = await RawClient.connect(port)
    client.write(request)
    const answer = await client.read()
    client.socket.destroy()
    return answer
  }
  for (const host of [...pages, ...always, ...pages]) {
    t.equal((await statusOf(rawPost(path, echo, { host })))?.body, echoed, host)
    t.equal((await statusOf(`GET /health HTTP/1.1\r\nhost: ${host}\r\n\r\n`))?.status, 200, host)
    const client = await SocketClient.connect(`ws://127.0.0.1:${port}/ws${path}`, { headers: { host } })
    client.cut()
  }
  for (const host of others) {
    const answer = await statusOf(rawPost(path, echo, { host }))
    t.equal(answer?.status, 403, host)
    t.match(JSON.parse(answer?.body ?? ''), {
      error: { code: -32001, message: /^forbidden: this host name/ },
    })
    t.equal((await statusOf(`GET /health HTTP/1.1\r\nhost: ${host}\r\n\r\n`))?.status, 403, host)
    const refused = await refusedUpgrade(`ws://127.0.0.1:${port}/ws${path}`, { headers: { host } })
    t.equal(refused.status, 403, host)
  }
  t.equal(rejections.length, 3 * others.length)
  t.ok(rejections.every(({ why }) => why === 'host name'))
  const requestLog = { sample: 0, isAll: false }
  const settings = { cors: '*', hosts: new Map(), trustedProxies: [], tls: undefined, requestLog } as const
  await server.reconfigure({ ...settings, allowedHosts: ['evil.example'] })
  t.equal((await statusOf(rawPost(path, echo, { host: 'evil.example' })))?.status, 200)
  t.equal((await statusOf(rawPost(path, echo, { host: 'own.example' })))?.status, 403)
  await server.reconfigure({ ...settings, allowedHosts: undefined })
  t.equal((await statusOf(rawPost(path, echo, { host: 'any.example' })))?.status, 200)
})
