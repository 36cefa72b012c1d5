// @shares
/** HTTPS and WSS: versions, the shown certificate, and its replacement while connections are open. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import type { Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import t from 'tap'
import { makeFolder } from '../../../library/folder.js'
import { inTime, once } from '../../../library/until.js'
import { type Certificate, makeCertificate, withoutOpenssl } from '../../../service/certificates.js'
import { transports } from '../../../transport/eachTransport.js'
import { SocketClient } from '../../../transport/socketClient.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { call, echo, echoed, goodKey, withServer } from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`

interface Answer {
  readonly text: string
  /** Fingerprint of the server's certificate when the connection was made. */
  readonly fingerprint: string
  readonly socket: Socket
}

/** Posts over HTTPS, with the certificate's own file as the trusted authority. */
function post(agent: Agent, port: number, body: string, { cert }: Certificate): Promise<Answer> {
  const answered = new Promise<Answer>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const options = { host: '127.0.0.1', port, path, method: 'POST', headers, agent, ca: readFileSync(cert) }
    const sent = request(options, (response) => {
      const socket = response.socket as TLSSocket
      const fingerprint = socket.getPeerCertificate().fingerprint256 ?? ''
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ text, fingerprint, socket }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
  return inTime('an answer over HTTPS', answered)
}

for (const transport of transports) {
  t.test(transport.name, { skip: withoutOpenssl }, async (t) => {
    const folder = makeFolder(t)
    const first = makeCertificate(folder, 'first')
    const second = makeCertificate(folder, 'second')
    const settings = {
      cors: '*',
      hosts: new Map(),
      trustedProxies: [],
      allowedHosts: undefined,
      requestLog: { sample: 0, isAll: false },
    } as const
    t.context = { transport }
    const start = () => withServer(t, {}, { tls: first })
    const agentOf = () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.teardown(() => agent.destroy())
      return agent
    }

    await t.test('calls are answered over HTTPS and WSS', async (t) => {
      const { port } = await start()
      const { text, fingerprint } = await post(agentOf(), port, echo, first)
      t.equal(text, echoed)
      t.equal(fingerprint, first.fingerprint)
      const long = await post(agentOf(), port, call('test_bytes', '["0x100000"]'), first)
      t.equal(JSON.parse(long.text).result, 'é'.repeat(0x100000))
      const client = await SocketClient.connect(`wss://127.0.0.1:${port}/ws${path}`, {
        ca: readFileSync(first.cert),
      })
      t.equal(await client.ask(echo), echoed)
      client.cut()
    })

    await t.test('TLS 1.1 and HTTP without TLS end without an answer', async (t) => {
      const { port } = await start()
      const old = connect({
        host: '127.0.0.1',
        port,
        rejectUnauthorized: false,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      })
      await t.rejects(once(old, 'secureConnect'))
      const plain = await RawClient.connect(port)
      plain.write(rawPost(path, echo))
      t.equal(await plain.read(), undefined)
      t.equal((await post(agentOf(), port, echo, first)).text, echoed)
    })

    await t.test('a new certificate is shown to new connections, and open ones go on', async (t) => {
      const { port, server } = await start()
      const agent = agentOf()
      const { socket } = await post(agent, port, echo, first)
      const client = await SocketClient.connect(`wss://127.0.0.1:${port}/ws${path}`, {
        ca: readFileSync(first.cert),
      })
      await server.reconfigure({ ...settings, tls: second })
      t.equal((await post(agentOf(), port, echo, second)).fingerprint, second.fingerprint)
      const later = await post(agent, port, echo, first)
      t.equal(later.socket, socket, 'the connection is kept')
      t.equal(later.text, echoed)
      t.equal(await client.ask(echo), echoed)
      await server.reconfigure({ ...settings, tls: first })
      t.equal((await post(agentOf(), port, echo, first)).fingerprint, first.fingerprint)
      t.equal(await client.ask(echo), echoed)
      const closed = server.close()
      t.match(await client.closed, { code: 1001 })
      await closed
      await t.rejects(RawClient.connect(port))
    })

    await t.test('a server that ends while it gets a new certificate listens no more', async (t) => {
      const { port, server } = await start()
      const renewed = server.reconfigure({ ...settings, tls: second })
      await Promise.all([renewed, server.close()])
      await t.rejects(RawClient.connect(port))
    })

    await t.test('of two new certificates at once one is shown, and the former is not', async (t) => {
      const { port, server } = await start()
      const third = makeCertificate(folder, 'third')
      await Promise.all([second, third].map((tls) => server.reconfigure({ ...settings, tls })))
      for (let time = 0; time < 8; time++) {
        t.equal((await post(agentOf(), port, echo, third)).fingerprint, third.fingerprint)
      }
      await server.close()
      await t.rejects(RawClient.connect(port))
    })

    await t.test('files that do not fit are refused, and the former certificate stays', async (t) => {
      const { port, server } = await start()
      const wrong = { cert: first.cert, key: second.key }
      await t.rejects(server.reconfigure({ ...settings, tls: wrong }), { name: 'OperatorError' })
      t.equal((await post(agentOf(), port, echo, first)).fingerprint, first.fingerprint)
      t.throws(() => transport.createWire({} as never, {} as never, wrong), { name: 'OperatorError' })
    })
  })
}
