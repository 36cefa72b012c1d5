// @scene tests of contracts with the packages of Hardhat
/**
 * `@nomicfoundation/hardhat-network-helpers`, as tests of contracts use it, and viem's test actions, on `tidegate dev`.
 * The package `hardhat` itself is replaced by test/clients/hardhatUrl, which has the provider of a network with a `url`.
 */
import { createRequire } from 'node:module'
import * as helpers from '@nomicfoundation/hardhat-network-helpers'
import t, { type Test } from 'tap'
import { createTestClient, type Hex, http, parseEther, publicActions, walletActions } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { startDev } from '../../service/developerChain.js'

const { network } = createRequire(import.meta.url)('hardhat') as { network: { url: string } }
const { time } = helpers

const mnemonic = 'test test test test test test test test test test test junk'
const [ada, bea] = [0, 1].map((addressIndex) => mnemonicToAccount(mnemonic, { addressIndex })) as [
  ReturnType<typeof mnemonicToAccount>,
  ReturnType<typeof mnemonicToAccount>,
]
const stranger: Hex = `0x${'57'.repeat(20)}`
const word = (value: number | bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`
/** Returns the code of one word: `PUSH0 MSTORE`, and that word. */
const returning = (code: string): Hex => `0x${code}5f5260205ff3`
const [timestampCode, randomCode, coinbaseCode, slotCode] = ['42', '44', '41', '5f54'].map(returning) as [
  Hex,
  Hex,
  Hex,
  Hex,
]

async function start(t: Test, mode: 'hardhat' | 'anvil') {
  const { url } = await startDev(t)
  network.url = url
  const transport = http(url, { timeout: 0 })
  return createTestClient({
    mode,
    account: ada,
    chain: foundry,
    transport,
    cacheTime: 0,
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions)
}

t.test('loadFixture and snapshots bring a state back', async (t) => {
  const client = await start(t, 'hardhat')
  let made = 0
  async function deployed() {
    made++
    await client.sendTransaction({ to: stranger, value: 5n })
    return stranger
  }
  const balance = () => client.getBalance({ address: stranger })
  async function other() {
    return undefined
  }
  for (let at = 0; at < 3; at++) {
    t.equal(await helpers.loadFixture(deployed), stranger)
    t.equal(await balance(), 5n)
    await client.sendTransaction({ to: stranger, value: 1n })
    t.equal(await balance(), 6n)
  }
  await helpers.loadFixture(other)
  await helpers.loadFixture(deployed)
  t.equal(made, 1, 'the fixture ran once')
  const snapshot = await helpers.takeSnapshot()
  await helpers.setBalance(stranger, 77n)
  await helpers.mine(3)
  await snapshot.restore()
  t.equal(await balance(), 5n)
  t.equal(await client.getBlockNumber(), 1n)
  await snapshot.restore()
  await helpers.reset()
  t.equal(await balance(), 0n)
  t.equal(await client.getBlockNumber(), 0n)
})

t.test('time moves as it is set', async (t) => {
  const client = await start(t, 'hardhat')
  await helpers.setCode(stranger, timestampCode)
  const begun = await time.latest()
  t.equal(await time.increase(3_600), begun + 3_600)
  t.equal(await time.latestBlock(), 1)
  await time.increaseTo(begun + 10_000)
  t.equal(await time.latest(), begun + 10_000)
  await time.setNextBlockTimestamp(begun + 20_000)
  const seen = async () => BigInt((await client.call({ to: stranger, blockTag: 'pending' })).data as Hex)
  t.equal(await seen(), BigInt(begun + 20_000), 'a call at "pending" sees the time of the next block')
  await helpers.mine()
  t.equal(await time.latest(), begun + 20_000)
  t.equal(await time.increase(time.duration.weeks(1)), begun + 20_000 + 604_800)
  await t.rejects(time.increaseTo(begun), /is not after/)
})

t.test('blocks are mined by number, with an interval', async (t) => {
  const client = await start(t, 'hardhat')
  const begun = await time.latest()
  await helpers.mine(10, { interval: 60 })
  t.equal(await client.getBlockNumber(), 10n)
  const latest = await time.latest()
  t.ok(latest >= begun + 9 * 60 + 1)
  await helpers.mineUpTo(300)
  t.equal(await client.getBlockNumber(), 300n)
  t.equal(await time.latestBlock(), 300)
  await t.rejects(helpers.mineUpTo(300), /Invalid block number/)
})

t.test('accounts have what is set', async (t) => {
  const client = await start(t, 'hardhat')
  for (const wei of [parseEther('100'), 1n, 10n ** 30n]) {
    await helpers.setBalance(stranger, wei)
    t.equal(await client.getBalance({ address: stranger }), wei)
  }
  await helpers.setCode(stranger, slotCode)
  await helpers.setStorageAt(stranger, 0, 42)
  t.equal(await helpers.getStorageAt(stranger, 0), word(42))
  t.equal((await client.call({ to: stranger })).data, word(42))
  await helpers.setNonce(stranger, 17)
  t.equal(await client.getTransactionCount({ address: stranger }), 17)

  await helpers.impersonateAccount(stranger)
  const hash = await client.request({
    method: 'eth_sendTransaction',
    params: [{ from: stranger, to: bea.address, value: '0x5' }],
  } as never)
  t.match(await client.getTransactionReceipt({ hash }), { status: 'success', from: stranger })
  await helpers.stopImpersonatingAccount(stranger)
  const again = {
    method: 'eth_sendTransaction',
    params: [{ from: stranger, to: bea.address, gas: '0x5208' }],
  }
  await t.rejects(client.request(again as never), /unknown account/)
  const signer = await helpers.getStorageAt(bea.address, 0)
  t.equal(signer, word(0))
})

t.test('the next block has the fee, randomness and fee recipient that are set', async (t) => {
  const client = await start(t, 'hardhat')
  await helpers.setNextBlockBaseFeePerGas(123_456_789n)
  await helpers.setPrevRandao(99)
  await helpers.setCoinbase(stranger)
  await helpers.setCode(`0x${'c1'.repeat(20)}`, randomCode)
  await helpers.setCode(`0x${'c2'.repeat(20)}`, coinbaseCode)
  await helpers.mine()
  t.match(await client.getBlock(), { baseFeePerGas: 123_456_789n, miner: stranger, mixHash: word(99) })
  const seen = async (to: Hex) => (await client.call({ to })).data
  t.equal(await seen(`0x${'c1'.repeat(20)}`), word(99))
  t.equal(await seen(`0x${'c2'.repeat(20)}`), word(BigInt(stranger)))
  await helpers.setBlockGasLimit(12_345_678)
  await helpers.mine()
  t.equal((await client.getBlock()).gasLimit, 12_345_678n)
})

t.test('a transaction that waits is dropped', async (t) => {
  const client = await start(t, 'hardhat')
  await client.setAutomine(false)
  const hash = await client.sendTransaction({ to: stranger, value: 5n })
  t.match(await client.getTransaction({ hash }), { blockNumber: null })
  t.equal(await helpers.dropTransaction(hash), true)
  await helpers.mine()
  t.equal(await client.getBalance({ address: stranger }), 0n)
  await t.rejects(client.getTransaction({ hash }), /could not be found/)
})

for (const mode of ['anvil', 'hardhat'] as const) {
  t.test(`viem's test actions (${mode})`, async (t) => {
    const client = await start(t, mode)
    const id = await client.snapshot()
    await client.setBalance({ address: stranger, value: parseEther('3') })
    await client.impersonateAccount({ address: stranger })
    await client.sendTransaction({ account: stranger, to: bea.address, value: 1n })
    await client.stopImpersonatingAccount({ address: stranger })
    await client.setAutomine(false)
    t.equal(await client.getAutomine(), false)
    const hash = await client.sendTransaction({ to: stranger, value: 1n })
    t.equal((await client.getTxpoolStatus()).pending, 1)
    t.ok(await client.getTxpoolContent())
    t.ok(await client.inspectTxpool())
    await client.dropTransaction({ hash })
    t.equal((await client.getTxpoolStatus()).pending, 0)
    await client.setCoinbase({ address: stranger })
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 7n })
    await client.setBlockGasLimit({ gasLimit: 20_000_000n })
    await client.increaseTime({ seconds: 100 })
    await client.mine({ blocks: 2, interval: 30 })
    t.match(await client.getBlock(), { gasLimit: 20_000_000n, miner: stranger })
    const { timestamp } = await client.getBlock()
    await client.setNextBlockTimestamp({ timestamp: timestamp + 500n })
    await client.mine({ blocks: 1 })
    t.equal((await client.getBlock()).timestamp, timestamp + 500n)
    await client.setIntervalMining({ interval: 0 })
    await client.setLoggingEnabled(true)
    if (mode === 'anvil') {
      await client.setBlockTimestampInterval({ interval: 5 })
      await client.mine({ blocks: 2 })
      t.equal((await client.getBlock()).timestamp, timestamp + 510n)
      await client.removeBlockTimestampInterval()
      await client.sendUnsignedTransaction({ from: stranger, to: bea.address, value: 1n })
      const dump = await client.dumpState()
      await client.loadState({ state: dump })
    }
    await client.revert({ id })
    t.equal(await client.getBalance({ address: stranger }), 0n)
    await client.reset()
    t.equal(await client.getBlockNumber(), 0n)
  })
}
