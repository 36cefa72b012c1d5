import t from 'tap'
import { startService } from '../service.js'
import { blockAt, quantity } from './demoChain.js'
import { checkRefusals } from './questions.js'

const method = 'debug_traceCall'
const service = await startService()
t.teardown(() => service.stop())

const contract = '0x00000000000000000000000000000000000c0de5'
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
