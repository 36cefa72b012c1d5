// @shares
/** JSON Web Tokens over HTTP, while many wrong ones arrive. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import t from 'tap'
import { NodeStore } from '../../../src/data/store/node/nodeStore.js'
import { addToken, createKey } from '../../../src/serving/access/keyChanges.js'
import { Pepper } from '../../../src/serving/access/pepper.js'
import { verifierOfSecret } from '../../../src/serving/access/tokens.js'
import { once } from '../../library/until.js'
import { copyDemo } from '../../service/servedDemo.js'
import { startService } from '../../service/service.js'

/** Number of wrong tokens that a server answers faster than it regains room for them. */
const floodTokens = 2_000
const burst = 50
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'

t.test('wrong tokens of a key hold off new ones of that key from their address, and no others', async (t) => {
  const { dataDir, config } = copyDemo(t, { trustedProxies: ['127.0.0.1'] })
  const store = NodeStore.open({ path: join(dataDir, 'node/node.mdb') })
  const pepper = Pepper.open(store, join(dataDir, 'node/pepper'))
  const secret = randomBytes(32)
  const ids = ['shop', 'other'].map((name) => {
    const { key } = createKey(store, pepper, { name }, 'test')
    addToken(store, name, verifierOfSecret(secret, pepper), 'test')
    return key.id
  }) as [string, string]
  await store.close()
  const exp = Math.floor(Date.now() / 1_000) + 3_000
  const sign = (kid: string, claims = {}, by: Uint8Array = secret) =>
    new SignJWT({ exp, ...claims }).setProtectedHeader({ alg: 'HS256', kid }).sign(by)
  const service = await startService(['--config', config])
  t.teardown(() => service.stop())
  const port = Number(new URL(service.origin).port)
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  t.teardown(() => socket.destroy())
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  /** The answers to requests with these tokens, sent in bursts that fit into a segment. */
  const send = async (tokens: readonly string[], from = '198.51.100.1'): Promise<string[]> => {
    const answers: string[] = []
    for (let at = 0; at < tokens.length; at += burst) {
      received = ''
      const asked = tokens.slice(at, at + burst).map((token) => {
        const head = `POST /v3 HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${from}`
        return `${head}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      })
      socket.write(asked.join(''))
      const bodies = () => received.split('"jsonrpc"').length - 1
      while (bodies() < asked.length) await once(socket, 'data')
      answers.push(...received.split(/(?=HTTP\/1\.1 )/))
    }
    return answers
  }
  const forged = await sign(ids[0], {}, randomBytes(32))
  const unknownKeys = await Promise.all(
    Array.from({ length: floodTokens }, (_, at) => sign(at.toString(16).padStart(12, '0'))),
  )
  const unknown = await send([...unknownKeys, await sign(ids[0], { first: true })])
  t.equal(unknown.filter((answer) => answer.startsWith('HTTP/1.1 401')).length, floodTokens)
  t.match(unknown.at(-1), /^HTTP\/1\.1 200 /, 'ids of no key do not count')

  const answers = await send(Array<string>(floodTokens).fill(forged))
  t.match(answers[0], /^HTTP\/1\.1 401 /)
  const heldOff = answers.find((answer) => !answer.startsWith('HTTP/1.1 401'))
  t.match(heldOff, /^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n.*too many wrong tokens of this API key/is)
  const [ofOther] = await send([await sign(ids[1])])
  t.match(ofOther, /^HTTP\/1\.1 200 /, 'a token of another key')

  const served = new Map<string | undefined, number>()
  for (let client = 1; client <= 100; client++) {
    await send(Array<string>(burst).fill(forged))
    const [answer] = await send([await sign(ids[0], { client })], `203.0.113.${client}`)
    const status = answer?.split(' ', 2)[1]
    served.set(status, (served.get(status) ?? 0) + 1)
  }
  t.strictSame([...served], [['200', 100]], 'new tokens of that key from other addresses')
})
