// @shares
/**
 * Malformed and mutated requests against the real server, over real connections. It must answer each with valid
 * JSON-RPC (without one for notifications), repeat ids exactly and continue. SEED repeats a run.
 */
import fc from 'fast-check'
import { requestBody } from '../../fuzz/requestBody.js'
import { runsFactor } from '../../library/property.js'
import { test } from '../../transport/eachTransport.js'
import { RawClient, type RawResponse, rawPost } from '../../unit/serving/transport/rawClient.js'
import { goodKey, startTestServer } from '../../unit/serving/transport/testServer.js'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const path = `/v3/${goodKey}`
const bodyRuns = 3_000 * Math.max(1, runsFactor)
const headRuns = 500 * Math.max(1, runsFactor)
/** Connections that ask at the same time. */
const clients = 8

interface AnswerObject {
  jsonrpc: unknown
  id: unknown
  result?: unknown
  error?: { code: number; message: string }
}

function parseUtf8(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

/** The fault of an answer to `request`, or undefined. */
function complaint(request: Buffer, response: RawResponse | undefined): string | undefined {
  if (response === undefined) return 'the connection ended'
  if (response.status !== 200) return `status ${response.status}`
  const asked = parseUtf8(request)
  const isNotification = (value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, 'id')
  if (response.body === '') {
    const all = Array.isArray(asked) ? asked : [asked]
    return all.every(isNotification) ? undefined : 'no answer'
  }
  const answer = JSON.parse(response.body) as AnswerObject | AnswerObject[]
  if (asked === undefined) {
    return !Array.isArray(answer) && answer.error?.code === -32700 ? undefined : 'no parse error'
  }
  for (const one of Array.isArray(answer) ? answer : [answer]) {
    if (one.jsonrpc !== '2.0') return 'no jsonrpc'
    if ('result' in one === 'error' in one) return 'not one of result and error'
    if (one.error !== undefined && typeof one.error.code !== 'number') return 'no code'
    if (one.error?.code === -32603) return 'a defect'
  }
  if (Array.isArray(asked) || Array.isArray(answer)) return undefined
  const id = (asked as { id?: unknown } | null)?.id
  if (typeof id !== 'string' && typeof id !== 'number')
    return answer.id === null ? undefined : 'an id of its own'
  const written = /^\{"jsonrpc":"2\.0","id":(.*?),"(?:result|error)":/s.exec(response.body)?.[1] ?? ''
  if (JSON.parse(written) !== id) return `another id: ${written}`
  return request.includes(written) ? undefined : `the id written in another way: ${written}`
}

/** Runs `work` on every item, with a connection of its own for each of a few workers. */
async function shareOut<T>(
  port: number,
  items: readonly T[],
  work: (client: RawClient, item: T) => Promise<boolean>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    let client = await RawClient.connect(port)
    while (next < items.length) {
      const item = items[next++] as T
      if (await work(client, item)) continue
      client.socket.destroy()
      client = await RawClient.connect(port)
    }
    client.socket.destroy()
  }
  await Promise.all(Array.from({ length: clients }, worker))
}

test(`${bodyRuns} malformed bodies are answered`, async (t) => {
  const { server, port, defects } = await startTestServer(t)
  t.teardown(() => server.close())
  t.comment(`seed ${seed}; repeat with SEED=${seed}`)
  const complaints: string[] = []
  let results = 0
  await shareOut(port, fc.sample(requestBody, { seed, numRuns: bodyRuns }), async (client, request) => {
    client.write(
      Buffer.concat([Buffer.from(rawPost(path, '', { 'content-length': String(request.length) })), request]),
    )
    const response = await client.read()
    const why = complaint(request, response)
    if (why !== undefined) complaints.push(`${why}: ${request.toString('latin1')} → ${response?.body}`)
    if (response?.body.includes('"result"')) results++
    return response !== undefined
  })
  t.same(complaints.slice(0, 5), [])
  t.same(defects, [])
  t.ok(results > bodyRuns / 40, `${results} had a result`)
})

const headMutation = fc.record({
  at: fc.nat(),
  cut: fc.nat(8),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc
      .constantFrom(
        '\r\n',
        '\n',
        ':',
        ' ',
        '\r\nTransfer-Encoding: chunked',
        '\r\nContent-Length: 3',
        '/',
        '%00',
        '\u0000',
      )
      .map((text) => Buffer.from(text)),
  ),
})

test(`${headRuns} malformed heads harm nobody`, async (t) => {
  const { server, port, defects, post } = await startTestServer(t, { bodyMsMax: 200 })
  t.teardown(() => server.close())
  const request = rawPost(path, '{"jsonrpc":"2.0","id":1,"method":"test_echo"}')
  const headLength = request.indexOf('\r\n\r\n')
  t.comment(`seed ${seed}; repeat with SEED=${seed}`)
  const statuses = new Set<number>()
  const heads = fc.sample(headMutation, { seed, numRuns: headRuns })
  await shareOut(port, heads, async (client, { at, cut, bytes }) => {
    const i = at % headLength
    client.write(
      Buffer.concat([Buffer.from(request.slice(0, i)), bytes, Buffer.from(request.slice(i + cut))]),
    )
    // Half a request may make the server wait for more. Our side of the connection ends, so the rest never comes.
    client.socket.end()
    const response = await client.read()
    if (response !== undefined) statuses.add(response.status)
    return false
  })
  t.same(defects, [])
  for (const status of statuses)
    t.ok([200, 400, 401, 404, 405, 408, 413, 415, 505].includes(status), String(status))
  t.equal((await post(path, '{"jsonrpc":"2.0","id":1,"method":"test_echo"}')).status, 200)
})
