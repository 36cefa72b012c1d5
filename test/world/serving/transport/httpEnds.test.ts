// @shares
/** The end of answers and connections over HTTP: long answers, slow readers, clients that leave, the server's end. */

import type { Test } from 'tap'
import { takeBuffer } from '../../../../src/primitives/bufferPool.js'
import { until, waitFor } from '../../../library/until.js'
import { test } from '../../../transport/eachTransport.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import {
  call,
  echo,
  echoed,
  goodKey,
  startTestServer,
  withServer,
} from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`

test('a busy connection gets all of many long answers, one after another', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  for (let i = 0; i < 20; i++) {
    client.write(rawPost(path, call('test_bytes', '["0x40000"]')))
    t.equal((await client.read())?.body.length, '{"jsonrpc":"2.0","id":1,"result":""}'.length + 0x40000)
  }
})

test('a client that leaves while a job runs harms nothing', async (t) => {
  const { port, post, network } = await withServer(t)
  const client = await RawClient.connect(port)
  client.write(rawPost(path, call('test_job')))
  await until(() => network.jobs.length > 0)
  client.socket.destroy()
  await client.closed()
  // An answer to another request shows that the server has seen the first one's end.
  await post(path, echo)
  network.jobs.pop()?.resolve('"done"')
  t.equal((await post(path, echo)).status, 200)
  const later = post(path, call('test_job'))
  await until(() => network.jobs.length > 0)
  network.jobs.pop()?.resolve('"done later"')
  t.match(await (await later).text(), '"done later"')
})

test('an answer that comes later is complete', async (t) => {
  const { post, network } = await withServer(t)
  const asked = post(path, call('test_job'))
  await until(() => network.jobs.length > 0)
  network.jobs.pop()?.resolve(Buffer.from(JSON.stringify('x'.repeat(2_000_000))))
  const response = await asked
  t.equal(response.headers.get('content-type'), 'application/json')
  t.equal(JSON.parse(await response.text()).result.length, 2_000_000)
})

test('a slow reader gets all of a long answer', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.socket.pause()
  client.write(rawPost(path, call('test_bytes', '["0x200000"]')))
  const other = await RawClient.connect(port)
  t.teardown(() => other.socket.destroy())
  other.write(rawPost(path, call('test_bytes', '["0x10000"]')))
  t.equal(JSON.parse((await other.read())?.body ?? '').result, 'é'.repeat(0x10000))
  client.socket.resume()
  t.equal(JSON.parse((await client.read())?.body ?? '').result, 'é'.repeat(0x200000))
})

test('a slow reader gets all of a batch whose answers are long and short', async (t) => {
  const { port } = await withServer(t)
  const lengths = [3, 0x8000, 1, 2, 0x9000, 0x4000, 0x100000, 0x20000, 5]
  const batch = lengths.map((length) => call('test_bytes', `["0x${length.toString(16)}"]`))
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.socket.pause()
  client.write(rawPost(path, `[${batch.join()}]`))
  const other = await RawClient.connect(port)
  t.teardown(() => other.socket.destroy())
  other.write(rawPost(path, echo))
  await other.read()
  client.socket.resume()
  const answers = JSON.parse((await client.read())?.body ?? '') as { result: string }[]
  t.same(
    answers.map(({ result }) => result.length),
    lengths,
  )
})

test('memory of long answers is used again only once they are sent, or their clients are gone', async (t, {
  name,
}) => {
  const { port, network } = await withServer(t)
  const length = 1_000_000
  /** More than the operating system takes for a client that reads nothing, so that later bytes wait here. */
  const first = Buffer.from(JSON.stringify('-'.repeat(8_000_000)))
  const lentAnswers = 4
  const used = new Set<ArrayBufferLike>()
  const open: { readonly client: RawClient; readonly letter: string }[] = []
  /** Begins a batch whose answers repeat one letter, in memory that is reused. The client reads nothing yet. */
  const begin = async (letter: string) => {
    const client = await RawClient.connect(port)
    t.teardown(() => client.socket.destroy())
    client.socket.pause()
    // Each call is different, because the answer of a repeated call is cached in a copy.
    const batch = Array.from({ length: 1 + lentAnswers }, (_, at) =>
      call('test_job', `["0x${letter.charCodeAt(0).toString(16)}${at}"]`),
    )
    client.write(rawPost(path, `[${batch.join()}]`))
    await until(() => network.jobs.length > 0)
    network.jobs.shift()?.resolve(first)
    for (let given = 0; given < lentAnswers; given++) {
      await until(() => network.jobs.length > 0)
      const result = takeBuffer(length)
      used.add(result.buffer)
      result.fill(letter.charCodeAt(0))
      result[0] = result[length - 1] = '"'.charCodeAt(0)
      network.jobs.shift()?.resolve(result)
    }
    open.push({ client, letter })
  }
  for (const letter of 'abc') await begin(letter)
  for (const { client } of open.splice(0, 1)) {
    client.socket.destroy()
    await client.closed()
  }
  for (const letter of 'de') await begin(letter)
  for (const { client, letter } of open) {
    client.socket.resume()
    const answers: { result: string }[] = JSON.parse((await client.read())?.body ?? '')
    const right = answers.filter(({ result }) => result === letter.repeat(length - 2))
    t.equal(right.length, lentAnswers, letter)
  }
  const again = takeBuffer(length)
  t.equal(used.has(again.buffer), name === 'uws', 'the other transport leaves it to the garbage collector')
})

test('a client that asks on and reads nothing loses its connection, or is read from no more', async (t, {
  name,
}) => {
  const { port, post, network } = await withServer(t)
  if (name === 'node') return isReadFromNoMore(t)
  const client = await RawClient.connect(port)
  client.socket.pause()
  const asked = 2000
  client.write(rawPost(path, call('test_bytes', '["0x8000"]')).repeat(asked))
  // The server reads requests in the order of their connections' arrival, so a later answer means it saw the first.
  t.equal((await post(path, echo)).status, 200)
  client.socket.resume()
  let answers = 0
  while ((await client.read()) !== undefined) answers++
  t.ok(answers < asked, `${answers} of ${asked} answers`)
  t.equal(network.runs, 3, 'the long one twice, then it is remembered')
})

/** Answers are made as the client takes them, and all come. */
async function isReadFromNoMore(t: Test): Promise<void> {
  const { port, post, network } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.socket.pause()
  const asked = 300
  const batch = `[${call('test_count')},${call('test_bytes', '["0x8000"]')}]`
  const bytes = 2 * 0x8000
  client.write(rawPost(path, batch).repeat(asked))
  // Until no further call begins: a turn of the loop takes all available ones.
  for (let turns = 0, runs = -1; turns < 20; turns++) {
    if (runs !== network.runs) turns = 0
    runs = network.runs
    t.equal((await post(path, echo)).status, 200)
  }
  const inSystem = client.socket.bytesRead + 8 * 2 ** 20
  t.ok(network.runs < 40 + inSystem / bytes, `${network.runs} of ${asked} were begun`)
  client.socket.resume()
  for (let answers = 0; answers < asked; answers++) t.equal((await client.read())?.status, 200)
}

test('an idle connection stays open for as long as its last answer announced', async (t, { name }) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.write(rawPost(path, echo))
  const [, announced] = /^timeout=(\d+)$/.exec((await client.read())?.headers.get('keep-alive') ?? '') ?? []
  const beganMs = performance.now()
  if (name === 'node') return t.ok(Number(announced) > 600, 'longer than any front keeps one')
  await client.closed()
  const heldMs = performance.now() - beganMs
  t.ok(Number(announced) > 5 && heldMs > Number(announced) * 1_000, `${heldMs} ms, announced ${announced} s`)
})

test('closing lets answers under way finish and takes nothing new', async (t) => {
  const { port, server, network, post } = await startTestServer(t)
  const idle = await RawClient.connect(port)
  const asked = post(path, call('test_job'))
  await until(() => network.jobs.length > 0)
  const closed = server.close()
  await waitFor('the listening socket to close', async () => {
    const client = await RawClient.connect(port).catch(() => undefined)
    client?.socket.destroy()
    return client === undefined
  })
  network.jobs.pop()?.resolve('"done"')
  t.match(await (await asked).text(), '"done"')
  await closed
  await idle.closed()
  await server.close()
})

test('closing answers what has arrived, and says that the connection ends', async (t) => {
  const { port, server } = await startTestServer(t)
  const clients = await Promise.all(Array.from({ length: 10 }, () => RawClient.connect(port)))
  for (const client of clients) {
    client.write(rawPost(path, echo))
    t.not((await client.read())?.headers.get('connection'), 'close')
  }
  // The system takes these bytes before `write` returns.
  for (const client of clients) client.write(rawPost(path, echo))
  const closed = server.close()
  for (const client of clients) {
    const answer = await client.read()
    t.equal(answer?.body, echoed)
    t.equal(answer?.headers.get('connection'), 'close')
    t.equal(answer?.headers.get('keep-alive'), undefined)
    await client.closed()
  }
  await closed
})

test('a server that drains ends each connection with its next answer, and takes new ones', async (t) => {
  const { port, server } = await startTestServer(t)
  const kept = await RawClient.connect(port)
  kept.write(rawPost(path, echo))
  t.not((await kept.read())?.headers.get('connection'), 'close')
  server.drain()
  for (const client of [kept, await RawClient.connect(port)]) {
    client.write(rawPost(path, echo))
    const answer = await client.read()
    t.equal(answer?.body, echoed)
    t.equal(answer?.headers.get('connection'), 'close')
    await client.closed()
  }
  await server.close()
})

test('closing resets no connection whose client asks on', async (t) => {
  const { port, server } = await startTestServer(t)
  let answers = 0
  const ends: (string | undefined)[] = []
  const askOn = async () => {
    const client = await RawClient.connect(port)
    for (;;) {
      client.write(rawPost(path, echo))
      const answer = await client.read()
      answers++
      if (answer !== undefined && answer.headers.get('connection') !== 'close') continue
      return ends.push(answer?.headers.get('connection'))
    }
  }
  const asking = Promise.all(Array.from({ length: 20 }, askOn))
  await until(() => answers > 200)
  await server.close()
  await asking
  t.strictSame(ends, Array(20).fill('close'))
})

test('closing waits until a slow reader has the whole answer', async (t) => {
  const { port, server, network } = await startTestServer(t)
  const client = await RawClient.connect(port)
  client.socket.pause()
  client.write(rawPost(path, call('test_job')))
  await until(() => network.jobs.length > 0)
  const closed = server.close()
  network.jobs.pop()?.resolve(Buffer.from(JSON.stringify('x'.repeat(16_000_000))))
  client.socket.resume()
  const answer = await client.read()
  t.equal(JSON.parse(answer?.body ?? '{}').result?.length, 16_000_000)
  t.equal(answer?.headers.get('connection'), 'close')
  await client.closed()
  await closed
})

test('closing does not wait for ever', async (t) => {
  const { port, server, network } = await startTestServer(t, { closeMsMax: 50 })
  const client = await RawClient.connect(port)
  client.write(rawPost(path, call('test_job')))
  await until(() => network.jobs.length > 0)
  await t.resolves(server.close())
  await client.closed()
  network.jobs.pop()?.resolve('"too late"')
})

test('whoever asks for long pages and does not read them ends a connection, and nothing else', async (t) => {
  const { port, base } = await withServer(t)
  for (const method of ['GET', 'HEAD']) {
    for (const times of [1, 20]) {
      const client = await RawClient.connect(port)
      client.socket.pause()
      client.write(`${method} /long HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(times))
      t.equal((await fetch(`${base}/health`)).status, 200)
      client.socket.destroy()
    }
  }
  t.equal((await (await fetch(`${base}/long`)).text()).length, 8_000_002)
})

test('answers that nobody reads are counted, and beyond what may wait their connections end', async (t) => {
  const bufferedBytesMax = 64 * 2 ** 20
  const { port, base, network, server } = await withServer(t, { bufferedBytesMax })
  const { totals } = server
  const answerBytes = 16 * 2 ** 20
  const clients: RawClient[] = []
  for (let asked = 1; asked <= 8; asked++) {
    const client = await RawClient.connect(port)
    clients.push(client)
    client.socket.pause()
    client.write(rawPost(path, call('test_job')))
    await until(() => network.jobs.length > 0)
    network.jobs.pop()?.resolve(Buffer.from(JSON.stringify('x'.repeat(answerBytes))))
    const due = Math.min(asked * answerBytes, bufferedBytesMax)
    await until(() => totals.bodyBytes.value >= Math.min(due, bufferedBytesMax - answerBytes))
    t.ok(totals.bodyBytes.value <= bufferedBytesMax + 1_000, `${totals.bodyBytes.value} of ${asked} answers`)
  }
  t.equal((await fetch(`${base}/health`)).status, 200)
  for (const { socket } of clients) socket.destroy()
  await until(() => totals.bodyBytes.value === 0)
})
