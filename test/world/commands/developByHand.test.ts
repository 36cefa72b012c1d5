/** Changes by hand to a developer chain, as test suites make them with the methods of anvil and Hardhat. */
import t, { type Test } from 'tap'
import { createTestClient, defineChain, type Hex, http, publicActions, walletActions } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { contracts, mergedConfig, testGenesis, testKeys } from '../../ingest/chainMaker.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { startDeveloper } from '../../service/developerChain.js'
import { runHere } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

const [ada] = testKeys.map((key) => privateKeyToAccount(bytesToHex(key))) as [PrivateKeyAccount]
const stranger: Hex = `0x${'57'.repeat(20)}`
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`
/** Returns slot 1. */
const readerCode = '0x60015460005260206000f3'

function clientOf({ origin }: Service, mode: 'anvil' | 'hardhat' = 'anvil') {
  const chain = defineChain({
    id: 7357,
    name: 'dev',
    nativeCurrency: { name: 'ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [origin] } },
  })
  const transport = http(origin, { timeout: 0 })
  return createTestClient({ mode, account: ada, chain, transport, cacheTime: 0, pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)
}

type Client = ReturnType<typeof clientOf>

async function healthOf(service: Service): Promise<{ readonly changedByHand?: string }> {
  const { networks } = (await (await fetch(`${service.origin}/health`)).json()) as {
    networks: { dev: { changedByHand?: string } }
  }
  return networks.dev
}

/** The proof of an account and a slot has the root of a block. */
async function proofAt(client: Client, address: Hex, blockNumber: bigint) {
  const { stateRoot } = await client.getBlock({ blockNumber })
  const proof = await client.getProof({ address, storageKeys: [word(1n)], blockNumber })
  const { keccak256 } = await import('viem')
  return { root: stateRoot, top: keccak256(proof.accountProof[0] as Hex), proof }
}

async function checkStore(t: Test, config: string, out: RegExp): Promise<void> {
  const verified = await runHere(['verify', '--config', config, '--network', 'dev', '--blocks', '50'])
  t.match(verified, { status: 0, out: /No fault found/ }, verified.err)
  t.match(verified.out, out)
}

for (const mode of ['anvil', 'hardhat'] as const) {
  t.test(`state that is set is there at once, and under the root of the next block (${mode})`, async (t) => {
    const { service, config } = await startDeveloper(t)
    const client = clientOf(service, mode)
    await client.sendTransaction({ to: stranger, value: 9n })
    t.equal((await healthOf(service)).changedByHand, undefined)
    for (const value of [5n, 10n ** 30n, 3n]) {
      await client.setBalance({ address: stranger, value })
      t.equal(await client.getBalance({ address: stranger }), value)
    }
    await client.setNonce({ address: stranger, nonce: 77 })
    await client.setCode({ address: stranger, bytecode: readerCode })
    await client.setStorageAt({ address: stranger, index: 1, value: word(42n) })
    t.equal(await client.getBlockNumber(), 1n, 'no block is made')
    t.equal(await client.getTransactionCount({ address: stranger }), 77)
    t.equal(await client.getCode({ address: stranger }), readerCode)
    t.equal(await client.getStorageAt({ address: stranger, slot: word(1n) }), word(42n))
    t.equal((await client.call({ to: stranger, data: '0x01' })).data, word(42n), 'calls run with it')
    t.equal(await client.getBalance({ address: stranger, blockNumber: 0n }), 0n, 'earlier blocks stay')

    await client.mine({ blocks: 2 })
    for (const number of [2n, 3n]) {
      const { root, top, proof } = await proofAt(client, stranger, number)
      t.equal(top, root, `block ${number}`)
      t.match(proof, { balance: 3n, nonce: 77, storageProof: [{ value: 42n }] })
    }
    t.equal(await client.getBalance({ address: stranger, blockNumber: 1n }), 3n, 'the state before block 2')
    const at = new RegExp(`^changed by hand at block 1: ${mode}_setBalance ${stranger}, and 5 more$`)
    t.match((await healthOf(service)).changedByHand, at)
    t.notMatch(service.said.err, /internal error|defect/)
    t.equal(await service.stop(), 0)
    await checkStore(t, config, /changed by hand at block 1: .*no other client can verify/)
  })
}

t.test('each edge finds the change', async (t) => {
  const { service } = await startDeveloper(t, { edges: 2 })
  /** Asks over a connection of its own, which the system gives to one of the edges. */
  const balance = async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_getBalance',
      params: [stranger, 'latest'],
    })
    const headers = { 'content-type': 'application/json', connection: 'close' }
    const answer = await fetch(service.origin, { method: 'POST', body, headers })
    return ((await answer.json()) as { result: Hex }).result
  }
  const all = () => Promise.all(Array.from({ length: 16 }, balance))
  t.strictSame(new Set(await all()), new Set(['0x0']))
  for (const wei of ['0x5', '0x4']) {
    await service.call('anvil_setBalance', [stranger, wei])
    await waitFor('all edges', async () => (await all()).every((found) => found === wei))
  }
})

t.test('the genesis state can be changed, and a snapshot takes the changes back', async (t) => {
  const { service, config } = await startDeveloper(t)
  const client = clientOf(service)
  const balance = await client.getBalance({ address: ada.address })
  const first = await client.snapshot()
  await client.setBalance({ address: ada.address, value: 10n ** 20n })
  await client.setStorageAt({ address: contracts.mortal, index: 1, value: word(0n) })
  await client.setStorageAt({ address: contracts.mortal, index: 9, value: word(9n) })
  const second = await client.snapshot()
  await client.setBalance({ address: stranger, value: 1n })
  await client.sendTransaction({ to: stranger, value: 1n })
  await client.setBalance({ address: stranger, value: 7n })
  await client.mine({ blocks: 1 })
  t.equal(await client.getBalance({ address: stranger }), 7n)

  await client.revert({ id: second })
  t.equal(await client.getBlockNumber(), 0n)
  t.equal(await client.getBalance({ address: stranger }), 0n)
  t.equal(await client.getBalance({ address: ada.address }), 10n ** 20n, 'changes before the snapshot stay')
  t.equal(await client.getStorageAt({ address: contracts.mortal, slot: word(9n) }), word(9n))
  t.match((await healthOf(service)).changedByHand, /^changed by hand at block 0: .* and 2 more$/)

  await client.revert({ id: first })
  t.equal(await client.getBalance({ address: ada.address }), balance)
  t.equal(await client.getStorageAt({ address: contracts.mortal, slot: word(1n) }), word(10n))
  t.equal(await client.getStorageAt({ address: contracts.mortal, slot: word(9n) }), word(0n))
  t.equal((await healthOf(service)).changedByHand, undefined, 'the chain can be verified again')
  const { root, top } = await proofAt(client, contracts.mortal, 0n)
  t.equal(top, root)
  await client.sendTransaction({ to: stranger, value: 1n })
  t.notMatch(service.said.err, /internal error|defect/)
  t.equal(await service.stop(), 0)
  await checkStore(t, config, /^(?!.*changed by hand)/s)
})

t.test('after a kill the changes are still there', async (t) => {
  const own = await startDeveloper(t)
  let { service } = own
  const kills = Number(process.env.KILLS ?? 1)
  for (let kill = 1; kill <= kills; kill++) {
    const client = clientOf(service)
    await client.setBalance({ address: stranger, value: BigInt(kill) })
    await client.setStorageAt({ address: stranger, index: kill, value: word(1n) })
    service.process.kill('SIGKILL')
    service = await startService(['--config', own.config, '--no-auth'])
    t.teardown(() => service.stop())
    const again = clientOf(service)
    t.equal(await again.getBalance({ address: stranger }), BigInt(kill))
    t.equal(await again.getStorageAt({ address: stranger, slot: word(BigInt(kill)) }), word(1n))
    await again.mine({ blocks: 1 })
    const { root, top } = await proofAt(again, stranger, BigInt(kill))
    t.equal(top, root)
  }
  t.equal(await service.stop(), 0)
  await checkStore(t, own.config, /changed by hand at block 0/)
})

t.test('fields of the next block are set, and seen in the pending one', async (t) => {
  const { service, config } = await startDeveloper(t)
  const client = clientOf(service)
  await client.setCoinbase({ address: stranger })
  await service.call('hardhat_setPrevRandao', [word(5n)])
  t.equal((await healthOf(service)).changedByHand, undefined, 'others accept such blocks')
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 123_456n })
  await client.setBlockGasLimit({ gasLimit: 50_000_000n })
  const { result: pending } = await service.call('eth_getBlockByNumber', ['pending', false])
  t.match(pending, { baseFeePerGas: '0x1e240', gasLimit: '0x2faf080', mixHash: word(5n) })
  await client.mine({ blocks: 2 })
  const [first, second] = [
    await client.getBlock({ blockNumber: 1n }),
    await client.getBlock({ blockNumber: 2n }),
  ]
  t.match(first, { miner: stranger, baseFeePerGas: 123_456n, gasLimit: 50_000_000n, mixHash: word(5n) })
  t.match(second, { miner: stranger, gasLimit: 50_000_000n })
  t.not(second.mixHash, word(5n))
  t.ok((second.baseFeePerGas as bigint) < 123_456n)
  t.match(
    (await healthOf(service)).changedByHand,
    /^changed by hand at block 0: anvil_setNextBlockBaseFeePerGas/,
  )
  t.equal(await service.stop(), 0)
  await checkStore(t, config, /changed by hand at block 0/)
})

t.test('a moved clock is what calls, estimates and drafts of the next block see', async (t) => {
  const { service } = await startDeveloper(t)
  const client = clientOf(service)
  // Reverts before the time in its input.
  const lock = '0x6000354210600957005b60006000fd'
  await client.setCode({ address: stranger, bytecode: lock })
  const { timestamp } = await client.getBlock()
  const unlock = BigInt(Math.floor(Date.now() / 1000)) + 1_000_000n
  t.ok(unlock > timestamp)
  const asked = { to: stranger, data: word(unlock) } as const
  await t.rejects(client.estimateGas(asked))
  const snapshot = await client.snapshot()
  await client.setNextBlockTimestamp({ timestamp: unlock })
  t.ok((await client.estimateGas(asked)) > 21_000n)
  await client.call({ ...asked, blockTag: 'pending' })
  await t.rejects(client.call({ ...asked, blockTag: 'latest' }))
  t.equal((await client.getBlock({ blockTag: 'pending' })).timestamp, unlock)
  const hash = await client.sendTransaction({ ...asked, type: 'legacy' })
  t.match(await client.getTransactionReceipt({ hash }), { status: 'success' })
  t.equal((await client.getBlock()).timestamp, unlock)
  await client.revert({ id: snapshot })
  await t.rejects(client.estimateGas(asked), 'a snapshot has its clock')
  await client.increaseTime({ seconds: 2_000_000 })
  t.ok((await client.estimateGas(asked)) > 21_000n)
  t.match(await service.call('evm_setTime', [Number(unlock) + 9_000_000]), { error: undefined })
  t.ok((await client.getBlock({ blockTag: 'pending' })).timestamp >= unlock + 9_000_000n)
})

t.test('a genesis without a time begins now, and keeps that', async (t) => {
  const { timestamp: _, ...genesis } = testGenesis(mergedConfig()) as unknown as Record<string, unknown>
  const before = BigInt(Math.floor(Date.now() / 1000))
  const own = await startDeveloper(t, { genesis })
  const first = await clientOf(own.service).getBlock({ blockNumber: 0n })
  t.ok(first.timestamp >= before && first.timestamp <= BigInt(Math.ceil(Date.now() / 1000)))
  t.equal(await own.service.stop(), 0)
  const service = await startService(['--config', own.config, '--no-auth'])
  t.teardown(() => service.stop())
  t.equal((await clientOf(service).getBlock({ blockNumber: 0n })).hash, first.hash)
})

t.test('tools find a chain like that of anvil', async (t) => {
  const { service } = await startDeveloper(t)
  const client = clientOf(service)
  const { result: version } = await service.call('web3_clientVersion')
  t.match(version, /^anvil\/v\d+\.\d+\.\d+ Tidegate\/v/)
  t.match(version, /^(HardhatNetwork|anvil|zksync)/i, 'as hardhat-network-helpers look for it')
  const { result: blocks } = await service.call('evm_mine_detailed', [{ blocks: 2 }])
  t.match(blocks, [{ number: '0x1', transactions: [] }, { number: '0x2' }])
  const { hash } = await client.getBlock()
  const info = { currentBlockNumber: '0x2', currentBlockHash: hash, environment: { chainId: 7357 } }
  t.match((await service.call('anvil_nodeInfo')).result, info)
  const metadata = { clientVersion: version, chainId: 7357, latestBlockNumber: 2, latestBlockHash: hash }
  for (const tool of ['anvil', 'hardhat']) t.match((await service.call(`${tool}_metadata`)).result, metadata)
  await client.setLoggingEnabled(true)
  await client.setAutomine(false)
  await client.sendTransaction({ to: stranger, value: 1n, gas: 21_000n })
  t.match((await service.call('txpool_status')).result, { pending: '0x1' })
  t.match(await service.call('anvil_dropAllTransactions'), { result: null })
  t.match((await service.call('txpool_status')).result, { pending: '0x0' })
})

t.test('an impersonated contract sends, and its transactions are traced and verified', async (t) => {
  const { service, config } = await startDeveloper(t)
  const client = clientOf(service)
  const from = contracts.store
  const send = { account: from, to: stranger, value: 3n } as const
  await client.setBalance({ address: from, value: 10n ** 18n })
  await t.rejects(client.sendTransaction(send), /unknown account/)
  await client.impersonateAccount({ address: from })
  const first = await client.getTransactionCount({ address: from })
  for (const [at, form] of ([{}, { type: 'legacy' }] as const).entries()) {
    const hash = await client.sendTransaction({ ...send, ...form })
    t.match(await client.getTransactionReceipt({ hash }), { status: 'success', from })
    t.match(await client.getTransaction({ hash }), { from, nonce: first + at })
    const { result } = await service.call('debug_traceTransaction', [hash, { tracer: 'callTracer' }])
    t.match(result, { from, value: '0x3' })
  }
  t.equal(await client.getBalance({ address: stranger }), 6n)
  await client.stopImpersonatingAccount({ address: from })
  await t.rejects(client.sendTransaction(send), /unknown account/)
  await service.call('anvil_autoImpersonateAccount', [true])
  await client.setBalance({ address: stranger, value: 10n ** 18n })
  const hash = await client.sendTransaction({ account: stranger, to: from, value: 1n, gas: 50_000n })
  t.match(await client.getTransactionReceipt({ hash }), { from: stranger })
  t.match((await healthOf(service)).changedByHand, /^changed by hand at block 0: anvil_setBalance/)
  t.notMatch(service.said.err, /internal error|defect/)
  t.equal(await service.stop(), 0)
  await checkStore(t, config, /changed by hand/)
})

t.test('random changes, blocks, snapshots and reverts leave a whole store', async (t) => {
  const { service, config } = await startDeveloper(t)
  const dice = new Dice(propertyRuns(1).seed as number)
  const pick = (sides: number) => dice.throw(sides)
  const client = clientOf(service)
  const accounts = Array.from({ length: 4 }, (_, at): Hex => `0x${String(at + 1).repeat(40)}`)
  type Known = ReadonlyMap<string, bigint>
  let known: Known = new Map()
  let snapshots: { readonly id: Hex; readonly known: Known }[] = []
  const set = (key: string, value: bigint) => {
    known = new Map([...known, [key, value]])
  }
  for (let step = 0; step < 120; step++) {
    const address = accounts[pick(accounts.length)] as Hex
    const slot = pick(3)
    const value = BigInt(pick(4))
    const kind = pick(6)
    if (kind === 0) {
      await client.setBalance({ address, value })
      set(address, value)
    } else if (kind === 1) {
      await client.setStorageAt({ address, index: slot, value: word(value) })
      set(`${address} ${slot}`, value)
    } else if (kind === 2) {
      await client.sendTransaction({ to: address, value: 1n })
      set(address, (known.get(address) ?? 0n) + 1n)
    } else if (kind === 3) await client.mine({ blocks: 1 })
    else if (kind === 4) snapshots.push({ id: await client.snapshot(), known })
    else if (snapshots.length > 0) {
      const at = pick(snapshots.length)
      const snapshot = snapshots[at] as (typeof snapshots)[number]
      await client.revert({ id: snapshot.id })
      known = snapshot.known
      snapshots = snapshots.slice(0, at)
    }
    for (const each of accounts) {
      t.equal(await client.getBalance({ address: each }), known.get(each) ?? 0n)
      const found = await client.getStorageAt({ address: each, slot: word(BigInt(slot)) })
      t.equal(found, word(known.get(`${each} ${slot}`) ?? 0n), `step ${step}, kind ${kind}`)
    }
  }
  t.equal(await service.stop(), 0)
  await checkStore(t, config, /^Checked dev/)
})
