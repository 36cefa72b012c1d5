// @shares
import fc from 'fast-check'
import { FaultError } from '../../../../src/primitives/faults.js'
import { propertyRuns } from '../../../library/property.js'
import { once, until, waitFor } from '../../../library/until.js'
import { test } from '../../../transport/eachTransport.js'
import { frame, rawWebSocket, type SocketClient } from '../../../transport/socketClient.js'
import { path, withSocketServer } from '../../../unit/serving/transport/socketServer.js'
import { accepted, call, echo, echoed, goodKeyId } from '../../../unit/serving/transport/testServer.js'

test('a binary message is read as text, and one that is not UTF-8 ends the connection with 1007', async (t) => {
  const { connect } = await withSocketServer(t)
  const client = await connect()
  t.equal(await client.ask(Buffer.from(echo)), echoed)
  const start = Buffer.from(echo.slice(0, 9))
  const end = Buffer.from(echo.slice(9))
  client.socket.send(start, { fin: false })
  client.socket.send(end, { fin: true })
  t.equal(await client.next(), echoed, 'in parts')
  client.send(Buffer.from(`[${echo},${echo}]`))
  t.equal(await client.next(), `[${echoed},${echoed}]`)
  client.send(Buffer.concat([Buffer.from(echo), Uint8Array.of(0xc3)]))
  t.match(await client.closed, { code: 1007, reason: 'this message is not UTF-8' })
})

test('a message over the limit ends the connection with 1009', async (t, { name }) => {
  const { connect, rejections } = await withSocketServer(t, { messageBytesMax: 1000 })
  const client = await connect()
  t.equal(await client.ask(echo.padEnd(1000)), echoed)
  client.send(echo.padEnd(1001))
  t.match(await client.closed, { code: 1009, reason: 'message too big (1001>1000)' })
  const inParts = await connect()
  inParts.socket.send('x'.repeat(600), { fin: false })
  inParts.socket.send('x'.repeat(600), { fin: true })
  t.match(await inParts.closed, { code: 1009 })
  const endless = await connect()
  endless.send('x'.repeat(40_000))
  t.match(
    await endless.closed,
    name === 'uws' ? { code: 1006 } : { code: 1009, reason: 'message too big (>1000)' },
    'far beyond the limit it is not even read',
  )
  if (name === 'uws')
    t.match(rejections, [{ status: 413, address: '127.0.0.1', why: /more than 1000 bytes/ }])
  t.equal(await (await connect()).ask(echo), echoed)
})

test('the largest message is answered', async (t) => {
  const { connect } = await withSocketServer(t)
  const client = await connect()
  const long = 'é'.repeat(2 * 2 ** 20 - 100)
  const calls = Array.from({ length: 8 }, (_, id) => call('test_items', `[["${long}"]]`, String(id)))
  const answer = await client.ask(`[${calls.join()}]`)
  t.equal(answer, `[${calls.map((_, id) => `{"jsonrpc":"2.0","id":${id},"result":1}`).join()}]`)
})

test('a revoked key ends its open connections with 1008 within a second, and no others', async (t) => {
  let isRevoked = false
  const { connect, network } = await withSocketServer(
    t,
    {},
    {
      authorize: (key) =>
        String(key) === 'bad' && isRevoked
          ? { ok: false, reason: 'this API key has been revoked' }
          : accepted(String(key)),
    },
  )
  const clients = [await connect('/ws/v3/bad'), await connect('/other/ws/v3/bad')]
  const good = await connect('/ws/v3/good')
  clients[0]?.send(call('test_job'))
  await until(() => network.jobs.length === 1)
  isRevoked = true
  for (const { closed } of clients) {
    t.strictSame(await closed, { code: 1008, reason: 'unauthorized: this API key has been revoked' })
  }
  t.equal(await good.ask(echo), echoed)
  network.jobs.pop()?.resolve('1')
})

test('of a WebSocket that ends at a time nothing but the clock is asked until then', async (t) => {
  const untilMs = Date.now() + 3_600_000
  let dateMs = untilMs - 1
  let asked = 0
  let sweeps = 0
  const { connect } = await withSocketServer(
    t,
    {},
    {
      dateMs: () => dateMs,
      authorize: (key) => {
        asked++
        if (dateMs >= untilMs) return { ok: false, reason: 'this token has expired' }
        return { ...accepted(goodKeyId, String(key)), untilMs }
      },
      changedKeys: () => {
        sweeps++
        return []
      },
    },
  )
  const client = await connect()
  t.equal(await client.ask(echo), echoed)
  const askedBefore = asked
  const last = sweeps + 3
  await until(() => sweeps >= last)
  t.equal(asked, askedBefore)
  dateMs = untilMs
  t.strictSame(await client.closed, { code: 1008, reason: 'unauthorized: this token has expired' })
})

test('clients are pinged, and those that stay silent end with 1008', async (t) => {
  let nowMs = 0
  const { connect, port } = await withSocketServer(
    t,
    { pingMs: 60_000, idleMsMax: 150_000 },
    { clockMs: () => nowMs },
  )
  const live = await connect()
  const silent = await rawWebSocket(port, path)
  let heard = Buffer.alloc(0)
  silent.on('data', (chunk) => {
    heard = Buffer.concat([heard, chunk])
  })
  const ended = once(silent, 'end')
  for (const pings of [1, 2]) {
    nowMs = pings * 60_000
    await until(() => live.pings === pings && heard.length === 2 * pings)
    t.equal(await live.ask(echo), echoed, 'its pong came before')
  }
  t.strictSame([...heard], [0x89, 0, 0x89, 0])
  nowMs = 150_000
  await ended
  silent.destroy()
  t.equal(heard[4], 0x88)
  t.equal(heard.readUInt16BE(6), 1008)
  t.match(heard.toString('utf8', 8), /nothing heard for 150 s/)
  t.equal(await live.ask(echo), echoed, 'whoever answers pings stays')
})

test('a client that leaves in the midst of a job harms nothing', async (t) => {
  const { connect, network, defects } = await withSocketServer(t)
  const client = await connect()
  client.send(call('test_job'))
  client.send(`[${call('test_job', '["0x1"]')},${call('test_job', '["0x2"]')}]`)
  await until(() => network.jobs.length === 3)
  client.cut()
  await client.closed
  t.equal(await (await connect()).ask(echo), echoed)
  for (const job of network.jobs.splice(0)) job.resolve('"late"')
  t.equal(await (await connect()).ask(echo), echoed)
  t.strictSame(defects, [])
})

test('answers a reader is slow to take hold its further messages back', async (t) => {
  const { connect, network } = await withSocketServer(t, { callsMax: 20 })
  const client = await connect()
  client.pause()
  // Each answer has 2 MiB; the system's own buffers take a few of them.
  const asked = 60
  for (let id = 0; id < asked; id++)
    client.send(call('test_bytes', '["0x100000"]', String(id)).padEnd(200 + id))
  const other = await connect()
  t.equal(await other.ask(echo), echoed, 'another socket is served meanwhile')
  t.ok(network.runs < asked - 20, `${network.runs} calls were begun`)
  client.resume()
  const answers = []
  while (answers.length < asked) answers.push(JSON.parse((await client.next()) ?? ''))
  t.strictSame(
    answers.map(({ id }) => id).sort((a, b) => a - b),
    Array.from({ length: asked }, (_, id) => id),
  )
  const busy = answers.filter(({ error }) => error?.code === -32005)
  t.equal(answers.filter(({ result }) => result?.length === 2 ** 20).length, asked - busy.length)
  t.ok(busy.length > 0 && busy.length < asked - 20, `${busy.length} found no room to wait in`)
})

test('a reader that leaves too much unread ends with 1013', async (t) => {
  const { connect } = await withSocketServer(t, { unsentBytesMax: 1000, callsMax: 1 })
  const client = await connect()
  client.pause()
  for (let id = 0; id < 10; id++) client.send(call('test_bytes', '["0x400000"]', String(id)))
  await (await connect()).ask(echo)
  client.resume()
  t.match(await client.closed, { code: 1013, reason: /wait to be read/ })
})

test('all sockets share one bound of bytes, and whoever holds most goes', async (t) => {
  const { connect } = await withSocketServer(t, { bufferedBytesMax: 20 * 2 ** 20 })
  const modest = await connect()
  modest.pause()
  modest.send(call('test_bytes', '["0x180000"]'))
  const greedy = [await connect(), await connect(), await connect(), await connect()]
  for (const client of greedy) {
    client.pause()
    client.send(call('test_bytes', '["0xa00000"]'))
  }
  const other = await connect()
  t.equal(await other.ask(echo), echoed)
  for (const client of greedy) client.resume()
  const codes = await Promise.all(
    greedy.map(async (client) => ((await client.next()) === undefined ? (await client.closed).code : 0)),
  )
  t.ok(codes.includes(1006), `ends: ${codes}`)
  modest.resume()
  t.equal(JSON.parse((await modest.next()) ?? '').result.length, 0x180000)
})

test('whatever clients do, nothing of them stays counted when they are gone', async (t) => {
  const bytesMax = 64 * 1024
  const socketsMax = 4
  const { connect, network, defects } = await withSocketServer(t, {
    messageBytesMax: bytesMax,
    bufferedBytesMax: bytesMax,
    callsMax: 3,
    socketsMax,
  })
  const job = (id: number) => call('test_job', `["0x${id.toString(16)}"]`, String(id))
  const deeds: Record<string, (client: SocketClient, id: number) => void> = {
    job: (client, id) => client.send(job(id).padEnd(20_000)),
    batch: (client, id) => client.send(`[${job(id)},${echo},${job(id + 1)},${job(id + 2)}]`),
    hugeAnswer: (client) => client.send(call('test_bytes', '["0x200000"]')),
    answer: (client) => client.send(call('test_bytes', '["0x800"]')),
    settle: () => network.jobs.shift()?.resolve('1'),
    fail: () => network.jobs.shift()?.reject(new FaultError({ kind: 'HeaderNotFound' })),
    pause: (client) => client.pause(),
    resume: (client) => client.resume(),
    binary: (client) => client.send(Buffer.from('x')),
    notUtf8: (client) => client.send(Uint8Array.of(0xff)),
    long: (client) => client.send('x'.repeat(bytesMax + 1)),
    turn: () => {},
  }
  let id = 1
  const life = fc.record({
    done: fc.array(fc.constantFrom(...Object.keys(deeds)), { maxLength: 12 }),
    end: fc.constantFrom('cut', 'close'),
  })
  const live = async ({ done, end }: { done: readonly string[]; end: string }): Promise<void> => {
    const client = await connect()
    for (const deed of done) {
      id += 10
      deeds[deed]?.(client, id)
      await new Promise(setImmediate)
    }
    client.resume()
    if (end === 'cut') client.cut()
    else client.socket.close()
    await client.closed
  }
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: socketsMax - 1 }), async (lives) => {
      await Promise.all(lives.map(live))
      const clients: SocketClient[] = []
      // The server may see an end later than its client does.
      while (clients.length < socketsMax)
        await connect().then(
          (client) => clients.push(client),
          () => {},
        )
      const [client] = clients as [SocketClient]
      // Nor do messages of clients that left end at once: until then the server may be busy.
      await waitFor('an answer to a message that takes all there is', async () => {
        client.send(job(++id).padEnd(bytesMax))
        await until(() => {
          for (const each of network.jobs.splice(0)) each.resolve('"whole"')
          return client.received.length > 0
        })
        return (await client.next())?.includes('whole')
      })
      for (const each of clients) each.cut()
      await Promise.all(clients.map(({ closed }) => closed))
      return defects.length === 0
    }),
    propertyRuns(40),
  )
  t.pass('they are not')
})

test('garbage ends its connection alone', async (t) => {
  const { connect, port, defects } = await withSocketServer(t)
  const good = await connect()
  const frames: [string, Uint8Array][] = [
    ['invalid UTF-8', frame(1, Uint8Array.of(0xff, 0xfe))],
    ['half a character', frame(1, Uint8Array.of(0xc3))],
    ['a continuation of nothing', frame(0, Buffer.from('x'))],
    ['reserved bits', Uint8Array.of(0xf1, 0x81, 0, 0, 0, 0, 0x78)],
    ['an unknown opcode', frame(5, Buffer.from('x'))],
    ['a control frame too long', frame(9, Buffer.alloc(200))],
    ['a control frame in parts', frame(9, Buffer.alloc(2), { fin: false })],
    ['no mask', Uint8Array.of(0x81, 0x01, 0x78)],
    ['4 GiB to come', frame(1, Buffer.from('x'), { length: 2 ** 32 })],
    ['2^53 bytes to come', frame(1, Buffer.from('x'), { length: 2 ** 53 })],
    ['a close frame of one byte', frame(8, Uint8Array.of(3))],
    ['a close frame with a bad code', frame(8, Uint8Array.of(0, 1, 2, 3))],
  ]
  const harmless = async (bytes: Uint8Array): Promise<boolean> => {
    const raw = await rawWebSocket(port, path)
    raw.end(bytes)
    raw.resume()
    await once(raw, 'close')
    return (await good.ask(echo)) === echoed
  }
  for (const [what, bytes] of frames) t.ok(await harmless(bytes), what)
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), harmless),
    propertyRuns(50),
  )
  t.strictSame(defects, [])
})

test('a message byte by byte and one in many parts are read whole', async (t) => {
  const { port, connect } = await withSocketServer(t)
  const raw = await rawWebSocket(port, path)
  t.teardown(() => raw.destroy())
  for (const byte of frame(1, Buffer.from(call('test_echo', '["é"]')))) {
    await new Promise((resolve) => raw.write(Uint8Array.of(byte), resolve))
  }
  const [answer] = (await once(raw, 'data')) as [Buffer]
  t.match(answer.toString('utf8'), '"result":["é",null]')
  const client = await connect()
  const text = call('test_echo', '["x"]')
  for (let at = 0; at < text.length; at++) {
    client.socket.send(text[at] ?? '', { fin: at === text.length - 1 })
  }
  t.equal(await client.next(), echoed)
})

test('closing lets answers under way out, takes nothing new and says 1001', async (t) => {
  const { connect, network, server } = await withSocketServer(t)
  const idle = await connect()
  const waiting = await connect()
  waiting.send(call('test_job'))
  const slow = await connect()
  slow.pause()
  slow.send(call('test_bytes', '["0x400000"]'))
  await until(() => network.jobs.length === 1 && network.runs === 2)
  const closing = server.close()
  t.match(await idle.closed, { code: 1001, reason: 'the server is stopping' })
  waiting.send(call('test_count'))
  await until(() => waiting.socket.bufferedAmount === 0)
  await new Promise((resolve) => waiting.socket.ping(resolve))
  await once(waiting.socket, 'pong')
  network.jobs.pop()?.resolve('"done"')
  t.equal(await waiting.next(), '{"jsonrpc":"2.0","id":1,"result":"done"}')
  t.match(await waiting.closed, { code: 1001 })
  t.strictSame(waiting.received, [])
  slow.resume()
  t.equal(JSON.parse((await slow.next()) ?? '').result.length, 0x400000)
  t.match(await slow.closed, { code: 1001 })
  await closing
  t.equal(network.runs, 2)
})

test('a connection that is to end is cut when its client does not read what was sent before', async (t) => {
  let nowMs = 0
  let sweeps = 0
  const { connect, refused, network } = await withSocketServer(
    t,
    { endMsMax: 60_000, socketsMax: 1 },
    {
      clockMs: () => nowMs,
      changedKeys: () => {
        sweeps++
        return []
      },
    },
  )
  const client = await connect()
  client.pause()
  client.send(call('test_bytes', '["0x800000"]'))
  await until(() => network.runs === 1)
  client.send(Uint8Array.of(0xff))
  // The first sweep may have been running, and may have come before the message.
  const sweptAgain = async () => {
    const last = sweeps + 3
    await until(() => sweeps >= last)
  }
  await sweptAgain()
  nowMs += 59_999
  await sweptAgain()
  t.equal((await refused(path)).status, 503, 'its place is kept')
  let next: SocketClient | undefined
  while (next === undefined) {
    nowMs += 60_000
    await sweptAgain()
    next = await connect().catch(() => undefined)
  }
  client.resume()
  t.match(await client.closed, { code: 1006 }, 'the code that it was to end with never came')
  t.strictSame(client.received, [], 'nor the answer')
})

test('closing does not wait for ever', async (t) => {
  const { connect, network, server } = await withSocketServer(t)
  const client = await connect()
  client.send(call('test_job'))
  await until(() => network.jobs.length === 1)
  await server.close()
  t.match(await client.closed, { code: 1006 })
  network.jobs.pop()?.resolve('1')
})
