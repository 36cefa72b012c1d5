/** The pool behind the real HTTP server: clients that leave, batches, full queues. */
import { connect, type Socket } from 'node:net'
import t from 'tap'
import type { Fault } from '../../../src/primitives/faults.js'
import { once, until } from '../../library/until.js'
import type { TestJobs } from '../../pool/poolJobs.js'
import { type PoolServer, servePool } from '../../pool/poolServer.js'

function call(method: keyof TestJobs, args: unknown, id = 1): object {
  return { jsonrpc: '2.0', id, method, params: [args] }
}

async function post(
  { port }: PoolServer,
  body: object,
): Promise<{ status: number; headers: Headers; answer: unknown }> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, answer: await response.json() }
}

/** Sends a request; the caller gets the connection. */
async function send({ port }: PoolServer, body: object): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const text = JSON.stringify(body)
  socket.write(
    `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  )
  return socket
}

t.test('a client that goes away cancels its running job and those that wait', async (t) => {
  const running = await servePool(t)
  const { pool } = running
  const first = await send(running, call('spin', { ms: 60_000 }))
  await until(() => pool.counts.running === 1)
  const second = await send(running, call('spin', { ms: 60_000 }))
  await until(() => pool.counts.waiting === 1)
  second.destroy()
  await until(() => pool.counts.waiting === 0)
  t.match(pool.counts, { running: 1, cancelled: 1 })
  first.destroy()
  await until(() => pool.counts.running === 0)
  t.match(pool.counts, { cancelled: 2, threadsLost: 0 })
  t.strictSame(running.defects, [])
})

t.test('a client that goes away in the midst of a batch starts no more of it', async (t) => {
  const running = await servePool(t)
  const { pool } = running
  const calls = Array.from({ length: 500 }, (_, id) => call('spin', { ms: 60_000 }, id))
  const socket = await send(running, calls as unknown as object)
  await until(() => pool.counts.running > 0)
  socket.destroy()
  await until(() => pool.counts.running === 0 && pool.counts.waiting === 0)
  const { finished, failed } = pool.counts
  t.ok(finished + failed < 20, `${finished + failed} jobs were begun`)
})

t.test('a job does not outlive the time of its request', async (t) => {
  const running = await servePool(t, {}, 200)
  const { answer } = await post(running, call('spin', { ms: 60_000 }))
  t.match(answer, { error: { code: -32002, message: 'request timed out' } })
  await until(() => running.pool.counts.running === 0)
  t.match(running.pool.counts, { cancelled: 1, threadsLost: 0 })
})

t.test('jobs of one batch run side by side and answer in order', async (t) => {
  const running = await servePool(t, { threads: 3 })
  const calls = Array.from({ length: 24 }, (_, id) =>
    id % 6 === 0 ? call('whoAmI', null, id) : call('echo', { id }, id),
  )
  const { status, answer } = await post(running, calls)
  t.equal(status, 200)
  const answers = answer as { id: number; result: { id?: number; thread?: number } }[]
  t.strictSame(
    answers.map(({ id }) => id),
    calls.map((_, id) => id),
  )
  for (const { id, result } of answers) if (id % 6 !== 0) t.equal(result.id, id)
})

t.test('a batch spreads over threads', async (t) => {
  const running = await servePool(t, { threads: 3 })
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, running.pool.counts.running)
  }, 1)
  await post(
    running,
    Array.from({ length: 8 }, (_, id) => call('spin', { ms: 50 }, id)),
  )
  clearInterval(watch)
  t.equal(most, 2, 'all threads but the one left to other classes')
})

t.test('a full queue is 503 with a hint for one call, and an error among others in a batch', async (t) => {
  const running = await servePool(t, { threads: 1, classes: { execute: { waitingMax: 1 } } })
  const blockers = [
    await send(running, call('spin', { ms: 60_000 })),
    await send(running, call('spin', { ms: 60_000 })),
  ]
  await until(() => running.pool.counts.running === 1 && running.pool.counts.waiting === 1)
  const single = await post(running, call('spin', { ms: 1 }))
  t.equal(single.status, 503)
  t.ok(Number(single.headers.get('retry-after')) >= 1)
  t.match(single.answer, { error: { code: -32005, message: 'server busy', data: { retryAfterMs: Number } } })
  const batch = post(running, [call('spin', { ms: 1 }, 1), call('echo', 'x', 2)])
  for (const blocker of blockers) blocker.destroy()
  const { status, answer } = await batch
  t.equal(status, 200)
  t.match(answer, [{ id: 1 }, { id: 2, result: 'x' }])
})

t.test('of calls that a full queue refuses nothing is decoded', async (t) => {
  const running = await servePool(t, { threads: 1, classes: { execute: { waitingMax: 1 } } })
  const { pool, decoded } = running
  const blockers = [
    await send(running, call('spin', { ms: 60_000 })),
    await send(running, call('spin', { ms: 60_001 })),
  ]
  await until(() => pool.counts.running === 1 && pool.counts.waiting === 1)
  t.equal(decoded.length, 2)
  const busy = { error: { code: -32005, message: 'server busy' } }
  t.match(await post(running, call('spin', { ms: 1 })), { status: 503, answer: busy })
  t.match(await post(running, [call('spin', { ms: 1 }, 1), call('spin', { ms: 1 }, 2)]), {
    status: 200,
    answer: [busy, busy],
  })
  t.match(await post(running, call('spin', { text: 'x'.repeat(100_000) })), { status: 503, answer: busy })
  t.equal(decoded.length, 2)
  t.match(pool.counts, { refused: 4, waiting: 1 }, 'each is counted')
  for (const blocker of blockers) blocker.destroy()
  await until(() => pool.counts.waiting === 0)
  t.match(await post(running, call('spin', { ms: 1 })), { status: 200, answer: { result: true } })
  t.equal(decoded.length, 3)
})

t.test(
  'a thread that dies is an internal error with an id from the log, and the service goes on',
  async (t) => {
    const running = await servePool(t)
    const { answer } = await post(running, [
      call('exit', 7, 1),
      call('throwError', 'a secret path', 2),
      call('echo', 'fine', 3),
    ])
    const [died, threw, fine] = answer as {
      error: { code: number; message: string; data: { id: string } }
      result: unknown
    }[]
    t.match(died, { error: { code: -32603, message: 'internal error' } })
    t.match(threw, { error: { code: -32603, message: 'internal error' } })
    t.match(fine, { result: 'fine' })
    t.notMatch(JSON.stringify(answer), /secret/)
    t.match(
      new Map(running.defects.map(({ id, error }) => [id, String(error)])),
      new Map([
        [died?.error.data.id, /exited with code: 7/],
        [threw?.error.data.id, /a secret path/],
      ]),
    )
    t.match(await post(running, call('spin', { ms: 1 })), { status: 200, answer: { result: true } })
  },
)

t.test('a fault of a job is the error of its call', async (t) => {
  const running = await servePool(t)
  const fault: Fault = { kind: 'HeaderNotFound' }
  const { answer } = await post(running, call('throwFault', fault))
  t.match(answer, { error: { code: -32000, message: 'header not found' } })
  t.strictSame(running.defects, [])
})
