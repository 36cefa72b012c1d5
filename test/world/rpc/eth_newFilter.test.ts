// @shares
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { openForkingEndpoint } from '../../rpc/forkingEndpoint.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { addressOfNumber } from '../../unit/serving/streams/forkingChain.js'

const method = 'eth_newFilter'

t.test('refuses what go-ethereum refuses', async (t) => {
  const { forks, answer } = openForkingEndpoint(t)
  forks.extend([])
  const cases: readonly (readonly [filter: unknown, code: number, message: string])[] = [
    ['x', -32602, 'invalid argument 0: want a filter object, got string'],
    [{ fromBlock: '0x2', toBlock: '0x1' }, -32602, 'invalid block range params'],
    [{ toBlock: '0x5' }, -32602, 'invalid block range params'],
    [{ fromBlock: 'finalized' }, -32602, 'invalid block range params'],
    [{ fromBlock: 'pending' }, -32602, 'pending logs are not supported'],
  ]
  for (const [filter, code, message] of cases) {
    t.strictSame((await answer(method, [filter])).error, { code, message })
  }
})

t.test('the memory of filters is bounded, of one key and of all', async (t) => {
  const filterLimits = { idleMsMax: 300_000, bytesPerKeyMax: 5_000, bytesMax: 9_000 }
  const { ask, answer } = openForkingEndpoint(t, { filterLimits })
  const one = '00000000000a'
  const two = '00000000000b'
  const make = (keyId: string, keys = 0) =>
    answer(method, [{ address: Array.from({ length: keys }, (_, at) => addressOfNumber(at)) }], keyId)
  const { result } = await make(one)
  t.match(result, /^0x[0-9a-f]{32}$/)
  t.match((await make(one, 6)).error, {
    code: -32005,
    message: /filters of this API key/,
    data: { limit: 5_000 },
  })
  t.match(await make(one, 5), { error: undefined })
  t.match(await make(two), { error: undefined })
  t.match((await make(two, 1)).error, {
    code: -32005,
    message: /filters of this server/,
    data: { limit: 9_000 },
  })
  t.equal(await ask('eth_uninstallFilter', [result], one), true)
  t.match(await make(two, 1), { error: undefined })
})

t.test('a filter is its key’s alone', async (t) => {
  const { ask, answer } = openForkingEndpoint(t)
  const id = await ask(method, [{}], '00000000000a')
  for (const ask of ['eth_getFilterChanges', 'eth_getFilterLogs']) {
    const { error } = await answer(ask, [id], '00000000000b')
    t.strictSame(error, { code: -32000, message: 'filter not found' })
  }
  t.equal(await ask('eth_uninstallFilter', [id], '00000000000b'), false)
  t.strictSame(await ask('eth_getFilterChanges', [id], '00000000000a'), [])
})

t.test('a filter that nobody asks for is forgotten', async (t) => {
  let nowMs = 0
  const { ask, answer } = openForkingEndpoint(t, { clockMs: () => nowMs })
  const asked = await ask(method, [{}])
  const left = await ask(method, [{}])
  nowMs = 200_000
  t.strictSame(await ask('eth_getFilterChanges', [asked]), [])
  nowMs = 400_000
  t.strictSame(await ask('eth_getFilterChanges', [asked]), [])
  const { error } = await answer('eth_getFilterChanges', [left])
  t.strictSame(error, { code: -32000, message: 'filter not found' })
})

t.test(
  'a filter that one edge made is there on every other',
  { skip: process.platform !== 'linux' && 'several edges need Linux' },
  async (t) => {
    const config = join(t.testdir(), 'tidegate.json')
    const fixture = JSON.parse(readFileSync(fixtureConfig, 'utf8'))
    writeFileSync(config, JSON.stringify({ ...fixture, edges: 3 }))
    const service = await startService(['--config', config, '--no-auth'])
    t.teardown(() => service.stop())
    const ask = async (method: string, params: unknown[]) => {
      const headers = { 'content-type': 'application/json', connection: 'close' }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const response = await fetch(`${service.origin}/`, { method: 'POST', headers, body })
      return ((await response.json()) as { result: unknown }).result
    }
    const ids = await Promise.all(
      Array.from({ length: 12 }, () => ask('eth_newFilter', [{ fromBlock: '0xc8' }])),
    )
    t.equal(new Set(ids).size, 12)
    const whole = await ask('eth_getLogs', [{ fromBlock: '0xc8' }])
    for (const id of ids) {
      t.strictSame(await ask('eth_getFilterChanges', [id]), [])
      t.strictSame(await ask('eth_getFilterLogs', [id]), whole)
    }
    t.strictSame(
      new Set(await Promise.all(ids.map((id) => ask('eth_uninstallFilter', [id])))),
      new Set([true]),
    )
    t.strictSame(
      new Set(await Promise.all(ids.map((id) => ask('eth_uninstallFilter', [id])))),
      new Set([false]),
    )
  },
)

t.test('a filter that missed what was removed says so once, and is no more', async (t) => {
  const folder = makeFolder(t)
  const history = { state: 64, receipts: 64, bodies: 64, trie: 64 }
  const source = { type: 'develop', blockSeconds: 0 }
  const genesis = writeInto(folder, 'genesis.json', testGenesis(mergedConfig()))
  const networks = [{ name: 'dev', genesis, history, source }]
  const config = writeConfig(folder, { dataDir: 'data', networks })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const { result: id } = await service.call(method, [{}])
  t.same((await service.call('evm_mine', [{ blocks: 200 }])).result, '0x0')
  await waitFor('the first blocks to go', async () => {
    const { result } = await service.call('eth_capabilities')
    return Number(result.logs.oldestBlock) > 1
  })
  t.match((await service.call('eth_getFilterChanges', [id])).error, { code: 4444 })
  t.match((await service.call('eth_getFilterChanges', [id])).error, { message: 'filter not found' })
})
