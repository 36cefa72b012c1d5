/** The pool behind real WebSockets: clients that leave, and the calls of one socket at the same time. */
import t, { type Test } from 'tap'
import { until } from '../../library/until.js'
import type { TestJobs } from '../../pool/poolJobs.js'
import { type PoolServer, servePool } from '../../pool/poolServer.js'
import { SocketClient } from '../../transport/socketClient.js'

async function connect(t: Test, { port }: PoolServer): Promise<SocketClient> {
  const client = await SocketClient.connect(`ws://127.0.0.1:${port}/ws`)
  t.teardown(() => client.cut())
  return client
}

function call(method: keyof TestJobs, args: unknown, id = 1): object {
  return { jsonrpc: '2.0', id, method, params: [args] }
}

t.test('a client that goes away cancels its running job and those that wait', async (t) => {
  for (const leave of ['cut', 'close'] as const) {
    const running = await servePool(t)
    const { pool } = running
    const first = await connect(t, running)
    first.send(JSON.stringify(call('spin', { ms: 60_000 })))
    await until(() => pool.counts.running === 1)
    const second = await connect(t, running)
    second.send(JSON.stringify(call('spin', { ms: 60_000 })))
    await until(() => pool.counts.waiting === 1)
    if (leave === 'cut') second.cut()
    else second.socket.close()
    await until(() => pool.counts.waiting === 0)
    t.match(pool.counts, { running: 1, cancelled: 1 }, leave)
    if (leave === 'cut') first.cut()
    else first.socket.close()
    await until(() => pool.counts.running === 0)
    t.match(pool.counts, { cancelled: 2, threadsLost: 0 }, leave)
    t.strictSame(running.defects, [])
  }
})

t.test('a connection that is ended for its fault has its jobs cancelled', async (t) => {
  const running = await servePool(t)
  const { pool } = running
  const client = await connect(t, running)
  client.send(JSON.stringify(call('spin', { ms: 60_000 })))
  await until(() => pool.counts.running === 1)
  client.send(Uint8Array.of(0xff))
  t.match(await client.closed, { code: 1007 })
  await until(() => pool.counts.running === 0)
  t.match(pool.counts, { cancelled: 1, threadsLost: 0 })
})

t.test('a client that goes away in the midst of a batch starts no more of it', async (t) => {
  const running = await servePool(t)
  const { pool } = running
  const client = await connect(t, running)
  client.send(JSON.stringify(Array.from({ length: 500 }, (_, id) => call('spin', { ms: 60_000 }, id))))
  await until(() => pool.counts.running > 0)
  client.cut()
  await until(() => pool.counts.running === 0 && pool.counts.waiting === 0)
  const { finished, failed } = pool.counts
  t.ok(finished + failed < 20, `${finished + failed} jobs were begun`)
})

t.test(
  'of 300 calls sent at once 256 wait, the others are told to come back, and none is lost',
  async (t) => {
    const running = await servePool(t, { classes: { execute: { waitingMax: 1_000 } } })
    const client = await connect(t, running)
    const blocker = await connect(t, running)
    blocker.send(JSON.stringify(call('spin', { ms: 60_000 })))
    await until(() => running.pool.counts.running === 1)
    for (let id = 0; id < 300; id++) client.send(JSON.stringify(call('spin', { ms: 0 }, id)))
    const answers: { id: number; result?: boolean; error?: { code: number } }[] = []
    const take = async () => answers.push(JSON.parse((await client.next()) ?? ''))
    while (answers.length < 44) await take()
    t.ok(answers.every(({ error }) => error?.code === -32005))
    blocker.cut()
    while (answers.length < 300) await take()
    t.equal(answers.filter(({ result }) => result === true).length, 256)
    t.equal(new Set(answers.map(({ id }) => id)).size, 300)
  },
)

t.test('batches of jobs answer in order within, side by side on one socket', async (t) => {
  const running = await servePool(t, { threads: 3 })
  const client = await connect(t, running)
  for (let batch = 0; batch < 10; batch++) {
    client.send(JSON.stringify(Array.from({ length: 40 }, (_, i) => call('echo', i, batch * 100 + i))))
  }
  const seen = new Set<number>()
  while (seen.size < 10) {
    const answers: { id: number; result: number }[] = JSON.parse((await client.next()) ?? '')
    const batch = Math.floor((answers[0]?.id ?? 0) / 100)
    t.strictSame(
      answers.map(({ id, result }) => [id, result]),
      Array.from({ length: 40 }, (_, i) => [batch * 100 + i, i]),
    )
    seen.add(batch)
  }
})
