// @shares
/** The usage of each key, counted by a running server and read by `tidegate usage` and the admin API. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { methods } from '../../../src/serving/rpc/registry.js'
import { waitFor } from '../../library/until.js'
import { adminOf } from '../../service/adminClient.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'
import { runHere, runProgram } from '../../service/program.js'
import type { Service } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const ask = (method: string, params: unknown[] = [], id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const balance = ask('eth_getBalance', [`0x${'0'.repeat(40)}`, 'latest'])

function configOf({ process: { spawnargs } }: Service): { path: string; dataDir: string } {
  const path = spawnargs[spawnargs.indexOf('--config') + 1] as string
  return { path, dataDir: JSON.parse(readFileSync(path, 'utf8')).dataDir }
}

const price = methods.eth_getBalance.price as number

interface Row {
  readonly name?: string
  readonly method?: string
  readonly calls: number
  readonly errors: number
  readonly units: number
  readonly bytes: number
}

for (const edges of process.platform === 'linux' ? [1, 2] : [1]) {
  t.test(`${edges} edges: every call of a key is in its usage, and only there`, async (t) => {
    const { service, keys } = await startKeyedDemo(t, ['alice', 'bob, the "second"'], {
      edges,
      limits: { keyUnitsPerSecond: 100_000 },
    })
    t.teardown(() => service.stop())
    const [alice = '', bob = ''] = keys
    const { path, dataDir } = configOf(service)
    // All connections are of one edge only once in two million runs.
    let bytes = 0
    for (let time = 0; time < 22; time++) {
      const { text } = await service.post(`/v3/${alice}`, balance)
      bytes += JSON.stringify(JSON.parse(text).result).length
    }
    const proof = ask('eth_getProof', [`0x${'0'.repeat(40)}`, [], 'latest'])
    await service.post(`/v3/${alice}`, `[${proof},${balance},${ask('eth_nothing')},{}]`)
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws/v3/${bob}`)
    await client.ask(balance)
    client.cut()
    // A long answer that comes in parts.
    const trace = ask('debug_traceBlockByNumber', ['0x5', {}])
    const traced = await service.post(`/v3/${bob}`, trace)
    await service.post('/v3/nobody', balance)

    const admin = await adminOf(service, dataDir)
    t.equal((await admin.get('/api/usage?to=9999-12-31')).status, 200)
    await waitFor('all calls', async () => {
      const { rows } = JSON.parse((await admin.get('/api/usage?by=key,method')).text)
      return rows.reduce((sum: number, { calls }: Row) => sum + calls, 0) === 28
    })
    await service.stop()

    const { status, out } = await runProgram(['usage', '--config', path, '--json'])
    t.equal(status, 0)
    const rows = JSON.parse(out) as Row[]
    const find = (name: string, method: string) =>
      rows.find((row) => row.name === name && row.method === method)
    t.match(find('alice', 'eth_getBalance'), { calls: 23, errors: 0, units: 23 * price })
    t.equal(find('alice', 'eth_getBalance')?.bytes, bytes + bytes / 22)
    t.match(find('alice', 'eth_getProof'), { calls: 1, errors: 0 })
    t.ok((find('alice', 'eth_getProof')?.units ?? 0) > 1)
    t.match(
      find('alice', 'other'),
      { calls: 2, errors: 2 },
      'a method that is not there, and a call that is none',
    )
    const second = 'bob, the "second"'
    t.match(find(second, 'eth_getBalance'), { calls: 1 })
    t.match(find(second, 'debug_traceBlockByNumber'), { calls: 1, errors: 0 })
    const traceBytes = find(second, 'debug_traceBlockByNumber')?.bytes ?? 0
    t.equal(traceBytes, traced.text.length - '{"jsonrpc":"2.0","id":1,"result":}'.length)
    t.equal(rows.length, 5)

    const csv = await runHere(['usage', '--config', path, '--csv', '--by', 'key,day'])
    const [head, ...lines] = csv.out.trim().split('\n')
    t.equal(head, 'time,key,name,calls,errors,units,bytes')
    t.equal(lines.length, 2)
    t.match(lines.join('\n'), '"bob, the ""second"""')
    const table = await runHere(['usage', '--config', path, '--by', 'network'])
    t.match(table.out, /^NETWORK +CALLS +ERRORS +UNITS +BYTES\ndemo +28 +2 /)
    const later = await runHere(['usage', '--config', path, '--by', 'network', '--to', '9999-12-31'])
    t.equal(later.out, table.out)
    const none = await runHere(['usage', '--config', path, '--from', '2020-01-01', '--to', '2020-02-01'])
    t.strictSame([none.status, none.out], [0, ''])
    t.match(none.err, 'Nothing was used')
    const wrong = await runHere(['usage', '--config', path, '--by', 'colour'])
    t.equal(wrong.status, 2)
    t.match(wrong.err, 'usage is grouped by')
  })
}
