/** A chain that the program makes blocks of: the demo network after its recorded blocks, and networks of one's own. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { JsonRpcProvider, Wallet } from 'ethers'
import t, { type Test } from 'tap'
import {
  createPublicClient,
  createTestClient,
  defineChain,
  type Hex,
  http,
  keccak256,
  publicActions,
  toBytes,
  walletActions,
  webSocket,
} from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { amsterdamFile, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { contracts, frontierConfig, mergedConfig, testGenesis, testKeys } from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { examples, headBlock } from '../../rpc/demoChain.js'
import { type DeveloperChain, startDeveloper } from '../../service/developerChain.js'
import { copyEmbeddedStore, runHere, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const [ada, bea] = testKeys.map((key) => privateKeyToAccount(bytesToHex(key))) as [
  PrivateKeyAccount,
  PrivateKeyAccount,
]
const stranger: Hex = `0x${'57'.repeat(20)}`

function clientOf(
  { origin }: Service,
  account: PrivateKeyAccount,
  id = 7357,
  mode: 'anvil' | 'hardhat' = 'anvil',
) {
  const chain = defineChain({
    id,
    name: 'dev',
    nativeCurrency: { name: 'ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [origin] } },
  })
  const transport = http(origin, { timeout: 0 })
  return createTestClient({ mode, account, chain, transport, cacheTime: 0, pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)
}

async function headOf(service: Service): Promise<number> {
  return Number((await service.call('eth_blockNumber')).result)
}

async function ask(service: Service, method: string, ...params: unknown[]) {
  const { text } = await service.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  return JSON.parse(text)
}

/** Stops the server; the store has no fault, and another one takes the chain, block by block. */
async function checkChain(t: Test, { service, folder, config, genesis }: DeveloperChain): Promise<void> {
  t.notMatch(service.said.err, /internal error|defect/)
  t.equal(await service.stop(), 0)
  const data = join(folder, 'data')
  const verified = await runHere(['verify', '--config', config, '--network', 'dev'])
  t.match(verified, { status: 0, out: /No fault found/ }, verified.err)
  const out = join(folder, 'out')
  t.match(await runHere(['export', '--network', 'dev', '--data', data, '--out', out]), { status: 0 })
  const files = readdirSync(out).map((name) => join(out, name))
  const elsewhere = ['--network', 'copy', '--data', join(folder, 'copy'), '--genesis', genesis]
  const imported = await runHere(['import', ...elsewhere, ...files])
  t.match(imported, { status: 0 }, imported.err)
}

t.test("a start prints the accounts that a chain of one's own signs for, as many as anvil has", async (t) => {
  const test = testGenesis(mergedConfig()) as { alloc: object }
  const known = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
  const genesis = { ...test, alloc: { ...test.alloc, [known]: { balance: '0xde0b6b3a7640000' } } }
  const { service } = await startDeveloper(t, { genesis })
  await waitFor('the printed accounts', () => service.lines.some((line) => /^Try it/.test(line)))
  const said = service.lines.join('\n')
  t.match(
    said,
    /^dev is a developer chain: .+ for each\. Accounts with ether, whose keys all the world knows:$/m,
  )
  t.match(
    said,
    '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (1 ETH), secret key 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  )
  const { result: accounts } = await ask(service, 'eth_accounts')
  const printed = service.lines.flatMap(
    (line) => /(0x\w{40}) .*secret key/.exec(line)?.[1]?.toLowerCase() ?? [],
  )
  t.strictSame(printed, accounts.slice(0, 10))
  const others = await startDeveloper(t)
  await waitFor('its welcome', () => others.service.lines.some((line) => /^Try it/.test(line)))
  const none = (await ask(others.service, 'eth_accounts')).result.length === 0
  t.equal(/secret key/.test(others.service.lines.join()), !none)
})

t.test('the demo network goes on after its recorded blocks', async (t) => {
  const folder = makeFolder(t)
  await copyEmbeddedStore(folder)
  const service = await startService(['--data', folder, '--no-auth', '--network', 'demo'])
  t.teardown(() => service.stop())
  await waitFor('the printed accounts', () => service.lines.some((line) => /^Try it/.test(line)))
  const said = service.lines.join('\n')
  t.match(said, /^demo is a developer chain: it takes transactions, and makes a block every 2 s\./m)
  const [first, second] = examples.accounts as readonly { address: string; privateKey: Hex }[]
  t.match(said.toLowerCase(), `${first?.address} (`)
  t.match(said, `secret key ${first?.privateKey}`)
  t.match(await (await fetch(`${service.origin}/health`)).json(), { networks: { demo: { purpose: 'demo' } } })

  const url = `${service.origin.replace('http', 'ws')}/ws`
  const socket = await SocketClient.connect(url)
  await socket.ask('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
  const client = clientOf(service, privateKeyToAccount(first?.privateKey as Hex), 8433)
  const polled: bigint[] = []
  const pushed: bigint[] = []
  const overSocket = createPublicClient({ transport: webSocket(url, { reconnect: false }) })
  const watching = [
    client.watchBlocks({ onBlock: ({ number }) => polled.push(number), emitMissed: true }),
    overSocket.watchBlocks({ onBlock: ({ number }) => pushed.push(number) }),
  ]
  const heads: number[] = []
  while (heads.length < 3) {
    heads.push(Number(JSON.parse((await socket.next()) ?? '{}').params.result.number))
  }
  const [lowest = 0] = heads
  t.ok(lowest > headBlock.number)
  t.strictSame(heads, [lowest, lowest + 1, lowest + 2])
  await waitFor('blocks at both watchers', () => polled.length > 1 && pushed.length > 1)
  for (const stop of watching) stop()
  for (const seen of [polled, pushed]) {
    t.strictSame(
      seen,
      seen.map((_, at) => (seen[0] ?? 0n) + BigInt(at)),
    )
  }
  const to = second?.address as Hex
  const before = await client.getBalance({ address: to })
  const hash = await client.sendTransaction({ to, value: 5n })
  t.match(await client.waitForTransactionReceipt({ hash }), { status: 'success' })
  t.equal(await client.getBalance({ address: to }), before + 5n)
  socket.socket.close()
  const viemSocket = await overSocket.transport.getRpcClient()
  viemSocket.close()
  t.equal(await service.stop(), 0)
  t.match(await runHere(['verify', '--data', folder, '--network', 'demo']), { status: 0 })
})

t.test('what a test suite does: mining, snapshots, balances and time', async (t) => {
  const own = await startDeveloper(t)
  const { service } = own
  const client = clientOf(service, ada)
  t.equal(await headOf(service), 0)
  t.match(await (await fetch(`${service.origin}/health`)).json(), {
    networks: { dev: { purpose: 'developer' } },
  })

  const wallet = new Wallet(bytesToHex(testKeys[1] as Uint8Array), new JsonRpcProvider(service.origin))
  const nonce = await wallet.getNonce()
  const sent = [
    await wallet.sendTransaction({ to: contracts.store, data: `0x${'00'.repeat(31)}01`, nonce }),
    await wallet.sendTransaction({ to: stranger, value: 7, nonce: nonce + 1 }),
  ]
  for (const [at, tx] of sent.entries()) {
    t.match(await client.getTransactionReceipt({ hash: tx.hash as Hex }), {
      status: 'success',
      blockNumber: BigInt(at + 1),
    })
  }
  wallet.provider?.destroy()

  const snapshot = await client.snapshot()
  const owned = await client.getBalance({ address: stranger })
  t.match(await ask(service, 'anvil_addBalance', stranger, '1500000001'), { result: null })
  t.equal(await client.getBalance({ address: stranger }), owned + 2_000_000_000n, 'to the gwei above')
  t.equal((await client.getBlock()).withdrawals?.length, 1)
  const hash = await client.sendTransaction({ to: stranger, value: 1n, type: 'legacy' })
  t.equal((await client.getTransactionReceipt({ hash })).blockNumber, 4n)
  await client.mine({ blocks: 3, interval: 60 })
  const { number, timestamp } = await client.getBlock()
  t.equal(number, 7n)
  t.equal(timestamp - (await client.getBlock({ blockNumber: 5n })).timestamp, 120n)
  await client.setNextBlockTimestamp({ timestamp: timestamp + 5_000n })
  await client.mine({ blocks: 1 })
  t.equal((await client.getBlock()).timestamp, timestamp + 5_000n)
  await client.increaseTime({ seconds: 86_400 })
  await client.mine({ blocks: 1 })
  t.ok((await client.getBlock()).timestamp >= timestamp + 91_400n)
  // The blocks come faster than one per second.
  await client.mine({ blocks: 100 })
  const ahead = (await client.getBlock()).timestamp
  await client.increaseTime({ seconds: 60 })
  await client.mine({ blocks: 1 })
  t.ok((await client.getBlock()).timestamp >= ahead + 60n)

  t.match(await ask(service, 'evm_revert', snapshot), { result: true })
  t.equal(await headOf(service), 2)
  t.equal(await client.getBalance({ address: stranger }), 7n)
  await t.rejects(client.getTransaction({ hash }), { name: 'TransactionNotFoundError' })
  t.match(await ask(service, 'evm_revert', snapshot), { result: false }, 'a snapshot serves once')
  await client.sendTransaction({ to: stranger, value: 2n })
  t.equal(await client.getBalance({ address: stranger }), 9n)

  t.match(await ask(service, 'evm_mine', { timestamp: '99999999999', blocks: 2 }), { result: '0x0' })
  t.equal(await headOf(service), 5)
  for (const [method, params, why] of [
    ['evm_mine', [1], /timestamp 1 is not after 1\d{11}, that of block 5/],
    ['evm_mine', ['soon'], 'invalid argument 0: expected a whole number, or one as a text'],
    ['evm_mine', [{ timestamp: 2e11, blocks: 1_000_001 }], 'invalid argument 0: expected at most 1000000'],
    ['evm_increaseTime', [], 'invalid argument 0: expected a whole number, or one as a text'],
    ['anvil_addBalance', ['0x57', '0x1'], 'invalid argument 0: expected an address'],
    ['anvil_addBalance', [stranger, `0x${'f'.repeat(64)}`], /at most 18446744073709551615 gwei at once/],
    ['anvil_setBalance', ['0x57', '0x1'], 'invalid argument 0: expected an address'],
    ['anvil_setCode', [stranger, 'code'], 'invalid argument 1: expected code in hex'],
    [
      'hardhat_setStorageAt',
      [stranger, '0x0', '0x'],
      'invalid argument 2: expected a whole number, or one as a text',
    ],
    [
      'hardhat_setNonce',
      [stranger, `0x${'f'.repeat(16)}`],
      /invalid argument 1: expected at most 18446744073709551614/,
    ],
    ['anvil_setBlockGasLimit', ['0x1'], /invalid argument 0: expected 5000 to/],
    ['anvil_impersonateAccount', ['me'], 'invalid argument 0: expected an address'],
    ['evm_setIntervalMining', [5_000], 'invalid argument 0: expected at most 3600'],
    ['evm_setAutomine', ['yes'], 'invalid argument 0: expected true or false'],
    ['anvil_dropTransaction', ['0x57'], 'invalid argument 0: expected the hash of a transaction'],
    [
      'anvil_reset',
      [{ forking: { jsonRpcUrl: 'http://127.0.0.1:1' } }],
      /with "forking" is not possible here/,
    ],
  ] as const) {
    t.match((await ask(service, method, ...params)).error, { message: why }, method)
  }
  for (const method of ['evm_mine', 'anvil_mine']) {
    t.match(await ask(service, method, null), { error: undefined }, 'as if it were left out')
  }
  t.equal(await headOf(service), 7)
  t.ok((await client.getBlock()).timestamp < 200_000_000_000n, 'a refused call sets no time')
  await checkChain(t, own)
})

t.test('transactions wait for their turn, and are refused with a reason', async (t) => {
  const own = await startDeveloper(t, { blockSeconds: 3_600 })
  const { service } = own
  const client = clientOf(service, ada)
  const fees = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1n, gas: 21_000n, to: stranger } as const
  const sign = (nonce: number, more: object = {}, account = ada) =>
    client.signTransaction({ account, chain: client.chain, ...fees, nonce, type: 'eip1559', ...more })
  const send = async (raw: Hex) => (await ask(service, 'eth_sendRawTransaction', raw)) as { result: Hex }
  const refusal = async (raw: Hex) => (await ask(service, 'eth_sendRawTransaction', raw)).error?.message

  const third = await send(await sign(2, { value: 3n }))
  const first = await send(await sign(0, { value: 1n }))
  const replaced = await send(await sign(1, { value: 99n }))
  t.equal(
    await refusal(await sign(1, { value: 2n, maxFeePerGas: 2_199_999_999n, maxPriorityFeePerGas: 2n })),
    'replacement transaction underpriced',
  )
  const second = await send(
    await sign(1, { value: 2n, maxFeePerGas: 2_200_000_000n, maxPriorityFeePerGas: 2n }),
  )
  const other = await send(await sign(0, { value: 4n }, bea))
  const cheap = await send(await sign(1, { maxFeePerGas: 1n, value: 5n }, bea))
  t.match(await client.getTransaction({ hash: second.result }), { blockNumber: null, nonce: 1 })
  t.equal(await client.getTransactionCount({ address: ada.address, blockTag: 'pending' }), 3)
  t.equal(await client.getTransactionCount({ address: ada.address }), 0)
  t.equal(await refusal(await sign(0, { value: 4n }, bea)), 'already known')
  t.match(await refusal(await sign(3, { gas: 31_000_000n })), 'exceeds block gas limit')
  t.match(
    await refusal(await sign(3, { value: 2n ** 90n })),
    /^insufficient funds for gas \* price \+ value: balance/,
  )
  t.match(await refusal(await sign(3, { gas: 20_000n })), /^intrinsic gas too low/)

  await client.mine({ blocks: 1 })
  const { transactions } = await client.getBlock()
  t.strictSame(
    transactions,
    [first, second, third, other].map(({ result }) => result),
  )
  t.equal(await client.getBalance({ address: stranger }), 10n)
  await t.rejects(client.getTransaction({ hash: replaced.result }), { name: 'TransactionNotFoundError' })
  t.match(
    await client.getTransaction({ hash: cheap.result }),
    { blockNumber: null },
    'its fee is too low for now',
  )
  t.equal(await refusal(await sign(2)), 'nonce too low: next nonce 3, tx nonce 2')

  // Each transaction alone is covered by the funds, but both together are not.
  const balance = await client.getBalance({ address: ada.address })
  const half = { value: (balance * 2n) / 3n }
  const paid = await send(await sign(3, half))
  const unpaid = await send(await sign(4, half))
  await client.mine({ blocks: 2 })
  t.match(await client.getTransactionReceipt({ hash: paid.result }), { status: 'success', blockNumber: 2n })
  await t.rejects(client.getTransaction({ hash: unpaid.result }), { name: 'TransactionNotFoundError' })
  t.match(
    service.said.err,
    new RegExp(`${unpaid.result}, which waited for block 2, is dropped: .*insufficient funds`),
  )
  t.notMatch(own.service.said.err, /internal error|defect/)
})

t.test('blocks fill up to their gas limit, and the base fee follows', async (t) => {
  const genesis = testGenesis(mergedConfig(), { gasLimit: '0x15f90', baseFeePerGas: '0x3b9aca00' })
  const own = await startDeveloper(t, { genesis, blockSeconds: 3_600 })
  const client = clientOf(own.service, ada)
  const common = { to: stranger, gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 0n } as const
  for (let sent = 0; sent < 6; sent++) await client.sendTransaction(common)
  await client.mine({ blocks: 2 })
  const counts = [1n, 2n].map((blockNumber) => client.getBlockTransactionCount({ blockNumber }))
  t.strictSame(await Promise.all(counts), [4, 2])
  const one = await client.getBlock({ blockNumber: 1n })
  const two = await client.getBlock({ blockNumber: 2n })
  t.equal(one.gasUsed, 84_000n)
  t.ok((two.baseFeePerGas ?? 0n) > (one.baseFeePerGas ?? 0n))
  t.notMatch(own.service.said.err, /internal error|defect/)
})

t.test(
  'a fork of the schedule comes in its time, with its parts of a block',
  { skip: withoutAmsterdam },
  async (t) => {
    const amsterdamTime = 5_000_000_000
    const { config, alloc, ...rest } = JSON.parse(
      readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8'),
    )
    const accounts = { ...alloc, [ada.address]: { balance: '0xffffffffffffffffffff' } }
    const own = await startDeveloper(t, {
      genesis: { ...rest, config: { ...config, amsterdamTime }, alloc: accounts },
    })
    const client = clientOf(own.service, ada, config.chainId)
    await client.sendTransaction({ to: null, data: '0x600160005360016000f3' })
    t.notOk((await ask(own.service, 'eth_getBlockByNumber', 'latest', false)).result.blockAccessListHash)
    t.match(await ask(own.service, 'evm_mine', amsterdamTime), { result: '0x0' })
    const hash = await client.sendTransaction({ to: null, data: '0x600260005360016000f3' })
    t.equal((await client.getTransactionReceipt({ hash })).status, 'success')
    t.match(await ask(own.service, 'anvil_addBalance', stranger, '1000000000'), { result: null })
    const { result } = await ask(own.service, 'eth_getBlockByNumber', 'latest', false)
    t.match(result, { number: '0x4', slotNumber: '0x2', blockAccessListHash: /^0x/ })
    const list = (await ask(own.service, 'eth_getBlockAccessList', '0x3')).result as { address: string }[]
    t.ok(list.some(({ address }) => address === ada.address.toLowerCase()))
    await checkChain(t, own)
  },
)

t.test('a chain with proof of work gets blocks too', async (t) => {
  const own = await startDeveloper(t, { genesis: testGenesis(frontierConfig()) })
  const client = clientOf(own.service, ada)
  const { result: gas } = await ask(own.service, 'eth_gasPrice')
  const raw = await ada.signTransaction({
    type: 'legacy',
    to: stranger,
    value: 4n,
    gas: 21_000n,
    gasPrice: BigInt(gas),
    nonce: 0,
  })
  await client.sendRawTransaction({ serializedTransaction: raw })
  t.equal(await client.getBalance({ address: stranger }), 4n)
  t.match((await ask(own.service, 'anvil_addBalance', stranger, '0x9')).error, {
    message: /is before Shanghai/,
  })
  t.equal(await own.service.stop(), 0)
  t.match(await runHere(['verify', '--config', own.config, '--network', 'dev']), { status: 0 })
})

t.test('when blocks are made is set, and what waits is dropped', async (t) => {
  const own = await startDeveloper(t)
  const { service } = own
  for (const mode of ['anvil', 'hardhat'] as const) {
    const client = clientOf(service, ada, 7357, mode)
    t.equal(await client.getAutomine(), true)
    await client.setAutomine(false)
    t.equal(await client.getAutomine(), false)
    const before = await headOf(service)
    const send = (nonce: number) => client.sendTransaction({ to: stranger, value: 1n, nonce, gas: 21_000n })
    const nonce = await client.getTransactionCount({ address: ada.address })
    const kept = await send(nonce)
    const dropped = await send(nonce + 1)
    t.equal(await headOf(service), before)
    await client.dropTransaction({ hash: dropped })
    await t.rejects(client.getTransaction({ hash: dropped }), { name: 'TransactionNotFoundError' })
    t.match(await ask(service, `${mode}_dropTransaction`, dropped), {
      result: mode === 'anvil' ? null : false,
    })
    await client.setAutomine(true)
    t.equal((await client.getTransactionReceipt({ hash: kept })).blockNumber, BigInt(before + 1))
  }
  t.match(await ask(service, 'evm_setIntervalMining', 1), { result: null })
  const at = await headOf(service)
  await waitFor('two blocks that nobody asked for', async () => (await headOf(service)) >= at + 2)
  t.match(await ask(service, 'evm_setIntervalMining', 0), { result: null })
  const stopped = await headOf(service)
  const hash = await clientOf(service, ada).sendTransaction({ to: stranger, value: 1n })
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  t.equal(await headOf(service), stopped, 'no more come')
  await ask(service, 'evm_mine')
  t.match(await clientOf(service, ada).getTransactionReceipt({ hash }), { status: 'success' })
  t.notMatch(own.service.said.err, /internal error|defect/)
})

t.test('a client that takes the chain for that of Hardhat mines and pays', async (t) => {
  const own = await startDeveloper(t, { blockSeconds: 3_600 })
  const chain = defineChain({
    id: 7357,
    name: 'dev',
    nativeCurrency: { name: 'ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [own.service.origin] } },
  })
  const client = createTestClient({
    mode: 'hardhat',
    chain,
    transport: http(own.service.origin, { timeout: 0 }),
    cacheTime: 0,
  })
  await client.mine({ blocks: 3, interval: 60 })
  t.match(await ask(own.service, 'hardhat_addBalance', stranger, '1000000000000000000'), { result: true })
  const reader = client.extend(publicActions)
  t.equal(await reader.getBalance({ address: stranger }), 10n ** 18n)
  const [first, third] = [
    await reader.getBlock({ blockNumber: 1n }),
    await reader.getBlock({ blockNumber: 3n }),
  ]
  t.equal(third.timestamp - first.timestamp, 120n)
  t.match(await ask(own.service, 'hardhat_mine'), { result: true })
  t.notMatch(own.service.said.err, /internal error|defect/)
})

t.test('rules by which no block can be made are said in a sentence', async (t) => {
  const { alloc, ...genesis } = testGenesis(mergedConfig()) as unknown as { alloc: Record<string, unknown> }
  const accounts = Object.entries(alloc).filter(([address]) => !address.startsWith('0x00000961'))
  const { service } = await startDeveloper(t, {
    genesis: { ...genesis, alloc: Object.fromEntries(accounts) },
  })
  t.match((await ask(service, 'evm_mine')).error, {
    message: /^block 1 cannot be made: the system contract 0x00000961\S+ of requests 1 has no code$/,
  })
})

/** Health of `dev`, as soon as `holds`. */
function healthOf(service: Service, holds: (entry: { trouble?: string }) => boolean) {
  return waitFor('the health of the network', async () => {
    const { status, networks } = JSON.parse(await (await fetch(`${service.origin}/health`)).text())
    return holds(networks.dev) && { status, ...networks.dev }
  })
}

t.test(
  'a transaction with which no block is valid is dropped, and the others have their blocks',
  async (t) => {
    // No rule of a transaction is broken: the block is invalid for the log of a deposit that it has then.
    const [deposits, topic] = [
      `0x${'de'.repeat(20)}`,
      keccak256(toBytes('DepositEvent(bytes,bytes,bytes,bytes,bytes)')),
    ]
    const { config, alloc, ...rest } = testGenesis(mergedConfig()) as unknown as Record<string, object>
    const own = await startDeveloper(t, {
      genesis: {
        ...rest,
        config: { ...config, depositContractAddress: deposits },
        alloc: { ...alloc, [deposits]: { balance: '0x0', code: `0x7f${topic.slice(2)}60006000a100` } },
      },
      blockSeconds: 3_600,
    })
    const { service } = own
    const one = clientOf(service, ada)
    const other = clientOf(service, bea)
    const to = stranger
    const bad = { to: deposits as Hex, gas: 100_000n }
    for (let nonce = 0; nonce < 3; nonce++) await one.sendTransaction({ to, value: 1n, nonce })
    const dropped = await other.sendTransaction(bad)
    const last = await one.sendTransaction({ to, value: 1n, nonce: 3 })
    await one.mine({ blocks: 2 })
    t.match(service.said.err, new RegExp(`${dropped}, which waited for block 1, is dropped: .*deposit`))
    t.equal((await one.getBlock({ blockNumber: 1n })).transactions.length, 3)
    t.strictSame((await one.getBlock({ blockNumber: 2n })).transactions, [last])
    await other.sendTransaction(bad)
    await one.mine({ blocks: 1 })
    t.strictSame((await one.getBlock()).transactions, [], 'one that is alone')
    t.match(await healthOf(service, () => true), { status: 'ok', trouble: undefined })
    await checkChain(t, own)
  },
)

t.test('a block may have more logs than a call has arguments', async (t) => {
  // JUMPDEST; 100 times PUSH0 PUSH0 LOG0; again while more than 65,536 gas are left.
  const code = `0x5b${'5f5fa0'.repeat(100)}5a62010000105f5700`
  const { alloc, ...rest } = testGenesis(mergedConfig()) as unknown as Record<string, object>
  const logger: Hex = `0x${'10'.repeat(20)}`
  const own = await startDeveloper(t, {
    genesis: {
      ...rest,
      gasLimit: `0x${(72_000_000).toString(16)}`,
      alloc: { ...alloc, [logger]: { balance: '0x0', code } },
    },
  })
  const client = clientOf(own.service, ada)
  const hash = await client.sendTransaction({ to: logger, gas: 71_000_000n })
  const block = await client.getBlock()
  t.strictSame(block.transactions, [hash])
  const logs = block.gasUsed / 381n
  t.ok(logs > 180_000n, `${logs} logs, where a call has some 120,000 arguments`)
  await checkChain(t, own)
})

t.test('health tells of a chain that makes no blocks, until it makes one', async (t) => {
  const { alloc, ...genesis } = testGenesis(mergedConfig()) as unknown as { alloc: Record<string, unknown> }
  const accounts = Object.entries(alloc).filter(([address]) => !address.startsWith('0x00000961'))
  const { service } = await startDeveloper(t, {
    genesis: { ...genesis, alloc: Object.fromEntries(accounts) },
    blockSeconds: 1,
  })
  const { status, trouble } = await healthOf(service, ({ trouble }) => trouble !== undefined)
  t.equal(status, 'failing')
  t.match(trouble, /^no blocks are made: block 1 cannot be made: the system contract 0x00000961/)
  await waitFor('the log', () => service.said.err.includes('no blocks are made'))
  t.match((await ask(service, 'eth_chainId')).result, /^0x/, 'what there is, is answered')
  t.equal(await service.stop(), 0)
  t.equal(service.said.err.split('no blocks are made').length, 2, 'once, not with each attempt')
})

t.test('after a kill the chain goes on from where it was', async (t) => {
  const own = await startDeveloper(t, { blockSeconds: 1 })
  let { service } = own
  const seen = new Map<number, string>()
  const kills = Number(process.env.KILLS ?? 2)
  for (let kill = 0; kill < kills; kill++) {
    const client = clientOf(service, ada)
    const hash = await client.sendTransaction({ to: stranger, value: 1n })
    await client.waitForTransactionReceipt({ hash })
    await client.mine({ blocks: 20 })
    const head = await client.getBlock()
    seen.set(Number(head.number), head.hash)
    void ask(service, 'anvil_mine', 1_000).catch(() => undefined)
    await waitFor('some of the blocks', async () => (await headOf(service)) > Number(head.number) + kill)
    service.process.kill('SIGKILL')
    service = await startService(['--config', own.config, '--no-auth'])
    t.teardown(() => service.stop())
    for (const [number, hash] of seen) {
      const { result } = await service.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
      t.equal(result?.hash, hash, 'what was seen is still there')
    }
  }
  t.equal(await clientOf(service, ada).getBalance({ address: stranger }), BigInt(kills))
  await checkChain(t, { ...own, service })
})

t.test('several edges, and a recorded chain beneath', async (t) => {
  const data = makeFolder(t)
  const made = await startDeveloper(t)
  await ask(made.service, 'anvil_mine', 5)
  await made.service.stop()
  const words = ['--network', 'dev', '--data', join(made.folder, 'data'), '--out', data]
  t.match(await runHere(['export', ...words]), { status: 0 })
  const [name = ''] = readdirSync(data)
  const recorded = join(data, name)

  // The genesis block in front of the file is passed over.
  const own = await startDeveloper(t, { recorded, edges: 2 })
  const client = clientOf(own.service, bea)
  await waitFor('the recorded blocks', async () => (await headOf(own.service)) === 5)
  for (let nonce = 0; nonce < 6; nonce++) {
    const hash = await client.sendTransaction({ to: stranger, value: 1n, nonce, gas: 21_000n })
    t.match(await client.waitForTransactionReceipt({ hash }), { blockNumber: BigInt(6 + nonce) })
  }
  const socket = await SocketClient.connect(`${own.service.origin.replace('http', 'ws')}/ws`)
  t.match(await socket.ask('{"jsonrpc":"2.0","id":3,"method":"evm_mine"}'), '"id":3,"result":"0x0"')
  socket.socket.close()
  t.equal(await own.service.stop(), 0)
  const again = await startService(['--config', own.config, '--no-auth'])
  t.teardown(() => again.stop())
  t.equal(await headOf(again), 12, 'the file is not played again')
})

t.test(
  'replicas have a developer chain too, and a standby goes on with it',
  { skip: withoutPostgres },
  async (t) => {
    const { url } = await startPostgres(t)
    const folder = makeFolder(t)
    const genesis = writeInto(folder, 'genesis.json', testGenesis(mergedConfig()))
    const start = async (dataDir: string, network: object) => {
      const networks = [{ name: 'dev', genesis, ...network }]
      const config = writeConfig(folder, { dataDir, networks }, `${dataDir}.json`)
      const service = await startService(['--config', config, '--no-auth'])
      t.teardown(() => service.stop())
      return service
    }
    const written = { source: { type: 'develop', blockSeconds: 0 }, publish: { url, leaseMs: 5_000 } }
    const writer = await start('writer', written)
    await waitFor('the lease', async () => (await ask(writer, 'evm_mine')).result === '0x0')
    const standby = await start('standby', written)
    const replica = await start('replica', { source: { type: 'feed', url } })
    const agree = async (first: Service, others: readonly Service[]) => {
      const { hash } = (await ask(first, 'eth_getBlockByNumber', 'latest', false)).result
      for (const other of others) {
        const reached = async () =>
          (await ask(other, 'eth_getBlockByNumber', 'latest', false)).result.hash === hash
        await waitFor(`the head ${hash}`, reached)
      }
    }
    t.match((await ask(replica, 'evm_mine')).error, { code: -32601 })
    t.match((await ask(standby, 'evm_mine')).error, { message: /stands by/ })
    const { result: snapshot } = await ask(writer, 'evm_snapshot')
    await clientOf(writer, ada).sendTransaction({ to: stranger, value: 3n })
    await ask(writer, 'anvil_mine', 4)
    await agree(writer, [standby, replica])
    t.equal(await clientOf(replica, ada).getBalance({ address: stranger }), 3n)
    const refused = { message: /^anvil_setNonce is not possible here: replicas would refuse/ }
    t.match((await ask(writer, 'anvil_setNonce', stranger, 5)).error, refused)
    t.match(await ask(writer, 'evm_revert', snapshot), { result: true })
    await agree(writer, [standby, replica])
    t.equal(await headOf(replica), 1)
    t.equal(await writer.stop(), 0)
    await waitFor('the standby to write', async () => (await ask(standby, 'evm_mine')).result === '0x0')
    await agree(standby, [replica])
  },
)

t.test('elsewhere its methods do not exist', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  for (const method of ['evm_mine', 'evm_snapshot', 'anvil_setBalance', 'hardhat_setCode']) {
    t.match((await ask(service, method)).error, { code: -32601 }, method)
  }
})
