// @shares
/** The effect of an interrupt while endless calls run. */
import t, { type Test } from 'tap'
import { inTime, once } from '../../library/until.js'
import { endlessCall } from '../../service/fixtures.js'
import { serveDemo } from '../../service/servedDemo.js'
import type { Service } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const hoursMs = 3_600_000

async function startDemo(t: Test, edges: number, limits: Record<string, number>): Promise<Service> {
  const { service } = await serveDemo(t, { edges, limits: { executionGasBlocks: 1_000, ...limits } })
  return service
}

for (const edges of [1, 2]) {
  t.test(`edges: ${edges}`, async (t) => {
    await t.test('an interrupt waits for calls as long as they may take, and answers them', async (t) => {
      const service = await startDemo(t, edges, { requestMsMax: 2_000, executionMsMax: 1_000 })
      const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
      const idle = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
      const calls = Array.from({ length: 6 }, () => service.post('/', endlessCall))
      socket.send(endlessCall)
      const first = await Promise.race(calls)
      const closed = once(service.process, 'close')
      service.process.kill('SIGTERM')
      const texts = [first, ...(await Promise.all(calls))].map(({ text }) => text)
      texts.push((await socket.next()) ?? '')
      for (const text of texts) t.match(JSON.parse(text).error?.message, /timeout|timed out/)
      t.match(await idle.closed, { code: 1001 })
      t.strictSame(await closed, [0, null])
    })

    await t.test('a second interrupt ends the process at once', async (t) => {
      const service = await startDemo(t, edges, { requestMsMax: hoursMs, executionMsMax: hoursMs })
      const calls = Array.from({ length: 6 }, () => service.post('/', endlessCall).catch(() => undefined))
      // The same threads answer these calls, so the earlier calls have arrived.
      for (let round = 0; round < 10; round++) await service.call('eth_chainId')
      const closed = once(service.process, 'close')
      const stopping = new Promise<void>((resolve) => {
        service.process.stderr?.on('data', (chunk) => String(chunk).includes('stopping') && resolve())
      })
      service.process.kill('SIGTERM')
      await inTime('the word that it stops', stopping)
      service.process.kill('SIGINT')
      t.strictSame(await closed, [null, 'SIGINT'])
      t.strictSame(await Promise.all(calls), Array(6).fill(undefined))
      t.notMatch(service.said.err, /FATAL/)
    })
  })
}
