// @shares
/** The header by which a gateway marks unproved answers. */
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { blockAt, blocks, headBlock } from '../../rpc/demoChain.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const archive = await startService()
t.teardown(() => archive.stop())
// A time limit longer than an archive on a busy machine takes for its first call.
const upstreams = [{ url: archive.origin, timeoutMs: 600_000 }]
const config = writeConfig(makeFolder(t), {
  dataDir: 'data',
  networks: [{ name: 'main', kind: 'gateway', upstreams, historyBlocks: 8 }],
})
const gateway = await startService(['--config', config, '--no-auth'])
t.teardown(() => gateway.stop())

/** The header of an answer that has a result. */
async function trustOf(...calls: readonly (readonly [method: string, ...params: unknown[]])[]) {
  const all = calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params }))
  const response = await fetch(`${gateway.origin}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(all.length === 1 ? all[0] : all),
  })
  const answers = [(await response.json()) as never].flat() as { readonly result?: unknown }[]
  for (const answer of answers) t.ok((answer.result ?? null) !== null, JSON.stringify(answer).slice(0, 200))
  return response.headers.get('tidegate-trust')
}

const address = `0x${'22'.repeat(20)}`
const old = blockAt(3)
const number = '0x3'

const [early] = blocks.flatMap(({ transactions }) => transactions)

t.test('what is asked of a number far below the head is believed', async (t) => {
  for (let round = 0; round < 3; round++) {
    t.equal(await trustOf(['eth_getBlockByNumber', number, false]), 'quorum', 'also when repeated')
  }
  t.equal(await trustOf(['eth_getBalance', address, number]), 'quorum')
  t.equal(await trustOf(['eth_call', { to: address }, number]), 'quorum')
  t.equal(await trustOf(['eth_getLogs', { fromBlock: number, toBlock: '0x8' }]), 'quorum')
  t.equal(await trustOf(['eth_getTransactionByHash', early?.hash]), 'quorum')
  t.equal(await trustOf(['eth_chainId'], ['eth_getBlockByNumber', number, false]), 'quorum', 'in a batch')
})

t.test('what has a hash, or a number near the head, is proved', async (t) => {
  t.equal(await trustOf(['eth_getBlockByHash', old.hash, false]), null)
  t.equal(await trustOf(['eth_getBalance', address, { blockHash: old.hash }]), null)
  t.equal(await trustOf(['eth_getLogs', { blockHash: old.hash }]), null)
  t.equal(await trustOf(['eth_getBlockByNumber', 'latest', false]), null)
  const near = `0x${(headBlock.number - 5).toString(16)}`
  t.equal(await trustOf(['eth_getBlockByNumber', near, false]), null)
  t.equal(await trustOf(['eth_getBalance', address, near]), null)
  t.equal(await trustOf(['eth_call', { to: address }, near]), null)
})
