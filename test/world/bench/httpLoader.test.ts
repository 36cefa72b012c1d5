import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import t from 'tap'
import { askAtRate, saturate, targetOf, warmUp, withConnections } from '../../../bench/load/httpLoader.js'

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/path?x=1`
}

/** A server that answers each body with an answer made from it. */
function answering(answer: (body: string) => string, isChunked = false): Promise<string> {
  return listen(
    createServer((request, response) => {
      let body = ''
      request.setEncoding('latin1').on('data', (text) => {
        body += text
      })
      request.on('end', () => {
        const text = answer(`${request.url} ${body}`)
        if (!isChunked) response.setHeader('content-length', text.length)
        response.write(text.slice(0, 10))
        setImmediate(() => response.end(text.slice(10)))
      })
    }),
  )
}

for (const isChunked of [false, true]) {
  t.test(
    `each answer is counted once, ${isChunked ? 'chunked' : 'with a length'}, short and long`,
    async (t) => {
      const asked: string[] = []
      const url = await answering((body) => {
        asked.push(body)
        return 'x'.repeat(asked.length % 3 === 0 ? 300_000 : 20)
      }, isChunked)
      let n = 0
      const result = await withConnections(targetOf(url), 4, (open) =>
        saturate(open, 0.3, () => `body ${n++}`),
      )
      t.ok(result.answers > 0)
      t.equal(result.answers, asked.length)
      t.same(new Set(asked), new Set(Array.from({ length: n }, (_, at) => `/some/path?x=1 body ${at}`)))
    },
  )
}

t.test('a stall counts for every question that was due in it', async (t) => {
  const stallMs = 400
  let answered = 0
  const url = await answering(() => {
    answered++
    if (answered === 50) {
      const end = performance.now() + stallMs
      while (performance.now() < end);
    }
    return 'answer'
  })
  const { latencies, lateness } = await withConnections(targetOf(url), 2, (open) =>
    askAtRate(open, 200, 1, () => 'body'),
  )
  t.equal(latencies.length, 200)
  t.ok(
    latencies.length === lateness.length && Math.max(...lateness) > stallMs / 4,
    'what could not be sent in the stall was sent late',
  )
  // 200 a second for 0.4 s: 80 were due meanwhile, and waited a quarter of the stall or more but for the last 20.
  t.ok(
    latencies.filter((latency) => latency > stallMs / 4).length >= 50,
    'not one slow answer but all of them',
  )
})

t.test('an error status, a broken answer and a closed connection end the run with a reason', async (t) => {
  const refusing = await listen(
    createServer((_request, response) => {
      response.statusCode = 503
      response.end()
    }),
  )
  const run = (url: string) => withConnections(targetOf(url), 1, (open) => saturate(open, 5, () => 'body'))
  await t.rejects(run(refusing), { message: 'answered HTTP/1.1 503 Service Unavailable' })
  const closing = createTcpServer((socket) => socket.once('data', () => socket.end()))
  await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
  t.teardown(() => closing.close())
  const port = (closing.address() as AddressInfo).port
  await t.rejects(run(`http://127.0.0.1:${port}`), { message: 'the server closed a connection' })
  await t.rejects(run('http://127.0.0.1:1'), { code: 'ECONNREFUSED' })
  t.throws(() => targetOf('ftp://x'), { message: /expected an http URL/ })
})

for (const when of ['after its answer', 'as its next request arrives'] as const) {
  t.test(`a connection that the server ends ${when} is opened again`, async (t) => {
    let connections = 0
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
    const ended = createTcpServer((socket) => {
      connections++
      socket.once('data', () => {
        socket.write(answer)
        if (when === 'after its answer') socket.end()
        else socket.once('data', () => socket.destroy())
      })
    })
    await new Promise<void>((resolve) => ended.listen(0, '127.0.0.1', resolve))
    t.teardown(() => ended.close())
    const url = `http://127.0.0.1:${(ended.address() as AddressInfo).port}/`
    const answers = await withConnections(targetOf(url), 1, async ([connection]) => {
      for (let count = 0; count < 3; count++) {
        await new Promise<void>((resolve) => connection?.ask('{}', resolve))
      }
      return 3
    })
    t.equal(answers, 3)
    t.equal(connections, 3)
  })
}

t.test('a warm-up lasts as long as the page faults of an answer fall', async (t) => {
  const url = await answering(() => '{"result":"0x1"}')
  for (const falling of [true, false]) {
    let answers = 0
    let faults = 0
    let readings = 0
    const next = () => {
      answers++
      return '{}'
    }
    // The function is called before and after each piece. Faults of an answer halve from piece to piece, or stay equal.
    const pageFaults = () => {
      const perAnswer = falling ? 4 / 2 ** Math.floor(readings / 2) : 1
      if (readings++ % 2 === 1) faults += answers * perAnswer
      answers = 0
      return faults
    }
    await withConnections(targetOf(url), 2, (open) => warmUp(open, 30, next, pageFaults))
    const pieces = readings / 2
    if (falling) t.ok(pieces > 7, `${pieces} pieces, until faults no longer matter`)
    else t.ok(pieces < 30, `${pieces} pieces, not to the end where nothing falls`)
  }
})
