/**
 * Clients that send requests and never read, on the program as its operator runs it. Measures their cost, and who pays
 * it.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { writeConfig } from '../../service/program.js'
import { readRssBytes, type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const MiB = 2 ** 20

async function serve(t: Test, limits: object): Promise<Service> {
  const config = writeConfig(makeFolder(t), {
    ...JSON.parse(readFileSync(fixtureConfig, 'utf8')),
    limits,
  })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  return service
}

/** 200 full transactions: 174 KB. */
const block = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0xc8",true]}'
const head = '{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber"}'

t.test(
  'clients that ask and never read cost what the limits say, and no others wait for them',
  { skip: process.platform !== 'linux' && 'resident memory is read from /proc' },
  async (t) => {
    const bufferedMiB = 48
    const service = await serve(t, { socketBufferedBytesMax: bufferedMiB * MiB })
    const url = `${service.origin.replace('http', 'ws')}/ws`
    const good = await SocketClient.connect(url)
    t.teardown(() => good.cut())
    t.match(await good.ask(head), '"id":7')
    t.match(await good.ask(block), '"result"')
    const beforeBytes = readRssBytes(service.process.pid)
    let peakBytes = 0
    let slowestMs = 0
    const clients: SocketClient[] = []
    // Each client requests 87 MB in separate calls, and 25 MB in one answer.
    for (let i = 0; i < 20; i++) {
      const client = await SocketClient.connect(url)
      t.teardown(() => client.cut())
      client.pause()
      for (let n = 0; n < 500; n++) client.send(block)
      client.send(`[${Array.from({ length: 150 }, () => block).join()}]`)
      clients.push(client)
      const since = performance.now()
      t.match(await good.ask(head), '"id":7')
      slowestMs = Math.max(slowestMs, performance.now() - since)
      peakBytes = Math.max(peakBytes, readRssBytes(service.process.pid))
    }
    for (const client of clients) client.cut()
    await Promise.all(clients.map(({ closed }) => closed))
    t.match(await good.ask(head), '"id":7')
    const shown = [beforeBytes, peakBytes, readRssBytes(service.process.pid)].map((bytes) =>
      Math.round(bytes / MiB),
    )
    t.comment(
      `RSS before, during, after: ${shown.join(', ')} MiB; slowest other answer ${slowestMs.toFixed(1)} ms`,
    )
    // While it renders 10,000 answers, the heap itself also grows, in addition to waiting bytes.
    t.ok(peakBytes - beforeBytes < (bufferedMiB + 100) * MiB, `${shown.join(', ')} MiB`)
  },
)

t.test('one client that never reads has its connection ended, and the next one is served', async (t) => {
  const service = await serve(t, { socketUnsentBytesMax: MiB, socketCallsMax: 4 })
  const url = `${service.origin.replace('http', 'ws')}/ws`
  const client = await SocketClient.connect(url)
  t.teardown(() => client.cut())
  client.pause()
  for (let n = 0; n < 200; n++) client.send(block)
  const other = await SocketClient.connect(url)
  t.teardown(() => other.cut())
  t.match(await other.ask(head), '"id":7')
  client.resume()
  t.match(await client.closed, { code: 1013, reason: /read faster/ })
})
