// @scene viem
// @shares
/** The first calls of users of viem, over HTTP and a WebSocket. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createPublicClient, erc20Abi, type Hex, http, webSocket } from 'viem'
import { facts } from '../../clients/everyday.js'
import { playPayment } from '../../clients/playedPayment.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())
const url = `${service.origin.replace('http', 'ws')}/ws`
const tide = facts.tide as Hex
const ada = facts.ada as Hex

for (const [name, transport] of [
  ['HTTP', http(service.origin, { batch: true })],
  ['a WebSocket', webSocket(url, { reconnect: false })],
] as const) {
  t.test(`blocks, accounts, contracts, logs and fees over ${name}`, async (t) => {
    const client = createPublicClient({ transport, batch: { multicall: { deployless: true } } })
    t.equal(await client.getChainId(), facts.chainId)
    t.equal((await client.getBlock()).hash, facts.head.hash)
    t.equal(await client.getBlockTransactionCount(), facts.head.transactions.length)
    t.equal(await client.getBalance({ address: ada }), facts.adaBalance)
    t.equal(await client.getTransactionCount({ address: ada }), facts.adaNonce)
    t.match(await client.getCode({ address: tide }), /^0x60/)
    t.equal(await client.getCode({ address: ada }), undefined)
    const token = { address: tide, abi: erc20Abi } as const
    const supply = { ...token, functionName: 'totalSupply' } as const
    t.equal(await client.readContract(supply), facts.totalSupply)
    const both = await client.multicall({
      contracts: [supply, { ...token, functionName: 'balanceOf', args: [ada] }],
      deployless: true,
      allowFailure: false,
    })
    t.equal(both[0], facts.totalSupply)
    t.equal(both[1], await client.readContract({ ...token, functionName: 'balanceOf', args: [ada] }))
    const fees = await client.estimateFeesPerGas()
    t.ok(fees.maxFeePerGas > fees.maxPriorityFeePerGas)
    t.ok((await client.getGasPrice()) > facts.headBaseFee)
    const request = { account: ada, to: facts.bea as Hex, value: 1n }
    t.equal(await client.estimateGas({ ...request, ...fees }), 21_000n)
    t.match(await client.prepareTransactionRequest({ ...request, chain: null }), {
      nonce: facts.adaNonce,
      gas: 21_000n,
      type: 'eip1559',
    })
    t.equal((await client.getFeeHistory({ blockCount: 4, rewardPercentiles: [10, 90] })).reward?.length, 4)
    t.ok((await client.getBlobBaseFee()) > 0n)
    const hash = facts.transaction.hash as Hex
    const { blockNumber } = await client.getTransaction({ hash })
    t.equal(blockNumber, BigInt(facts.transaction.blockNumber ?? 0))
    const receipt = await client.waitForTransactionReceipt({ hash })
    t.equal(receipt.transactionHash, hash)
    t.ok((await client.getTransactionConfirmations({ hash })) > 0n)
    const logs = await client.getLogs({ address: tide, fromBlock: 0n, toBlock: 'latest' })
    t.ok(logs.length > 100 && logs.every(({ address }) => address === tide))
    t.equal((await client.getProof({ address: tide, storageKeys: [] })).address, tide)
    await t.rejects(client.getTransaction({ hash: `0x${'12'.repeat(32)}` }), {
      name: 'TransactionNotFoundError',
    })
    const socket = await (
      client.transport as { getRpcClient?(): Promise<{ close(): void }> }
    ).getRpcClient?.()
    socket?.close()
  })
}

t.test('waitForTransactionReceipt sees a payment come, and how deep it lies', async (t) => {
  const { origin, hash, play } = await playPayment(t)
  const client = createPublicClient({ transport: http(origin), pollingInterval: 20 })
  await t.rejects(client.getTransactionReceipt({ hash }), { name: 'TransactionReceiptNotFoundError' })
  let receipt: Awaited<ReturnType<typeof client.waitForTransactionReceipt>> | undefined
  const waiting = client.waitForTransactionReceipt({ hash, confirmations: 2 }).then((found) => {
    receipt = found
  })
  await play(3)
  // viem reads again only at a new block, and misses one that comes during a read.
  for (let more = 0; more < 5 && receipt === undefined; more++) {
    await sleep(500)
    if (receipt === undefined) await play(1)
  }
  await waiting
  t.match(receipt, { transactionHash: hash, status: 'success' })
})
