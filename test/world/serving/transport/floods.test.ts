// @alone it measures its process, or closes what others share
/** Clients that send much at once, or never end a request: their limits in memory and in time of a turn of the loop. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { busyMax } from '../../../../src/serving/transport/floodPenalties.js'
import { requestsOfKeyMax } from '../../../../src/serving/transport/requestsPerTurn.js'
import { localTotals } from '../../../../src/serving/transport/totals.js'
import { messageBytesDefault, socketsPerKeyFor } from '../../../../src/serving/transport/wire.js'
import { once, until } from '../../../library/until.js'
import { test, transportOf } from '../../../transport/eachTransport.js'
import { frame, rawWebSocket } from '../../../transport/socketClient.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { path, withSocketServer } from '../../../unit/serving/transport/socketServer.js'
import {
  accepted,
  call,
  echo,
  echoed,
  goodKey,
  otherKey,
  withServer,
} from '../../../unit/serving/transport/testServer.js'

const MiB = 2 ** 20

const otherPath = `/ws/v3/${otherKey}`

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes in use after a garbage collection. */
function heldBytes(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** The close code of a connection's first close frame among these bytes; undefined if there is none. */
function closeCode(bytes: Buffer): number | undefined {
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = (bytes[at + 1] as number) & 0x7f
    if (bytes[at] === 0x88) return bytes.readUInt16BE(at + 2)
    at += length < 126 ? 2 + length : 4 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

/** A body in chunks of this number of bytes. */
function inChunks(body: string, bytes: number): string {
  const chunks: string[] = []
  for (let at = 0; at < body.length; at += bytes) {
    const chunk = body.slice(at, at + bytes)
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  }
  return chunks.join('')
}

const chunkedHead = `POST /v3/${goodKey} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`

test('a body in thousands of chunks takes the memory of its bytes', async (t) => {
  const { port } = await withServer(t, { bufferedBytesMax: 4 * MiB })
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  const body = echo.padEnd(2 * MiB)
  const before = heldBytes()
  const chunks = inChunks(body, 100)
  await new Promise((resolve) => client.socket.write(chunkedHead + chunks, resolve))
  const taken = heldBytes() - before - chunks.length
  t.ok(taken < 32 * MiB, `${taken} bytes`)
  client.write('0\r\n\r\n')
  t.equal((await client.read())?.body, echoed)
})

test('unfinished bodies of a key leave room for those of others', async (t) => {
  const bodyBytesMax = MiB
  const { port } = await withServer(t, { bodyBytesMax, bufferedBytesMax: 16 * MiB })
  const begin = async (key: string) => {
    const client = await RawClient.connect(port)
    t.teardown(() => client.socket.destroy())
    const request = rawPost(`/v3/${key}`, echo.padEnd(bodyBytesMax))
    client.write(request.slice(0, -1))
    return client
  }
  const greedy = await Promise.all(Array.from({ length: 20 }, () => begin(goodKey)))
  let refused = 0
  for (const client of greedy) {
    void client.read().then(
      (answer) => {
        if (answer?.status === 503) refused++
      },
      () => undefined,
    )
  }
  await until(() => refused >= 16)
  const modest = await Promise.all(Array.from({ length: 4 }, () => begin(otherKey)))
  for (const client of modest) {
    client.write(' ')
    t.equal((await client.read())?.body, echoed)
  }
})

test('a body in pieces of a byte ends its connection before it takes long', async (t) => {
  // The clock stands still: the key is refused for a second, and the next three lines may take longer.
  const { port, post } = await withServer(t, {}, { clockMs: () => 0 })
  const client = await RawClient.connect(port)
  client.write(chunkedHead + inChunks(echo.padEnd(100_000), 1))
  t.equal(await client.read(), undefined)
  t.equal(await (await post(`/v3/${otherKey}`, echo)).text(), echoed)
  const refused = await post(`/v3/${goodKey}`, echo)
  t.equal(refused.status, 429, 'whoever floods is held off')
  t.equal(refused.headers.get('retry-after'), '1')
})

test('a key that repeats refused requests at once is held off', async (t) => {
  const clock = { ms: 0 }
  const { network, post } = await withServer(t, {}, { clockMs: () => clock.ms })
  const busy = call('test_busy')
  const statuses = async (count: number, key = goodKey) => {
    const counts = new Map<number, number>()
    for (let sent = 0; sent < count; sent++) {
      const { status } = await post(`/v3/${key}`, busy)
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }
    return [...counts]
  }
  t.strictSame(await statuses(busyMax - 1), [[503, busyMax - 1]])
  clock.ms = 999
  t.strictSame(await statuses(1), [[503, 1]], 'as many as may')
  const before = network.runs
  t.equal((await post(`/v3/${goodKey}`, call('test_count'))).status, 200, 'what is served does not count')
  t.equal(network.runs, before + 1)
  t.strictSame(await statuses(1), [[503, 1]], 'one too many')
  const refused = await post(`/v3/${goodKey}`, call('test_count'))
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(await refused.json(), { error: { code: -32005, message: /answered 503 within a second/ } })
  t.equal(network.runs, before + 1, 'nothing runs')
  t.strictSame(await statuses(1, otherKey), [[503, 1]], 'others are not held off')
  t.equal(await (await post(`/v3/${otherKey}`, echo)).text(), echoed)
})

test('a key that waits for Retry-After is never held off', async (t) => {
  const clock = { ms: 0 }
  const { post } = await withServer(t, {}, { clockMs: () => clock.ms })
  for (let round = 0; round < 4; round++) {
    for (let sent = 0; sent < busyMax; sent++) {
      const { status, headers } = await post(`/v3/${goodKey}`, call('test_busy'))
      if (status !== 503 || Number(headers.get('retry-after')) < 1) t.fail(`${status} in round ${round}`)
      // A burst takes a while to arrive.
      if (sent % 2 === 0 && sent < 400) clock.ms++
    }
    clock.ms += 1_000
  }
  t.equal(await (await post(`/v3/${goodKey}`, echo)).text(), echoed)
})

test('a key that sends thousands of requests at once leaves turns to others', async (t, { name }) => {
  const count = call('test_count')
  const { port, network, post } = await withServer(t, {}, { authorize: (key) => accepted(String(key)) })
  const requests = 5_000
  const flood = async () => {
    const client = await RawClient.connect(port)
    const begun = network.runs
    let most = 0
    let last = begun
    let isOver = false
    const look = () => {
      most = Math.max(most, network.runs - last)
      last = network.runs
      if (!isOver) setImmediate(look)
    }
    look()
    client.write(rawPost('/v3/greedy', count).repeat(requests))
    let answered = 0
    while (answered < requests && (await client.read()) !== undefined) answered++
    isOver = true
    client.socket.destroy()
    return { answered, most }
  }
  const alone = await flood()
  // uWebSockets.js may cut a client off whose packets end within a request.
  if (name === 'node') t.equal(alone.answered, requests, 'alone it may')
  t.equal((await post('/v3/modest', echo)).status, 200)
  const { most } = await flood()
  // Requests of a turn that are only counted in total, and one for each of two connections.
  t.ok(most <= requestsOfKeyMax + 63 + 2, `${most} in a turn`)
  t.equal((await post('/v3/modest', echo)).status, 200)
})

/** Short, so that more than may be answered in a turn arrive in one packet. */
const withoutKey = [
  'GET /health',
  'HEAD /health',
  'OPTIONS /',
  'GET /other',
  'PUT /health',
  'GET /',
  'GET /health/',
]

for (const line of withoutKey) {
  test(`requests that need no key have a share of a turn: ${line}`, async (t) => {
    const { port, post } = await withServer(t)
    const read = { head: line.startsWith('HEAD') }
    const request = `${line} HTTP/1.1\r\nhost:a\r\n\r\n`
    const flood = 1_900
    const client = await RawClient.connect(port)
    t.teardown(() => client.socket.destroy())
    const other = async () => t.equal(await (await post(`/v3/${goodKey}`, echo)).text(), echoed)
    await other()
    client.write(request.repeat(flood))
    let answered = 0
    while (answered < flood && (await client.read(read)) !== undefined) answered++
    // node:http is given one request of a connection a turn, so that others have their turns meanwhile.
    if (transportOf(t).name === 'node') t.equal(answered, flood)
    else t.ok(answered < flood, `${answered} answers, and then the end of the connection`)
    await other()
    client.socket.destroy()
    const again = await RawClient.connect(port)
    t.teardown(() => again.socket.destroy())
    again.write(request)
    t.ok((await again.read(read)) !== undefined, 'one of them is answered as ever')
  })
}

test('a socket with thousands of messages takes its part of each turn', async (t) => {
  const { connect, network, port } = await withSocketServer(t)
  const other = await connect()
  const message = frame(1, Buffer.from('{"jsonrpc":"2.0","method":"test_count"}'))
  const asked = 15_000
  let most = 0
  let last = network.runs
  let isOver = false
  const watch = () => {
    most = Math.max(most, network.runs - last)
    last = network.runs
    if (!isOver) setImmediate(watch)
  }
  const raw = await rawWebSocket(port, path)
  t.teardown(() => raw.destroy())
  setImmediate(watch)
  raw.write(Buffer.concat(Array(asked).fill(message)))
  await until(() => network.runs > 0)
  t.equal(await other.ask(echo), echoed)
  t.ok(network.runs < asked / 2, `${network.runs} ran before another was answered`)
  await until(() => network.runs >= asked)
  isOver = true
  // The part that is handled as it comes in, and one that waited, and the other socket's.
  t.ok(most <= 2 * 32 + 1, `${most} in one turn`)
})

test('messages that cannot wait end their connection, or are left unread', async (t, { name }) => {
  const { network, port, connect } = await withSocketServer(t, { messageBytesMax: 64 * 1024 })
  const raw = await rawWebSocket(port, path)
  t.teardown(() => raw.destroy())
  // uWebSockets.js ends the connection before most of them are there.
  const asked = name === 'node' ? 10_000 : 60_000
  const got: Buffer[] = []
  raw.on('data', (data) => got.push(data))
  raw.write(
    Buffer.concat(Array(asked).fill(frame(1, Buffer.from('{"jsonrpc":"2.0","method":"test_count"}')))),
  )
  if (name === 'node') {
    await until(() => network.runs >= asked)
    t.strictSame(got, [])
  } else {
    await once(raw, 'close')
    t.equal(closeCode(Buffer.concat(got)), 1013)
    t.ok(network.runs < asked)
  }
  t.equal(await (await connect(otherPath)).ask(echo), echoed)
})

test('pings of a client that reads no pongs are bounded', async (t) => {
  const { port, connect } = await withSocketServer(t)
  const raw = await rawWebSocket(port, path)
  raw.pause()
  const before = heldBytes()
  const pings = Buffer.concat(Array(4_000).fill(frame(9, Buffer.alloc(125))))
  let isClosed = false
  raw.on('close', () => {
    isClosed = true
  })
  // The system's buffers take some MB of pongs before the program has unsent ones.
  for (let sent = 0; sent < 400 && !isClosed; sent++) {
    await new Promise((resolve) => raw.write(pings, resolve))
    await new Promise(setImmediate)
  }
  if (!isClosed) await once(raw, 'close')
  const taken = heldBytes() - before
  t.ok(taken < 32 * MiB, `${taken} bytes`)
  t.equal(await (await connect(otherPath)).ask(echo), echoed)
})

test('pings by the thousand end their connection, though the pongs are read', async (t) => {
  const { port, connect, refused } = await withSocketServer(t)
  const raw = await rawWebSocket(port, path)
  let pongs = 0
  raw.on('data', (data: Buffer) => {
    pongs += data.length / 2
  })
  // The end may be a reset, which is an error before it is an end.
  const closed = new Promise((resolve) => raw.once('close', resolve))
  raw.write(Buffer.concat(Array(100_000).fill(frame(9, Buffer.alloc(0)))))
  await closed
  t.ok(pongs < 10_000, `${pongs} pongs`)
  t.equal(await (await connect(otherPath)).ask(echo), echoed)
  t.equal((await refused(path)).status, 429, 'whoever floods is held off')
})

test('WebSockets by the hundred that end unused have their key held off', async (t) => {
  const { connect, port } = await withSocketServer(t)
  const refusals: string[] = []
  while (refusals.length === 0) {
    const tries = Array.from({ length: 600 }, () => rawWebSocket(port, path))
    for (const opened of await Promise.allSettled(tries)) {
      if (opened.status === 'fulfilled') opened.value.destroy()
      else refusals.push((opened.reason as Error).message)
    }
  }
  // A connection that ends before its refusal is read reports a reset instead.
  t.ok(
    refusals.some((message) => message.startsWith('HTTP/1.1 429')),
    `${refusals[0]}`,
  )
  t.equal(await (await connect(otherPath)).ask(echo), echoed)
})

test('long bodies that come at the same time are taken in in turns', async (t) => {
  const totals = localTotals()
  const { port, post } = await withServer(t, {}, { totals })
  const clients = await Promise.all(Array.from({ length: 40 }, () => RawClient.connect(port)))
  const body = echo.padEnd(2 * MiB)
  let most = 0
  let last = 0
  let isOver = false
  const look = () => {
    most = Math.max(most, totals.bodyBytes.value - last)
    last = totals.bodyBytes.value
    if (!isOver) setImmediate(look)
  }
  look()
  for (const client of clients) client.write(rawPost(`/v3/${goodKey}`, body))
  t.equal(await (await post(`/v3/${otherKey}`, echo)).text(), echoed)
  for (const client of clients) t.equal((await client.read())?.body, echoed)
  isOver = true
  for (const { socket } of clients) socket.destroy()
  // Memory for a body grows to twice the received bytes.
  t.ok(most > 0 && most < 8 * MiB, `${most} bytes in a turn`)
})

test('unfinished messages of all sockets share one bound where they can be counted', async (t, transport) => {
  const bufferedBytesMax = 8 * MiB
  const { port, connect } = await withSocketServer(t, { bufferedBytesMax })
  if (!transport.reportsUnfinished) {
    const bytes = messageBytesDefault(transport)
    t.ok(bytes * socketsPerKeyFor(transport, bytes) <= 2 ** 30, 'else the product of both is bounded')
    t.ok(bytes * 64 * socketsPerKeyFor(transport, bytes * 64) <= 2 ** 30)
    t.equal(socketsPerKeyFor(transport, 2 ** 40), 1)
    t.ok(bytes >= 4 * MiB && socketsPerKeyFor(transport, bytes) >= 256)
    return
  }
  const modest = await connect()
  modest.socket.send(echo.slice(0, 9), { fin: false })
  const greedy = await Promise.all(Array.from({ length: 6 }, () => rawWebSocket(port, path)))
  const reported = greedy.map((raw) => {
    const got: Buffer[] = []
    raw.on('data', (data) => got.push(data))
    raw.write(frame(1, Buffer.alloc(4 * MiB), { length: 16 * MiB }))
    return got
  })
  await until(() => greedy.filter(({ destroyed }) => !destroyed).length <= 2)
  t.ok(reported.some((got) => closeCode(Buffer.concat(got)) === 1013))
  modest.socket.send(echo.slice(9), { fin: true })
  t.equal(await modest.next(), echoed, 'one that holds little goes on')
  for (const raw of greedy) raw.destroy()
  t.equal(await (await connect()).ask(call('test_echo', '["x"]')), echoed)
})
