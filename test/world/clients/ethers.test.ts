// @scene ethers
// @shares
/** The first calls of users of ethers, over HTTP and a WebSocket. */
import { Contract, getCreateAddress, JsonRpcProvider, Wallet, WebSocketProvider } from 'ethers'
import t from 'tap'
import { facts } from '../../clients/everyday.js'
import { playPayment } from '../../clients/playedPayment.js'
import { testKeys } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { until } from '../../library/until.js'
import { hex } from '../../rpc/demoChain.js'
import { answersSince, countAnswers, noteAnswers } from '../../rpc/ethersAnswers.js'
import { startService } from '../../service/service.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import { openBetween, reaches, startFollower, startGateway } from '../../upstream/followedNode.js'

const service = await startService()
t.teardown(() => service.stop())

for (const [name, connect] of [
  ['HTTP', () => new JsonRpcProvider(service.origin)],
  ['a WebSocket', () => new WebSocketProvider(`${service.origin.replace('http', 'ws')}/ws`)],
] as const) {
  t.test(`blocks, accounts, contracts, logs and fees over ${name}`, async (t) => {
    const provider = connect()
    t.teardown(() => provider.destroy())
    t.equal((await provider.getNetwork()).chainId, BigInt(facts.chainId))
    t.equal((await provider.getBlock('latest'))?.hash, facts.head.hash)
    const full = await provider.getBlock(facts.head.number, true)
    t.equal(full?.prefetchedTransactions.length, facts.head.transactions.length)
    t.equal(await provider.getBalance(facts.ada), facts.adaBalance)
    t.equal(await provider.getTransactionCount(facts.ada), facts.adaNonce)
    t.equal(await provider.getCode(facts.ada), '0x')
    t.match(await provider.getCode(facts.tide), /^0x60/)
    t.equal(BigInt(await provider.getStorage(facts.ada, 0)), 0n)
    const abi = [
      'function totalSupply() view returns (uint256)',
      'event Transfer(address indexed from, address indexed to, uint256 value)',
    ]
    const token = new Contract(facts.tide, abi, provider)
    t.equal(await token.totalSupply?.(), facts.totalSupply)
    t.ok((await token.queryFilter('Transfer', 0, 'latest')).length > 100)
    const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = await provider.getFeeData()
    t.ok((gasPrice ?? 0n) > facts.headBaseFee)
    const fees = { maxFeePerGas, maxPriorityFeePerGas }
    t.equal(await provider.estimateGas({ from: facts.ada, to: facts.bea, value: 1n, ...fees }), 21_000n)
    const hash = facts.transaction.hash ?? ''
    t.equal((await provider.getTransaction(hash))?.blockNumber, Number(facts.transaction.blockNumber))
    const receipt = await provider.getTransactionReceipt(hash)
    t.equal(receipt?.hash, hash)
    t.equal((await provider.waitForTransaction(hash))?.blockHash, receipt?.blockHash)
    const logs = await provider.getLogs({ address: facts.tide, topics: [facts.transferTopic], fromBlock: 0 })
    t.ok(logs.length > 100)
    t.equal(await provider.getTransaction(`0x${'12'.repeat(32)}`), null)
    t.equal((await provider.send('eth_accounts', [])).length, 0)
    // Over HTTP, calls of the same turn are sent as a batch.
    const [again, nonce, supply] = await Promise.all([
      provider.getBalance(facts.bea),
      provider.getTransactionCount(facts.ada),
      token.totalSupply?.(),
    ])
    t.strictSame([nonce, supply], [facts.adaNonce, facts.totalSupply])
    t.equal(again, await provider.getBalance(facts.bea))
  })
}

/**
 * ethers begins to look for new blocks at its first read of the head after it asked for the receipt. Of several blocks
 * between two reads it acts on the first alone. So each block comes after a read of ethers.
 */
t.test('a payment that comes is waited for', async (t) => {
  const { origin, hash, blockHash, play } = await playPayment(t)
  const provider = new JsonRpcProvider(origin, undefined, { cacheTimeout: -1, pollingInterval: 20 })
  t.teardown(() => provider.destroy())
  const answered = await noteAnswers(provider)
  const waiting = provider.waitForTransaction(hash)
  for (const receipts of [1, 2]) {
    await until(
      () =>
        countAnswers(answered, 'eth_getTransactionReceipt') >= receipts &&
        answersSince(answered, 'eth_getTransactionReceipt', 'eth_blockNumber') > 0,
    )
    await play(1)
  }
  const receipt = await waiting
  t.equal(receipt?.blockHash, blockHash)
  t.equal(receipt?.status, 1)
})

t.test('two payments and a creation in a row, before any block comes', { skip: withoutAnvil }, async (t) => {
  for (const kind of ['archive', 'gateway']) {
    const anvil = await startAnvil(t, makeFolder(t), undefined, ['--no-mining'])
    // anvil cannot prove its accounts at its genesis.
    await anvil.ask('anvil_mine', ['0x1'])
    const { url } = await openBetween(t, anvil)
    const service =
      kind === 'gateway'
        ? await startGateway(t, makeFolder(t), { urls: [url] })
        : await startFollower(t, makeFolder(t), { urls: [url], genesisPath: anvil.genesisPath })
    await reaches(service, await anvil.head())
    const provider = new JsonRpcProvider(service.origin, undefined, { cacheTimeout: -1, pollingInterval: 20 })
    t.teardown(() => provider.destroy())
    const wallet = new Wallet(hex(testKeys[0] ?? new Uint8Array(0)), provider)
    const to = `0x${'22'.repeat(20)}`
    const sent = [
      await wallet.sendTransaction({ to, value: 1n }),
      await wallet.sendTransaction({ to, value: 2n }),
      await wallet.sendTransaction({ data: '0x3060005260206000f3' }),
    ]
    t.strictSame(
      sent.map(({ nonce }) => nonce),
      [0, 1, 2],
      kind,
    )
    t.equal(await provider.getTransactionCount(wallet.address), 0)
    t.equal(await wallet.getNonce('pending'), 3)
    await anvil.ask('anvil_mine', ['0x1'])
    const receipts = await Promise.all(sent.map((each) => each.wait()))
    t.strictSame(
      receipts.map((receipt) => receipt?.status),
      [1, 1, 1],
    )
    t.equal(receipts[2]?.contractAddress, getCreateAddress({ from: wallet.address, nonce: 2 }))
    t.equal(await wallet.getNonce('pending'), 3)
  }
})
