// @shares
/** The first calls of users of web3.js, over HTTP and a WebSocket. */
import t from 'tap'
import { Web3, WebSocketProvider } from 'web3'
import { facts } from '../../clients/everyday.js'
import { playPayment } from '../../clients/playedPayment.js'
import { until } from '../../library/until.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

for (const [name, url] of [
  ['HTTP', service.origin],
  ['a WebSocket', `${service.origin.replace('http', 'ws')}/ws`],
] as const) {
  t.test(`blocks, accounts, contracts, logs and fees over ${name}`, async (t) => {
    const web3 = new Web3(url)
    t.equal(await web3.eth.getChainId(), BigInt(facts.chainId))
    t.match(await web3.eth.getNodeInfo(), /^Tidegate/)
    t.equal(await web3.eth.net.isListening(), true)
    t.equal(await web3.eth.net.getPeerCount(), 0n)
    t.equal((await web3.eth.getBlock('latest')).hash, facts.head.hash)
    t.equal(await web3.eth.getBlockTransactionCount('latest'), BigInt(facts.head.transactions.length))
    t.equal(await web3.eth.getBlockUncleCount('latest'), 0n)
    t.equal(await web3.eth.getBalance(facts.ada), facts.adaBalance)
    t.equal(await web3.eth.getTransactionCount(facts.ada), BigInt(facts.adaNonce))
    t.match(await web3.eth.getCode(facts.tide), /^0x60/)
    t.equal(BigInt(await web3.eth.getStorageAt(facts.ada, 0)), 0n)
    t.strictSame(await web3.eth.getAccounts(), [])
    t.equal(await web3.eth.isSyncing(), false)
    t.equal(await web3.eth.isMining(), false)
    t.equal(await web3.eth.getHashRate(), 0n)
    t.ok((await web3.eth.getGasPrice()) > facts.headBaseFee)
    t.ok((await web3.eth.getMaxPriorityFeePerGas()) > 0n)
    const fees = await web3.eth.calculateFeeData()
    const { maxFeePerGas, maxPriorityFeePerGas } = fees
    const request = { from: facts.ada, to: facts.bea, value: '0x1', maxFeePerGas, maxPriorityFeePerGas }
    t.equal(await web3.eth.estimateGas(request as never), 21_000n)
    const history = await web3.eth.getFeeHistory(4, 'latest', [10, 90])
    t.equal(history.gasUsedRatio.length, 4)
    const abi = [
      {
        type: 'function',
        name: 'totalSupply',
        stateMutability: 'view',
        inputs: [],
        outputs: [{ type: 'uint256', name: '' }],
      },
    ] as const
    t.equal(await new web3.eth.Contract(abi, facts.tide).methods.totalSupply().call(), facts.totalSupply)
    const hash = facts.transaction.hash ?? ''
    t.equal((await web3.eth.getTransaction(hash)).blockNumber, BigInt(facts.transaction.blockNumber ?? 0))
    t.equal((await web3.eth.getTransactionReceipt(hash)).transactionHash, hash)
    const inBlock = await web3.eth.getTransactionFromBlock(facts.transaction.blockHash ?? '', 0n)
    t.equal(inBlock?.blockHash, facts.transaction.blockHash)
    t.ok((await web3.eth.getPastLogs({ address: facts.tide, fromBlock: 0n })).length > 100)
    t.equal((await web3.eth.getProof(facts.tide as never, [])).balance, 0n)
    t.ok(
      (await web3.eth.createAccessList({ from: facts.ada, to: facts.tide, data: facts.totalSupplyCall }))
        .gasUsed,
    )
    const batch = new web3.BatchRequest()
    const supply = { to: facts.tide, data: facts.totalSupplyCall }
    const [chainId, total] = [
      batch.add({ method: 'eth_chainId', params: [] }),
      batch.add({ method: 'eth_call', params: [supply as never, 'latest'] }),
    ]
    await batch.execute()
    t.equal(Number(await chainId), facts.chainId)
    t.equal(BigInt(String(await total)), facts.totalSupply)
    if (web3.provider instanceof WebSocketProvider) web3.provider.disconnect(1000, 'done')
  })
}

t.test('a payment that comes is told of, and has a receipt', async (t) => {
  const { origin, hash, blockHash, play } = await playPayment(t)
  const web3 = new Web3(`${origin.replace('http', 'ws')}/ws`)
  await t.rejects(web3.eth.getTransactionReceipt(hash), /Transaction not found/)
  const heads = await web3.eth.subscribe('newHeads')
  const reported: unknown[] = []
  heads.on('data', ({ hash }) => {
    reported.push(hash)
  })
  await play(2)
  await until(() => reported.includes(blockHash))
  t.equal((await web3.eth.getTransactionReceipt(hash)).blockHash, blockHash)
  if (web3.provider instanceof WebSocketProvider) web3.provider.disconnect(1000, 'done')
})
