// @shares
/** The subscription `transactionReceipts`, over WebSocket. */
import { Wallet } from 'ethers'
import t from 'tap'
import { testKeys } from '../../ingest/chainMaker.js'
import { blocks, hex } from '../../rpc/demoChain.js'
import { startDeveloper } from '../../service/developerChain.js'
import { startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const subscribe = (options: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['transactionReceipts', options] })

t.test('replayed from a block on, it has the receipts of each block that has some', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const own = blocks.filter(({ number, transactions }) => number >= 150 && transactions.length > 0)
  const wanted = own.map(({ transactions }) => transactions[0]?.hash).filter((_, at) => at % 3 === 0)
  for (const transactionHashes of [undefined, wanted]) {
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
    t.teardown(() => client.cut())
    client.send(subscribe({ transactionHashes, replayFrom: '0x96' }))
    t.match(await client.next(), '"result":"0x')
    for (const { hash, transactions } of own) {
      const names = transactions.filter(({ hash }) => transactionHashes?.includes(hash) ?? true)
      if (names.length === 0) continue
      const { params } = JSON.parse((await client.next()) ?? '{}')
      const { result } = await service.call('eth_getBlockReceipts', [hash])
      const expected = result.filter((receipt: { transactionHash: `0x${string}` }) =>
        names.some(({ hash }) => hash === receipt.transactionHash),
      )
      t.strictSame(params.result, expected)
    }
  }
})

t.test('new blocks are told as they come, and wrong options refused', async (t) => {
  const { service } = await startDeveloper(t)
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  const refusals: [unknown, string | RegExp][] = [
    [{ transactionHashes: ['0x1'] }, 'hex string of odd length'],
    [
      { transactionHashes: Array(201).fill(`0x${'0'.repeat(64)}`) },
      'exceed max number of transaction hashes',
    ],
    [{ policy: 'conflate' }, 'receipts have none'],
    [{ address: '0x' }, 'unknown member'],
  ]
  for (const [options, why] of refusals) {
    client.send(subscribe(options))
    t.match(await client.next(), why)
  }
  client.send(subscribe({}))
  t.match(await client.next(), '"result":"0x')
  const wallet = new Wallet(hex(testKeys[0] ?? new Uint8Array(0)))
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1, gasLimit: 21_000 }
  for (let nonce = 0; nonce < 3; nonce++) {
    const plan = { type: 2, chainId: 7357, nonce, to: `0x${'22'.repeat(20)}`, value: 1, ...fees }
    const { result: hash } = await service.call('eth_sendRawTransaction', [
      await wallet.signTransaction(plan),
    ])
    const { params } = JSON.parse((await client.next()) ?? '{}')
    t.strictSame(params.result, [(await service.call('eth_getTransactionReceipt', [hash])).result])
    await service.call('evm_mine')
  }
})
