/** What an interrupt does while calls run that would never end by themselves. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { copyDemoStore, makeFolder, writeInto } from '../program.js'
import { type Service, startService } from '../service.js'
import { SocketClient } from '../socketClient.js'
import { inTime, once } from '../until.js'

const genesis = join(packageRoot(), 'data/devnet/genesis.json')
const contract = `0x${'aa'.repeat(20)}`
/** JUMPDEST PUSH1 0 JUMP, with gas for some minutes. */
const endlessCall = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_call',
  params: [{ to: contract }, 'latest', { [contract]: { code: '0x5b600056' } }],
})
const hoursMs = 3_600_000

async function startDemo(t: Test, edges: number, limits: Record<string, number>): Promise<Service> {
  const folder = makeFolder(t)
  const dataDir = join(folder, 'data')
  copyDemoStore(dataDir, 'demo')
  const config = writeInto(folder, 'tidegate.json', {
    dataDir,
    edges,
    limits: { executionGasBlocks: 1_000, ...limits },
    networks: [{ name: 'demo', genesis }],
  })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
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
      // Answered by the same threads, so those calls have arrived.
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
