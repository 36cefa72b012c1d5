// @shares
import { Wallet } from 'ethers'
import t from 'tap'
import { testKeys } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { hex } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startDeveloper } from '../../service/developerChain.js'
import { startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'
import { startFollower, startGateway } from '../../upstream/followedNode.js'

const method = 'eth_sendRawTransactionSync'
const wallet = new Wallet(hex(testKeys[0] ?? new Uint8Array(0)))

function sign(nonce: number): Promise<string> {
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1, gasLimit: 21_000 }
  return wallet.signTransaction({
    type: 2,
    chainId: 7357,
    nonce,
    to: `0x${'22'.repeat(20)}`,
    value: 1,
    ...fees,
  })
}

t.test('a network without upstreams refuses it', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [
    ...countRefusals(['0x02', 1], 1),
    [['0x02', 'soon'], -32602, 'invalid argument 1: hex string without 0x prefix'],
  ])
  t.match(await service.call(method, [await sign(0)]), { error: { code: -32000, message: /no upstream/ } })
})

t.test('the answer is the receipt, the same as of its own method', async (t) => {
  const { service } = await startDeveloper(t, { edges: process.platform === 'linux' ? 2 : 1 })
  const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => socket.cut())
  for (let nonce = 0; nonce < 6; nonce++) {
    const params = nonce % 2 === 0 ? [await sign(nonce)] : [await sign(nonce), 30_000]
    const call = { jsonrpc: '2.0', id: nonce, method, params }
    if (nonce >= 3) socket.send(JSON.stringify(call))
    const { result } =
      nonce < 3 ? await service.call(method, params) : JSON.parse((await socket.next()) ?? '{}')
    t.match(result, { status: '0x1', blockNumber: `0x${(nonce + 1).toString(16)}`, gasUsed: '0x5208' })
    t.strictSame(result, (await service.call('eth_getTransactionReceipt', [result.transactionHash])).result)
  }
  // Sent already, and in a block: refused by the pool.
  t.match(await service.call(method, [await sign(0)]), { error: { message: /nonce too low/ } })
})

t.test('what no block has in time is an error with its hash, and waits on', async (t) => {
  const { service } = await startDeveloper(t, { blockSeconds: 3_600 })
  const raw = await sign(0)
  const { error } = await service.call(method, [raw, 250])
  const message = "The transaction was added to the transaction pool but wasn't processed in 0.25s"
  t.match(error, { code: 4, message, data: /^0x[0-9a-f]{64}$/ })
  t.match((await service.call('eth_getTransactionByHash', [error?.data])).result, { blockHash: null })
  const waiting = service.call(method, [await sign(1)])
  let isDone = false
  void waiting.then(() => {
    isDone = true
  })
  // The block is only made once both wait.
  while (Number((await service.call('txpool_status')).result.pending) < 2 && !isDone);
  await service.call('evm_mine')
  t.match((await waiting).result, { status: '0x1', transactionIndex: '0x1', blockNumber: '0x1' })
})

t.test('a gateway and a follower answer with the receipt, and tell receipts to subscribers', async (t) => {
  const { service: node, genesis: genesisPath } = await startDeveloper(t)
  const gateway = await startGateway(t, makeFolder(t), { urls: [node.origin] })
  const follower = await startFollower(t, makeFolder(t), { urls: [node.origin], genesisPath })
  let nonce = 0
  for (const service of [gateway, follower]) {
    const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
    t.teardown(() => socket.cut())
    const subscribe = { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['transactionReceipts'] }
    t.match(JSON.parse((await socket.ask(JSON.stringify(subscribe))) as string), { result: /^0x/ })
    for (let sent = 0; sent < 3; sent++) {
      const { result } = await service.call(method, [await sign(nonce++), 60_000])
      const reported = JSON.parse((await socket.next()) ?? '{}').params.result
      t.strictSame(reported, [result])
      t.strictSame((await node.call('eth_getTransactionReceipt', [result.transactionHash])).result, result)
    }
    const { error } = await service.call(method, [await sign(nonce + 5), 250])
    t.match(error, { code: 4, data: /^0x[0-9a-f]{64}$/ })
  }
})
