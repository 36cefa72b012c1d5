import t from 'tap'
import { blockAt, quantity } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_traceCall'
const service = await startService()
t.teardown(() => service.stop())

const contract = '0x00000000000000000000000000000000000c0de5'
const sentry = 'out of gas: not enough gas for reentrancy sentry'
const partly = 'out of gas: out of gas'
const tooMuch = 'out of gas: gas uint64 overflow'
const tooLarge = 'out of gas: max initcode size exceeded: code size 49153 limit 49152'
const withCode = (code: string) => ({ stateOverrides: { [contract]: { code } } })
const trace = async (call: object, options: object, block = 'latest') =>
  (await service.call(method, [call, block, options])).result

t.test('a message is traced with overridden state and block', async (t) => {
  // NUMBER PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
  const traced = await trace(
    { to: contract },
    { ...withCode('0x435f5260205ff3'), blockOverrides: { number: '0x1234' } },
  )
  t.equal(traced.failed, false)
  t.equal(BigInt(traced.returnValue), 0x1234n)
  t.strictSame(
    traced.structLogs.map(({ op }: { op: string }) => op),
    ['NUMBER', 'PUSH0', 'MSTORE', 'PUSH1', 'PUSH0', 'RETURN'],
  )
})

t.test('a creation by an account whose nonce has its greatest value fails before it begins', async (t) => {
  const from = `0x${'7'.repeat(40)}`
  const stateOverrides = { [from]: { nonce: '0xffffffffffffffff' } }
  const options = { tracer: 'callTracer', stateOverrides }
  t.match(await trace({ from, data: '0x00' }, options), { type: 'CREATE', error: 'nonce uint64 overflow' })
})

t.test('errors of instructions are told as go-ethereum does', async (t) => {
  const last = async (code: string, gas = '0xffff') => {
    const { structLogs } = await trace({ to: contract, gas }, withCode(code))
    const { op, gasCost, error } = structLogs.at(-1)
    return [op, gasCost, error]
  }
  t.strictSame(await last('0x01'), ['ADD', 3, 'stack underflow (0 <=> 2)'])
  t.strictSame(await last('0xfe'), ['INVALID', 0, undefined])
  t.strictSame(await last('0x5f56'), ['JUMP', 8, undefined])
  t.strictSame(await last('0x0c'), ['opcode 0xc not defined', 0, undefined])
  // 65,535 gas less 21,000 pay neither for 2^20 bytes of memory nor for a new slot behind another.
  t.strictSame(await last('0x6210000051'), ['MLOAD', 2_195_590, 'out of gas'])
  t.strictSame(await last('0x5f5f55600160015560016002556001600355'), ['SSTORE', 22_100, 'out of gas'])
  t.strictSame(await last('0x60016000556001600155', '0x9000'), ['SSTORE', 22_100, 'out of gas'])
  t.strictSame(await last('0x5f5f3d3e60015f5f3e'), ['RETURNDATACOPY', 9, undefined])
})

t.test('an instruction that fails has the cost and refund that go-ethereum computes, by fork', async (t) => {
  const state = { [`0x${'0'.repeat(64)}`]: `0x${'0'.repeat(63)}1` }
  const last = async (block: number, gas: number, code: string) => {
    const overrides = { [contract]: { code, balance: '0x7', state } }
    const options = { stateOverrides: overrides }
    const { structLogs } = await trace({ to: contract, gas: quantity(gas) }, options, quantity(block))
    const { op, gasCost, error, refund } = structLogs.at(-1)
    return [op, gasCost, error, refund]
  }
  // Answers of go-ethereum 1.17.6; the forks of these blocks are those of the demo network.
  for (const [block, gas, code, ...want] of [
    [264, 44_000, '0x60006000556001600155', 'SSTORE', 22_100, 'out of gas', 4_800],
    [264, 44_400, '0x600160015560016002555f5f55', 'SSTORE', 0, sentry, undefined],
    // The gas that a call asks for counts, unless it has more than 64 bits.
    [15, 30_000, '0x60006000600060006000610bad6207ff60f1', 'CALL', 549_168, 'out of gas', undefined],
    [15, 30_000, '0x60016000600060006000610bad67fffffffffffffffff1', 'CALL', 40, tooMuch, undefined],
    [45, 30_000, '0x60006000600060006000610bad62ffffff5af1', 'CALL', 700, partly, undefined],
    [264, 28_000, '0x5f5f5f5f60015f5ff1', 'CALL', 100, partly, undefined],
    [264, 22_000, '0x5f5f5f5f60bb5afa', 'STATICCALL', 100, partly, undefined],
    // Opcodes that are not yet instructions.
    [15, 30_000, '0x600060006000600060bb61ea60fa', 'STATICCALL', 0, undefined, undefined],
    [5, 30_000, '0x600060006000600060bb61ea60f4', 'DELEGATECALL', 0, undefined, undefined],
    [264, 22_000, '0x60bb31', 'BALANCE', 2_600, 'out of gas', undefined],
    [264, 21_050, '0x60bb3b', 'EXTCODESIZE', 100, 'out of gas', undefined],
    [75, 21_500, '0x60bb3f', 'EXTCODEHASH', 700, 'out of gas', undefined],
    [264, 27_000, '0x60bbff', 'SELFDESTRUCT', 5_000, partly, undefined],
    [264, 21_100, '0x60bbff', 'SELFDESTRUCT', 5_000, 'out of gas', undefined],
    [45, 25_000, '0x60bbff', 'SELFDESTRUCT', 30_000, 'out of gas', 24_000],
    [264, 21_300, '0x610100600aa0', 'LOG0', 2_450, 'out of gas', undefined],
    [264, 21_050, '0x61ffff600a0a', 'EXP', 110, 'out of gas', undefined],
    [264, 80_000, '0x61c00160ff5ff0', 'CREATE', 32_000, tooLarge, undefined],
    [264, 80_000, '0x67ffffffffffffffff51', 'MLOAD', 3, 'gas uint64 overflow', undefined],
    [264, 80_000, '0x6520000000000051', 'MLOAD', 3, tooMuch, undefined],
  ] as const) {
    t.strictSame(await last(block, gas, code), want, `${code} in block ${block}`)
  }
})

t.test('a creation without initcode has no instruction', async (t) => {
  const { structLogs } = await trace({ to: contract }, withCode('0x5f5f5ff0'))
  t.strictSame(
    structLogs.map(({ op, depth }: { op: string; depth: number }) => `${depth} ${op}`),
    ['1 PUSH0', '1 PUSH0', '1 PUSH0', '1 CREATE', '1 STOP'],
  )
})

t.test('a prestate has nothing of an instruction that could not be paid', async (t) => {
  const options = { tracer: 'prestateTracer', tracerConfig: { includeEmpty: true } }
  const named = async (code: string, gas: number) =>
    Object.keys(await trace({ to: contract, gas: quantity(gas) }, { ...withCode(code), ...options }))
  const heir = `0x${'0'.repeat(38)}bb`
  t.ok((await named('0x60bb31', 23_700)).includes(heir))
  t.notOk((await named('0x60bb31', 23_500)).includes(heir))
  t.notOk((await named('0x60bbff', 27_000)).includes(heir))
  t.notOk((await named('0x5f5f5f5f60bb5afa', 22_000)).includes(heir))
  const slots = async (gas: number) =>
    (await trace({ to: contract, gas: quantity(gas) }, { ...withCode('0x5f54'), ...options }))[contract]
      .storage
  t.ok(await slots(24_000))
  t.notOk(await slots(23_000))
})

t.test('a message before a transaction of a block sees the state there', async (t) => {
  const { transactions } = blockAt(45)
  const block = quantity(45)
  t.ok(transactions.length > 1)
  for (const [index, { hash }] of transactions.entries()) {
    const found = (await service.call('eth_getTransactionByHash', [hash])).result
    const { from, to, input, value, gas } = found
    const call = { from, input, value, gas, ...(to === null ? {} : { to }) }
    const options = { tracer: 'callTracer' }
    const { result: want } = await service.call('debug_traceTransaction', [hash, options])
    const got = await trace(call, { ...options, txIndex: quantity(index) }, block)
    // A message without fees sees no base fee and has no nonce of its own.
    t.strictSame({ ...got, gasUsed: undefined }, { ...want, gasUsed: undefined }, hash)
  }
})

t.test('what cannot be traced is refused', async (t) => {
  await checkRefusals(t, service, method, [
    [[{ to: contract }, 'pending'], -32000, 'tracing on top of pending is not supported'],
    [
      [{ to: contract, gas: '0x1' }, 'latest'],
      -32000,
      'tracing failed: intrinsic gas too low: have 1, want 21000',
    ],
    [
      [{ to: contract }, '0x3c', { txIndex: '0x1000' }],
      -32000,
      `transaction index 4096 out of range for block ${blockAt(60).hash}`,
    ],
    [
      [{ to: contract }, 'latest', { txIndex: 1 }],
      -32602,
      'invalid argument 2: want a hex quantity, got number',
    ],
  ])
})
