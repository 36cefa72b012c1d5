/** The pool behind the real HTTP server: clients that go away, batches, full queues. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Pool } from '../../src/pool/pool.js'
import { toHash32 } from '../../src/primitives/bytes.js'
import type { Fault } from '../../src/primitives/faults.js'
import { createDispatcher, defaultDispatchLimits } from '../../src/rpc/dispatch.js'
import { defineMethod, type RpcNetwork } from '../../src/rpc/method.js'
import type { Defect } from '../../src/rpc/wireErrors.js'
import { createHttpServer, defaultHttpLimits } from '../../src/transport/http.js'
import { openTestPool, type TestJobs } from '../poolJobs.js'

interface TestNetwork extends RpcNetwork {
  readonly pool: Pool<TestJobs>
}

/** A method that runs one of the test jobs with its only parameter. */
function jobMethod(name: keyof TestJobs) {
  return defineMethod({
    name,
    params: [{ required: false, fallback: null, decode: (value: unknown) => value }],
    cost: 'job',
    memo: 'never',
    run: ({ pool }: TestNetwork, [args], caller) =>
      pool
        .run(name, { network: undefined, args: args as never }, caller)
        .then((result) => JSON.stringify(result)),
  })
}

interface Running {
  readonly pool: Pool<TestJobs>
  readonly port: number
  readonly defects: Defect[]
}

async function serve(
  t: Test,
  poolOptions: Parameters<typeof openTestPool>[0] = {},
  requestMsMax = 30_000,
): Promise<Running> {
  const { pool } = openTestPool(poolOptions)
  await pool.ready
  const defects: Defect[] = []
  const logDefect = (defect: Defect) => defects.push(defect)
  const names = ['echo', 'spin', 'work', 'exit', 'throwError', 'throwFault', 'whoAmI'] as const
  const dispatcher = createDispatcher<TestNetwork>({
    methods: names.map(jobMethod),
    limits: { ...defaultDispatchLimits, requestMsMax },
    log: logDefect,
  })
  const head = { number: 0, hash: toHash32(new Uint8Array(32)), generation: 0 }
  const current: TestNetwork = { name: 'test', head, pool }
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    routes: [
      { name: 'test', endpoint: dispatcher.endpoint({ current, pinned: () => undefined }), hosts: [] },
    ],
    authorize: () => ({ ok: true }),
    noAuth: true,
    limits: { ...defaultHttpLimits, closeMsMax: 100 },
    cors: '*',
    refuseRepeatedLength: true,
    health: () => ({}),
    logDefect,
  })
  const port = await server.listen()
  t.teardown(async () => {
    await server.close()
    await pool.close(0)
  })
  return { pool, port, defects }
}

function call(method: keyof TestJobs, args: unknown, id = 1): object {
  return { jsonrpc: '2.0', id, method, params: [args] }
}

async function post(
  { port }: Running,
  body: object,
): Promise<{ status: number; headers: Headers; answer: unknown }> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, answer: await response.json() }
}

/** Sends a request and leaves the connection to the caller. */
async function send({ port }: Running, body: object): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const text = JSON.stringify(body)
  socket.write(
    `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  )
  return socket
}

/** Resolves once `holds`, looked at after each turn of the event loop. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate)
}

t.test('a client that goes away cancels its running job and those that wait', async (t) => {
  const running = await serve(t)
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
  const running = await serve(t)
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
  const running = await serve(t, {}, 200)
  const { answer } = await post(running, call('spin', { ms: 60_000 }))
  t.match(answer, { error: { code: -32002, message: 'request timed out' } })
  await until(() => running.pool.counts.running === 0)
  t.match(running.pool.counts, { cancelled: 1, threadsLost: 0 })
})

t.test('jobs of one batch run side by side and answer in order', async (t) => {
  const running = await serve(t, { threads: 3 })
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
  const running = await serve(t, { threads: 3 })
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
  const running = await serve(t, { threads: 1, classes: { execute: { waitingMax: 1 } } })
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

t.test(
  'a thread that dies is an internal error with an id from the log, and the service goes on',
  async (t) => {
    const running = await serve(t)
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
  const running = await serve(t)
  const fault: Fault = { kind: 'HeaderNotFound' }
  const { answer } = await post(running, call('throwFault', fault))
  t.match(answer, { error: { code: -32000, message: 'header not found' } })
  t.strictSame(running.defects, [])
})
