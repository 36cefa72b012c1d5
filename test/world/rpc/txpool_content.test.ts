// @shares
import { getAddress, Wallet } from 'ethers'
import t from 'tap'
import { testKeys } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { hex } from '../../rpc/demoChain.js'
import { askResults } from '../../rpc/questions.js'
import { startDeveloper } from '../../service/developerChain.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { forwardTo, WeatherNode } from '../../upstream/weatherNode.js'

const wallets = testKeys.slice(0, 2).map((key) => new Wallet(hex(key)))
const to = `0x${'2a'.repeat(20)}`
const empty = { pending: {}, queued: {} }

function sign(who: number, nonce: number): Promise<string> {
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1, gasLimit: 21_000 }
  return (wallets[who] as Wallet).signTransaction({ type: 2, chainId: 7357, nonce, to, value: 7, ...fees })
}

t.test('a network without upstreams has nothing that waits', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const answers = await askResults(service, [
    ['txpool_content', []],
    ['txpool_inspect', []],
    ['txpool_contentFrom', [to]],
    ['txpool_status', []],
  ])
  t.strictSame(answers, [empty, empty, empty, { pending: '0x0', queued: '0x0' }])
})

t.test('what was sent is listed by sender and nonce until a block has it', async (t) => {
  const { service } = await startDeveloper(t, { blockSeconds: 3_600 })
  const hashes: string[] = []
  for (const [who, nonce] of [
    [0, 0],
    [0, 1],
    [0, 3],
    [1, 2],
  ] as const) {
    hashes.push((await service.call('eth_sendRawTransaction', [await sign(who, nonce)])).result)
  }
  const [ada = '', bea = ''] = wallets.map(({ address }) => address)
  const found = await askResults(
    service,
    hashes.map((hash) => ['eth_getTransactionByHash', [hash]] as const),
  )
  const [content, inspect, status, ofAda, ofBea, ofNobody] = await askResults(service, [
    ['txpool_content', []],
    ['txpool_inspect', []],
    ['txpool_status', []],
    ['txpool_contentFrom', [ada]],
    ['txpool_contentFrom', [bea]],
    ['txpool_contentFrom', [to]],
  ])
  const pending = { 0: found[0], 1: found[1] }
  t.strictSame(content, {
    pending: { [ada]: pending },
    queued: { [ada]: { 3: found[2] }, [bea]: { 2: found[3] } },
  })
  t.strictSame(ofAda, { pending, queued: { 3: found[2] } })
  t.strictSame(ofBea, { pending: {}, queued: { 2: found[3] } })
  t.strictSame(ofNobody, empty)
  t.strictSame(status, { pending: '0x2', queued: '0x2' })
  const text = `${getAddress(to)}: 7 wei + 21000 gas × 100000000000 wei`
  t.match(inspect.queued, { [bea]: { 2: text } })
  await service.call('evm_mine')
  const [after] = await askResults(service, [['txpool_status', []]])
  t.strictSame(after, { pending: '0x0', queued: '0x2' })
})

t.test('a network that follows its own node can answer with its whole pool', async (t) => {
  const archive = await startService()
  t.teardown(() => archive.stop())
  const askArchive = forwardTo(`${archive.origin}/`)
  const pool = { pending: '0x5', queued: '0x7' }
  const node = new WeatherNode(async (call) =>
    call.method === 'txpool_status' ? { result: pool } : askArchive(call),
  )
  await node.start()
  t.teardown(() => node.stop())
  for (const passThrough of [['txpool_*'], []]) {
    const network = { name: 'main', kind: 'gateway', upstreams: [{ url: node.url }], passThrough }
    const config = writeConfig(makeFolder(t), { dataDir: 'data', networks: [network] })
    const gateway = await startService(['--config', config, '--no-auth'])
    t.teardown(() => gateway.stop())
    const { result } = await gateway.call('txpool_status')
    t.strictSame(result, passThrough.length > 0 ? pool : { pending: '0x0', queued: '0x0' })
  }
})
