/** Many empty blocks by one call: most are kept as runs, and every read finds them. */
import { join } from 'node:path'
import t from 'tap'
import WebSocket from 'ws'
import { makeFolder } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { startDev, startDeveloper } from '../../service/developerChain.js'
import { runHere } from '../../service/program.js'

const to = `0x${'57'.repeat(20)}`
const hex = (value: number) => `0x${value.toString(16)}`
/** More rows than one run has. */
const count = 70_000

t.test('a run of blocks is read, subscribed to, taken back and kept', async (t) => {
  const data = join(makeFolder(t), 'chain')
  const chain = await startDev(t, ['--data', data])
  const result = async (method: string, ...params: readonly unknown[]) => {
    const answer = await chain.ask(method, ...params)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }
  const [from] = await result('eth_accounts')
  await result('eth_sendTransaction', { from, to, value: '0x5' })
  const socket = new WebSocket(`${chain.url.replace('http', 'ws')}/ws`)
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const heads: { number: string; hash: string }[] = []
  socket.on('message', (data) => {
    const { params } = JSON.parse(String(data))
    if (params !== undefined) heads.push(params.result)
  })
  const lastHead = (number: number) =>
    waitFor(`the head ${number}`, () => (Number(heads.at(-1)?.number) === number ? heads.at(-1) : undefined))
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }))
  await result('evm_mine')
  await lastHead(2)

  const snapshot = await result('evm_snapshot')
  t.equal(await result('anvil_mine', hex(count), 12), null)
  const head = 2 + count
  t.equal(Number(await result('eth_blockNumber')), head)
  await lastHead(head)
  t.ok(heads.length < 1_000, `a subscriber gets the block after each run: ${heads.length} heads`)

  const blockAt = (number: number) => result('eth_getBlockByNumber', hex(number), false)
  let above = await blockAt(head)
  for (let number = head - 1; number > head - 20; number--) {
    const block = await blockAt(number)
    t.equal(block.hash, above.parentHash)
    t.equal(Number(block.timestamp) + 12, Number(above.timestamp))
    t.strictSame(await result('eth_getBlockByHash', block.hash, false), block)
    above = block
  }
  const middle = await blockAt(40_000)
  t.equal((await blockAt(40_001)).parentHash, middle.hash)
  t.equal((await blockAt(2)).stateRoot === middle.stateRoot, false, 'the first blocks are executed')
  t.equal((await blockAt(head)).stateRoot, middle.stateRoot)
  t.strictSame(await result('eth_getBlockReceipts', hex(40_000)), [])
  t.equal(await result('eth_getBlockTransactionCountByHash', middle.hash), '0x0')
  t.equal(await result('eth_getBalance', to, hex(40_000)), '0x5')
  t.strictSame(await result('eth_getLogs', { fromBlock: hex(39_990), toBlock: hex(40_010) }), [])
  t.equal((await result('eth_feeHistory', '0x4', hex(40_000), [])).baseFeePerGas.length, 5)
  t.equal(await result('eth_getBlockByHash', `0x${'ab'.repeat(32)}`, false), null)
  const proof = await result('eth_getProof', to, [], hex(40_000))
  t.equal(proof.balance, '0x5')
  const health = await (await fetch(`${chain.url}/health`)).text()
  t.match(health, /changed by hand at block \d+: 70000 blocks by one call, most of them without system calls/)

  const inRun = await blockAt(30_000)
  const kept = await result('evm_snapshot')
  await result('anvil_rollback', head - 40_000)
  t.equal((await blockAt(40_000)).hash, middle.hash)
  t.equal(Number(await result('eth_blockNumber')), 40_000)
  await result('eth_sendTransaction', { from, to, value: '0x1' })
  await lastHead(40_001)
  t.equal(await result('eth_getBalance', to, 'latest'), '0x6')
  t.equal(await result('evm_revert', kept), false, 'its block is gone')
  t.equal(await result('evm_revert', snapshot), true)
  t.equal(Number(await result('eth_blockNumber')), 2)
  await result('evm_mine')
  await lastHead(3)
  t.equal(await result('eth_getBlockByHash', inRun.hash, false), null)
  t.strictSame(await result('eth_getBlockByHash', middle.hash, false), middle, 'it was the head')
  t.notMatch(await (await fetch(`${chain.url}/health`)).text(), /changed by hand/)

  await result('anvil_mine', hex(5_000))
  const last = await blockAt(5_003)
  t.match(await chain.ask('anvil_mine', hex(1_000_001)), { error: { message: /expected at most 1000000/ } })
  t.match(await chain.ask('anvil_mine', hex(1_000_000), hex(2 ** 40)), {
    error: { message: /too far in the future/ },
  })
  t.match(await chain.ask('evm_mine_detailed', { blocks: 5_001 }), {
    error: { message: /expected at most 5000/ },
  })
  t.equal(await chain.stop(), 0)
  const again = await startDev(t, ['--data', data])
  t.equal(Number((await again.ask('eth_blockNumber')).result), 5_003)
  t.strictSame((await again.ask('eth_getBlockByNumber', hex(5_003), false)).result, last)
})

t.test('verify checks the blocks of a run', async (t) => {
  const { service, config } = await startDeveloper(t)
  const { result } = await service.call('anvil_mine', ['0x600', '0x3'])
  t.equal(result, null)
  t.equal((await service.call('evm_mine', [])).result, '0x0')
  t.equal(await service.stop(), 0)
  const verified = await runHere(['verify', '--config', config, '--network', 'dev', '--blocks', '20'])
  t.match(verified, { status: 0, out: /No fault found/ }, verified.err)
  t.match(verified.out, /changed by hand at block \d+: 1536 blocks by one call/)
})
