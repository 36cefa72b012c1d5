import t, { type Test } from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { hexToBytes } from '../../../src/primitives/bytes.js'
import { addressOf, headBlock, hex, type Json, keccak, quantity } from '../../rpc/demoChain.js'
import { checkBlocks, code, person, sending, word } from '../../rpc/simulating.js'
import { simulationRefusals } from '../../rpc/simulationRefusals.js'
import { bytesOfTransactionJson } from '../../rpc/transactionOracle.js'
import { startService } from '../../service/service.js'
import { returnTop } from '../../unit/execution/evm/assembly.js'

const service = await startService()
t.teardown(() => service.stop())

const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')
const ether = quantity(10n ** 18n)
const ask = (payload: Json, block: unknown = 'latest') => service.call('eth_simulateV1', [payload, block])

/** The simulated blocks, each checked against its own hash and the one before it. */
async function simulate(t: Test, payload: Json, block: unknown = 'latest'): Promise<Json[]> {
  const { result, error } = await ask(payload, block)
  if (error !== undefined) throw new Error(JSON.stringify(error))
  checkBlocks(t, result)
  return result
}

t.test('blocks follow each other, and gaps are filled', async (t) => {
  const number = Number(headBlock.number)
  const [first, gap, second] = (await simulate(t, {
    blockStateCalls: [
      { calls: [{ from: bea, to: cal, value: '0x1' }] },
      { blockOverrides: { number: quantity(number + 3) }, calls: [{ from: bea, to: cal, value: '0x2' }] },
    ],
  })) as [Json, Json, Json]
  t.match(first, { parentHash: headBlock.hash, number: quantity(number + 1), baseFeePerGas: '0x0' })
  t.match(gap, { number: quantity(number + 2), calls: [], transactions: [] })
  t.match(second, { number: quantity(number + 3), calls: [{ status: '0x1', gasUsed: '0x5208' }] })
  t.equal(Number(second.timestamp) - Number(gap.timestamp), 12)
  t.not(first.stateRoot, second.stateRoot)
})

t.test('a later message finds what an earlier one did, in its block and in the next', async (t) => {
  const data = hex(encodeCall('transfer(address,uint256)', [hexToBytes(cal.slice(2)), 1_000]))
  const read = { to: tide, data: hex(encodeCall('balanceOf(address)', [hexToBytes(cal.slice(2))])) }
  const transfer = { from: bea, to: tide, data }
  const [one, two] = (await simulate(t, {
    blockStateCalls: [{ calls: [read, transfer, read] }, { calls: [transfer, read] }],
  })) as [Json, Json]
  const balances = [...(one.calls as Json[]), ...(two.calls as Json[])]
    .map(({ returnData }) => BigInt(returnData as string))
    .filter((value) => value > 1n)
  const [start = 0n] = balances
  t.strictSame(balances, [start, start + 1_000n, start + 2_000n])
})

t.test('without validation nobody has to own what blobs cost', async (t) => {
  const blobs = { from: person('5'), to: cal, blobVersionedHashes: [`0x01${'11'.repeat(31)}`] }
  const [block] = (await simulate(t, { blockStateCalls: [{ calls: [blobs] }] })) as [Json]
  t.match(block, { blobGasUsed: '0x20000', calls: [{ status: '0x1' }] })
  const spend = { ...blobs, to: tide, value: '0x1', blobVersionedHashes: undefined }
  t.match((await ask({ blockStateCalls: [{ calls: [blobs, spend] }] })).error, {
    code: -38014,
    message: /have 0 want 1 /,
  })
  // With a gas price the message is no blob transaction.
  const [legacy] = (await simulate(t, { blockStateCalls: [{ calls: [{ ...blobs, gasPrice: '0x0' }] }] })) as [
    Json,
  ]
  t.match(legacy, { blobGasUsed: '0x0', calls: [{ status: '0x1' }] })
  const { error } = await ask({
    blockStateCalls: [{ calls: [{ ...blobs, nonce: '0x0' }] }],
    validation: true,
  })
  t.match(error, { code: -38012 })
  const creation = { from: bea, blobVersionedHashes: blobs.blobVersionedHashes }
  t.match((await ask({ blockStateCalls: [{ calls: [creation] }] })).error, {
    code: -32000,
    message: 'blob transaction of type create',
  })
})

t.test(
  'without validation blobs are paid at the price of their block, as far as the sender can',
  async (t) => {
    const payer = person('6')
    const reader = person('7')
    // The balance of the caller, and the price by BLOBBASEFEE.
    const seen = code('CALLER', 'BALANCE', 0, 'MSTORE', 'BLOBBASEFEE', 32, 'MSTORE', 64, 0, 'RETURN')
    const paid = async (balance: bigint, price: bigint, count: number, more: Json = {}) => {
      const blobVersionedHashes = Array.from({ length: count }, (_, at) => `0x01${`0${at}`.repeat(31)}`)
      const [block] = (await simulate(t, {
        blockStateCalls: [
          {
            blockOverrides: { blobBaseFee: quantity(price) },
            stateOverrides: { [payer]: { balance: quantity(balance) }, [reader]: { code: seen } },
            calls: [{ from: payer, to: reader, gas: '0x186a0', blobVersionedHashes, ...more }],
          },
        ],
      })) as [Json]
      const [{ returnData, status, error }] = block.calls as [Json & { readonly returnData: string }]
      t.equal(status, '0x1', JSON.stringify(error))
      t.equal(BigInt(`0x${returnData.slice(66)}`), price)
      return balance - BigInt(returnData.slice(0, 66))
    }
    for (const price of [1n, 0x693ccn, 10n ** 9n]) {
      for (const count of [1, 3, 6]) {
        const cost = BigInt(count) * 131_072n * price
        t.equal(await paid(10n ** 18n, price, count), cost)
        t.equal(await paid(cost, price, count), cost)
        t.equal(await paid(cost - 1n, price, count), cost - 1n)
        t.equal(await paid(cost, price, count, { value: '0x2' }), cost, 'the value goes first')
        const capped = { maxFeePerBlobGas: quantity(price) }
        t.equal(await paid(cost + 5n, price, count, capped), cost)
      }
    }
    t.equal(await paid(10n ** 18n, 0n, 2), 0n)
  },
)

t.test('the first block on the terminal total difficulty has proof of stake', async (t) => {
  // The demo network merges at block 130.
  const first = async (block: number, blockOverrides: Json = {}) =>
    (await simulate(t, { blockStateCalls: [{ blockOverrides }] }, quantity(block)))[0] as Json
  t.not((await first(128)).difficulty, '0x0')
  t.equal((await first(128, { difficulty: '0x1234' })).difficulty, '0x1234')
  t.equal((await first(129)).difficulty, '0x0')
  t.equal((await first(200, { difficulty: '0x0' })).difficulty, '0x0')
  // London is the first fork with which it can merge.
  t.equal((await first(57, { difficulty: '0x0' })).baseFeePerGas, undefined)
})

t.test('the first block with a base fee has the first one, whatever its parent says', async (t) => {
  const payload = { blockStateCalls: [{ blockOverrides: { baseFeePerGas: '0x0' } }, {}], validation: true }
  const [before, london] = (await simulate(t, payload, quantity(98))) as [Json, Json]
  t.match([before.baseFeePerGas, london.baseFeePerGas], ['0x0', '0x3b9aca00'])
})

t.test('a creation that fails because its nonce has the greatest value is paid', async (t) => {
  const poor = person('8')
  const reader = person('9')
  const [block] = (await simulate(t, {
    blockStateCalls: [
      {
        stateOverrides: {
          [poor]: { nonce: '0xffffffffffffffff', balance: ether },
          [reader]: { code: code(BigInt(poor), 'BALANCE', returnTop) },
        },
        calls: [{ from: poor, data: '0x00', gas: '0x10000', gasPrice: quantity(10n ** 12n) }, { to: reader }],
      },
    ],
  })) as [Json]
  const [creation, balance] = block.calls as [Json, Json]
  t.match(creation, { status: '0x0', error: { message: 'nonce uint64 overflow' } })
  t.equal(BigInt(balance.returnData as string), 10n ** 18n - BigInt(creation.gasUsed as string) * 10n ** 12n)
})

t.test('the hash of a simulated block is read by BLOCKHASH', async (t) => {
  const here = person('7')
  const readHash = { code: code(1, 'NUMBER', 'SUB', 'BLOCKHASH', returnTop) }
  const [first, second] = (await simulate(t, {
    blockStateCalls: [
      { stateOverrides: { [here]: readHash }, calls: [{ to: here }] },
      { calls: [{ to: here }] },
    ],
  })) as [Json, Json]
  t.match(first, { calls: [{ returnData: headBlock.hash }] })
  t.match(second, { calls: [{ returnData: first.hash }] })
})

t.test('transactions in full are those whose hashes the block has', async (t) => {
  const calls = [
    { from: bea, to: cal, value: '0x1', maxFeePerGas: '0x9', maxPriorityFeePerGas: '0x2' },
    { from: bea, to: cal, gasPrice: '0x7', input: '0x01' },
    { from: bea, input: '0x00' },
    { from: bea, to: cal, gasPrice: '0x7', accessList: [{ address: bea, storageKeys: [] }] },
  ]
  const payload = { blockStateCalls: [{ blockOverrides: { baseFeePerGas: '0x3' }, calls }] }
  const [short] = (await simulate(t, payload)) as [Json]
  const [full] = (await simulate(t, { ...payload, returnFullTransactions: true })) as [Json]
  const transactions = full.transactions as Json[]
  t.strictSame(
    transactions.map((json) => keccak(bytesOfTransactionJson(json))),
    short.transactions,
  )
  t.match(transactions, [
    { type: '0x2', from: bea, gasPrice: '0x5', nonce: /^0x/, blockHash: full.hash, r: '0x0', yParity: '0x0' },
    { type: '0x0', gasPrice: '0x7', transactionIndex: '0x1' },
    { type: '0x2', to: null },
    { type: '0x1', gasPrice: '0x7', accessList: [{ address: bea, storageKeys: [] }] },
  ])
  t.equal(Number(transactions[2]?.nonce), Number(transactions[0]?.nonce) + 2)
})

t.test('transfers are logged where they happen, and not those of failed frames', async (t) => {
  const payer = person('a')
  const heir = person('b')
  const failing = person('c')
  const stateOverrides = {
    // Logs, sends 5 to the heir and 6 to a failing contract, then leaves its balance to the heir.
    [payer]: {
      balance: '0x64',
      code: code(0, 0, 'LOG0', sending(heir, 5), sending(failing, 6), BigInt(heir), 'SELFDESTRUCT'),
    },
    [failing]: { code: code('INVALID') },
    [bea]: { balance: ether },
  }
  const calls = [
    { from: bea, to: payer, value: '0x1' },
    { from: bea, to: failing, value: '0x2', gas: '0x186a0' },
    { from: bea, to: heir, value: '0x3' },
  ]
  const blockStateCalls = [{ stateOverrides, calls }]
  const [traced] = (await simulate(t, { blockStateCalls, traceTransfers: true })) as [Json]
  const logs = (traced.calls as { logs: Json[] }[]).map(({ logs }) => logs)
  const transfer = (from: string, to: string, wei: number, logIndex: string) => ({
    address: person('e'),
    topics: [
      '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
      word(BigInt(from)),
      word(BigInt(to)),
    ],
    data: word(wei),
    logIndex,
    blockHash: traced.hash,
    blockTimestamp: traced.timestamp,
    removed: false,
  })
  t.match(logs[0], [
    transfer(bea, payer, 1, '0x0'),
    { address: payer, topics: [], data: '0x', logIndex: '0x1' },
    transfer(payer, heir, 5, '0x2'),
    // The transfer between them was undone.
    transfer(payer, heir, 0x64 + 1 - 5, '0x3'),
  ])
  t.equal(logs[0]?.length, 4)
  t.strictSame(logs[1], [])
  t.match(logs[2], [transfer(bea, heir, 3, '0x4')])
  const [untraced] = (await simulate(t, { blockStateCalls })) as [Json]
  t.match(untraced.calls, [{ logs: [{ address: payer, logIndex: '0x0' }] }, { logs: [] }, { logs: [] }])
  for (const member of ['stateRoot', 'receiptsRoot', 'logsBloom', 'hash']) {
    t.equal(traced[member], untraced[member], `transfers do not change the ${member}`)
  }
})

t.test('failures of messages are part of the answer', async (t) => {
  const thrower = person('a')
  const ender = person('b')
  const reason = hex(encodeCall('Error(string)', ['too late']))
  const stateOverrides = {
    [thrower]: { code: code('CALLDATASIZE', 0, 0, 'CALLDATACOPY', 'CALLDATASIZE', 0, 'REVERT') },
    [ender]: { code: code('INVALID') },
  }
  const calls = [
    { to: thrower, input: reason },
    { to: thrower },
    { to: ender, gas: '0x186a0' },
    { to: ender },
  ]
  const [block] = (await simulate(t, { blockStateCalls: [{ stateOverrides, calls }] })) as [Json]
  t.match(block.calls, [
    {
      status: '0x0',
      returnData: '0x',
      error: { code: 3, message: 'execution reverted: too late', data: reason },
    },
    { status: '0x0', error: { code: 3, message: 'execution reverted', data: '0x' } },
    { status: '0x0', gasUsed: '0x186a0', error: { code: -32015, message: 'invalid opcode: INVALID' } },
    { status: '0x0', error: { code: -32015 } },
  ])
})

t.test('the gas of all messages together is limited', async (t) => {
  const ender = person('b')
  const blockOverrides = { gasLimit: quantity(200_000_000) }
  const burn = { to: ender, gas: quantity(30_000_000) }
  const stateOverrides = { [ender]: { code: code('INVALID') } }
  const blocks = [{ blockOverrides, stateOverrides, calls: [burn] }, { calls: [burn] }]
  const [first, second] = (await simulate(t, { blockStateCalls: blocks })) as [Json, Json]
  t.match(first.calls, [{ gasUsed: quantity(30_000_000), error: { message: 'invalid opcode: INVALID' } }])
  t.match(second.calls, [
    {
      gasUsed: quantity(20_000_000),
      error: {
        message: "invalid opcode: INVALID (gas limit was capped by the RPC server's global gas cap)",
      },
    },
  ])
  const { error } = await ask({ blockStateCalls: [...blocks, { calls: [{ to: cal }] }] })
  t.match(error, { code: -38013, message: 'err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)' })
})

t.test('what breaks a rule is refused with its code', async (t) => {
  for (const [what, blockStateCalls, validation, code, message] of simulationRefusals) {
    const { error } = await ask({ blockStateCalls, validation })
    t.equal(error?.code, code, `${what}: ${error?.message}`)
    t.match(error?.message, message)
  }
})

t.test('without validation messages are free, contracts may send, and nonces do not matter', async (t) => {
  const contract = { [bea]: { code: '0x00' } }
  const free = { maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0' }
  const [block] = (await simulate(t, {
    blockStateCalls: [{ stateOverrides: contract, calls: [{ from: bea, to: cal, nonce: '0x3e7', ...free }] }],
    returnFullTransactions: true,
  })) as [Json]
  t.match(block, { calls: [{ status: '0x1' }], transactions: [{ nonce: '0x3e7' }] })
  const [validated] = (await simulate(t, { blockStateCalls: [{}], validation: true })) as [Json]
  t.not(validated.baseFeePerGas, '0x0', 'with validation the base fee follows from the parent')
})

t.test('a precompiled contract is called where it was moved, in that block', async (t) => {
  const sha256 = `0x${'0'.repeat(39)}2`
  const there = person('d')
  const calls = [
    { to: there, input: '0x' },
    { to: sha256, input: '0x' },
  ]
  const [moved, after] = (await simulate(t, {
    blockStateCalls: [{ stateOverrides: { [sha256]: { movePrecompileToAddress: there } }, calls }, { calls }],
  })) as [Json, Json]
  const digest = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  t.match(moved.calls, [{ returnData: digest }, { returnData: '0x' }])
  t.match(after.calls, [{ returnData: '0x' }, { returnData: digest }])
})
