// @shares
/** The log of the program: lines of requests, its two styles, and keys that never show. */
import t from 'tap'
import { waitFor } from '../../library/until.js'
import { spendingBatch } from '../../service/fixtures.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'

const balance = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_getBalance',
  params: [`0x${'0'.repeat(40)}`, 'latest'],
})

for (const edges of [1, 2]) {
  const skip = edges > 1 && process.platform !== 'linux' && 'edges share a port on Linux alone'
  t.test(`edges: ${edges}`, { skip }, async (t) => {
    const settings = { edges, logSample: 1, logStyle: 'words', logLevel: 'debug' }
    const { service, keys } = await startKeyedDemo(t, ['first'], settings)
    t.teardown(() => service.stop())
    const [key = ''] = keys
    const lines = () => service.said.err.split('\n').filter((line) => line.includes('"msg":"request"'))
    for (let round = 0; round < 20; round++) await service.post(`/v3/${key}`, balance)
    await waitFor('all lines', () => lines().length === 20)
    for (const line of lines()) {
      const { level, time, network, method, key: id, units } = JSON.parse(line)
      t.equal(level, 'info')
      t.equal(new Date(time).toISOString(), time)
      t.strictSame([network, method], ['demo', 'eth_getBalance'])
      t.match(id, /^[0-9a-f]{12}$/)
      t.ok(units > 0)
    }
    await service.post(`/v3/${key}`, balance, { 'x-request-id': key })
    await service.post(`/v3/${key}/nowhere`, balance)
    await service.post(`/v3/${key}x`, spendingBatch)
    await waitFor('the line with a key as its id', () => lines().length === 21)
    t.match(lines()[20], '"request":"tg_…"')
    t.equal(await service.stop(), 0)
    t.notOk(service.said.err.includes(key.slice(3, 20)), 'no part of the key is in the log')
  })
}
