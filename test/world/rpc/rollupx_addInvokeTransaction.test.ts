// @shares
import { RpcProvider } from 'starknet'
import t from 'tap'
import { hashVectors, makeTransaction, specTransaction } from '../../rollup/invokeTransactions.js'
import { startRollups } from '../../rollup/rollupService.js'
import { checkRefusals } from '../../rpc/questions.js'
import { SocketClient } from '../../transport/socketClient.js'

const method = 'rollupx_addInvokeTransaction'

/** A network for each test, and a second one for tests that need two. */
const networks = await startRollups(t, {
  roll: {},
  main: { chainId: 'SN_MAIN' },
  sepolia: {},
  integration: { chainId: 'SN_INTEGRATION_SEPOLIA' },
  synthetic: {},
  narrow: { calldataMax: 3, signatureMax: 2 },
  strict: {},
  idempotent: { idempotent: true },
  crowd: {},
  crowd2: { idempotent: true },
  priced: {},
  short: { queue: { transactionsMax: 3 } },
  small: { queue: { bytesMax: 600 } },
  large: {},
  prefixed: { prefix: 'tide', aliases: ['starknet'] },
  starknet: { prefix: 'starknet' },
})

const networkOf: Readonly<Record<string, keyof typeof networks>> = {
  SN_MAIN: 'main',
  SN_SEPOLIA: 'sepolia',
  SN_INTEGRATION_SEPOLIA: 'integration',
}

t.test('transactions of real chains get their known hashes', async (t) => {
  for (const { name, tx, chain_id: chainId, expected_hash } of hashVectors) {
    // The synthetic one has sender and nonce of another.
    const network = name.startsWith('synthetic') ? 'synthetic' : networkOf[chainId]
    if (network === undefined) throw new RangeError(`no network is of ${chainId}`)
    const service = networks[network]
    const answer = await service.submit(tx)
    if (name.endsWith('-query')) {
      t.strictSame(answer.error, { code: 61, message: 'the transaction version is not supported' }, name)
    } else t.strictSame(answer.result, { transaction_hash: expected_hash }, name)
  }
})

t.test('both shapes of the input and both ways to pass it are accepted', async (t) => {
  const service = networks.roll
  const first = await service.call(method, { invoke_transaction: specTransaction })
  t.match(first.result, { transaction_hash: /^0x[1-9a-f][0-9a-f]*$/ })
  const second = await service.call(method, [makeTransaction(5, 0)])
  t.match(second.result, { transaction_hash: /^0x[1-9a-f][0-9a-f]*$/ })
  t.strictSame(await service.status(second.result.transaction_hash), {
    finality_status: 'RECEIVED',
    queue_status: 'RECEIVED',
  })
})

t.test('a fault names its field', async (t) => {
  const service = networks.narrow
  const plain = makeTransaction(1, 1)
  const felt = 'a felt in hex (0x and 1 to 64 digits, less than 2^251 + 17·2^192 + 1)'
  await checkRefusals(t, service, method, [
    [[], -32602, 'missing value for required argument 0'],
    [{}, -32602, 'missing value for required argument 0'],
    [[plain, plain], -32602, 'too many arguments, want at most 1'],
    [{ transaction: plain }, -32602, 'unknown argument "transaction"'],
    [[7], -32602, 'invalid argument 0: want an invoke transaction object, got number'],
    [[{ ...plain, nonce: '7' }], -32602, `invalid argument 0: nonce: want ${felt}, got "7"`],
    [[{ ...plain, max_fee: '0x1' }], -32602, 'invalid argument 0: max_fee: unknown field'],
    [
      [{ ...plain, calldata: ['0x1', '0x2', '0x3', '0x4'] }],
      -32602,
      'invalid argument 0: calldata: want at most 3 items, got 4',
    ],
    [
      [{ ...plain, signature: ['1', '2', '3'] }],
      -32602,
      'invalid argument 0: signature: want at most 2 items, got 3',
    ],
    [[{ ...plain, version: '0x1' }], 61, 'the transaction version is not supported'],
    [
      [{ ...plain, version: '0x100000000000000000000000000000003' }],
      61,
      'the transaction version is not supported',
    ],
    [
      [
        {
          ...plain,
          resource_bounds: { l1_gas: '0x0', l2_gas: { max_amount: '0x0', max_price_per_unit: '0x9' } },
        },
      ],
      53,
      "The transaction's resources don't cover validation or the minimal transaction fee",
    ],
  ])
})

t.test('a duplicate is refused, unless the network is idempotent', async (t) => {
  const { strict, idempotent } = networks
  await strict.take(makeTransaction(1, 1))
  const message = 'A transaction with the same hash already exists in the mempool'
  t.strictSame((await strict.submit(makeTransaction(1, 1))).error, { code: 59, message })
  const hash = await idempotent.take(makeTransaction(1, 1))
  t.equal(await idempotent.take(makeTransaction(1, 1, { signature: ['0x9'] })), hash)
})

t.test('a thousand identical submissions at once make one row and one hash', async (t) => {
  for (const name of ['crowd2', 'crowd'] as const) {
    const service = networks[name]
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, () => service.submit(makeTransaction(7, 7))),
    )
    const hashes = answers.flatMap(({ result }) => (result ? [result.transaction_hash] : []))
    const codes = answers.flatMap(({ error }) => (error ? [error.code] : []))
    t.equal(new Set(hashes).size, 1)
    t.equal(hashes.length, name === 'crowd2' ? 1_000 : 1)
    t.ok(codes.every((code) => code === 59))
    const health = (await (await fetch(`${service.origin}/health`)).json()) as HealthBody
    t.equal(health.networks[name]?.waiting, 1)
  }
})

interface HealthBody {
  readonly networks: Record<string, { readonly waiting: number; readonly waitingBytes: number }>
}

t.test('another transaction with the nonce has to pay more', async (t) => {
  const service = networks.priced
  const priced = (tip: number, price: number, calldata: string) => ({
    ...makeTransaction(3, 0, { tip: `0x${tip.toString(16)}`, calldata: [calldata] }),
    resource_bounds: {
      l1_gas: { max_amount: '0x1', max_price_per_unit: '0x1' },
      l2_gas: { max_amount: '0x1', max_price_per_unit: `0x${price.toString(16)}` },
    },
  })
  const first = await service.take(priced(100, 1_000, '0x1'))
  const code = async (tip: number, price: number) =>
    (await service.submit(priced(tip, price, '0x2'))).error?.code
  t.equal(await code(100, 1_000), 52)
  t.equal(await code(50, 999), 52)
  t.equal(await code(110, 1_000), 64)
  t.equal(await code(109, 1_100), 64)
  t.equal(await code(110, 1_099), 64)
  t.equal(await code(200, 100), 64)
  const second = await service.take(priced(110, 1_100, '0x2'))
  t.strictSame(await service.status(first), {
    finality_status: 'REJECTED',
    failure_reason: `replaced by ${second}`,
    queue_status: 'REJECTED',
  })
  t.equal((await service.status(second)).queue_status, 'RECEIVED')
  t.equal(await code(100, 1_000), 52)
})

t.test('a full queue refuses with a clear error and loses nothing', async (t) => {
  const service = networks.short
  const hashes = [0, 1, 2].map((nonce) => service.take(makeTransaction(1, nonce)))
  await Promise.all(hashes)
  const body = { jsonrpc: '2.0', id: 1, method, params: [makeTransaction(1, 3)] }
  const { status, text } = await service.post('/', JSON.stringify(body))
  t.equal(status, 503)
  t.strictSame(JSON.parse(text).error, {
    code: -32005,
    message: 'server busy: 3 transactions wait for the sequencer; this transaction was not taken',
    data: { retryAfterMs: 1000 },
  })
  for (const hash of hashes) t.equal((await service.status(await hash)).queue_status, 'RECEIVED')
  const small = networks.small
  await small.take(makeTransaction(1, 0))
  t.match((await small.submit(makeTransaction(1, 1))).error, {
    code: -32005,
    message: /bytes of transactions wait/,
  })
})

t.test(
  'large transactions are hashed elsewhere: what follows on their connection is answered first',
  async (t) => {
    const calldata = Array.from({ length: 5_000 }, (_, i) => `0x${(BigInt(i) ** 20n).toString(16)}`)
    // They are hashed before the one of the connection, which alone could be done too soon on a busy machine.
    const others = Array.from({ length: 8 }, (_, nonce) =>
      networks.large.submit(makeTransaction(2, nonce, { calldata })),
    )
    const client = await SocketClient.connect(`${networks.large.url.replace('http', 'ws')}/ws`)
    t.teardown(() => client.cut())
    const params = [makeTransaction(1, 0, { calldata })]
    client.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    client.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'rollupx_chainId' }))
    t.match(JSON.parse((await client.next()) ?? ''), { id: 2, result: /^0x/ })
    t.match(JSON.parse((await client.next()) ?? ''), { id: 1, result: { transaction_hash: /^0x/ } })
    for (const { result } of await Promise.all(others)) t.match(result, { transaction_hash: /^0x/ })
  },
)

t.test('each kind of network knows its own methods, under its prefixes', async (t) => {
  const service = networks.prefixed
  const unknown = (name: string) => ({
    code: -32601,
    message: `the method ${name} does not exist/is not available`,
  })
  for (const name of ['eth_blockNumber', 'eth_chainId', 'net_version', 'rollupx_chainId']) {
    t.strictSame((await service.call(name)).error, unknown(name))
  }
  for (const name of ['tide_chainId', 'starknet_chainId']) {
    t.equal((await service.call(name)).result, '0x534e5f5345504f4c4941')
  }
})

t.test('starknet.js works unchanged, given its prefix', async (t) => {
  const service = networks.starknet
  const provider = new RpcProvider({ nodeUrl: service.url })
  t.equal(await provider.getChainId(), '0x534e5f5345504f4c4941')
  t.equal(await provider.getSpecVersion(), '0.10.2')
  const bound = { max_amount: 10n, max_price_per_unit: 20n }
  const { transaction_hash } = await provider.invokeFunction(
    { contractAddress: '0x123', calldata: ['1', '2'], signature: ['12', '13'] },
    {
      nonce: 4,
      version: '0x3',
      tip: 0,
      paymasterData: [],
      accountDeploymentData: [],
      nonceDataAvailabilityMode: 'L1',
      feeDataAvailabilityMode: 'L1',
      resourceBounds: { l1_gas: bound, l2_gas: bound, l1_data_gas: bound },
    },
  )
  t.match(await provider.getTransactionStatus(transaction_hash), { finality_status: 'RECEIVED' })
  t.match(await provider.getTransactionByHash(transaction_hash), {
    transaction_hash,
    sender_address: '0x123',
    nonce: '0x4',
    calldata: ['0x1', '0x2'],
    signature: ['0xc', '0xd'],
  })
})
