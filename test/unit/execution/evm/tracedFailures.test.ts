/** Tracers' reports of instructions that fail, and of state gas: rows from go-ethereum's answers. */
import t from 'tap'
import type { ForkName } from '../../../../src/data/chain/forks.js'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { hexToBytes } from '../../../../src/primitives/bytes.js'
import { emptyState } from '../../../library/emptyState.js'
import { addressOf } from './demoExecution.js'
import { type Json, type ReportedFault, type ReportedStep, TracedChains } from './tracedForks.js'

const chains = await TracedChains.open(t)
const aa = addressOf(0xaa)
const bb = hexToBytes('00000000000000000000000000000000000000bb')

/** Traces of code at an account with `balance` that is called with `gas`; `inner` is the code of 0xbb. */
function traced(
  fork: ForkName,
  code: string,
  { gas = 500_000n, balance = 0n, inner = '' }: { gas?: bigint; balance?: bigint; inner?: string } = {},
) {
  const overrides = [
    { address: aa, code: hexToBytes(code), balance },
    ...(inner === '' ? [] : [{ address: bb, code: hexToBytes(inner) }]),
  ]
  return chains.traceAll(fork, { to: aa, gas }, overrides)
}

const created = (data: string, fork: ForkName = 'osaka') =>
  chains.traceAll(fork, { data: hexToBytes(data), gas: 500_000n }, [])

const places = (faults: readonly ReportedFault[]) => faults.map(({ op, depth, error }) => [op, depth, error])
const costs = (steps: readonly ReportedStep[], op: string) =>
  steps.filter((step) => step.op === op).map(({ gasCost, error }) => [gasCost, error])

t.test('the cost of an instruction is its execution gas, without state gas', async (t) => {
  // A slot is created and removed again.
  const { opcodes, steps } = traced('amsterdam', '6001600055600060005500')
  t.strictSame(costs(opcodes.structLogs, 'SSTORE'), [
    [12_100, undefined],
    [100, undefined],
  ])
  t.strictSame(costs(steps.list, 'SSTORE'), costs(opcodes.structLogs, 'SSTORE'))
  const call = (value: number) => `6000600060006000600${value}60cc612710f1`
  const sent = traced('amsterdam', `${call(0)}${call(1)}00`, { balance: 5n })
  t.strictSame(costs(sent.opcodes.structLogs, 'CALL'), [
    [13_000, undefined],
    [10_000 + 100 + 11_300, undefined],
  ])
  const ended = traced('amsterdam', '60ccff', { balance: 5n })
  t.strictSame(costs(ended.opcodes.structLogs, 'SELFDESTRUCT'), [[17_000, undefined]])
})

t.test('what state gas cannot be paid for has the cost that go-ethereum computes', async (t) => {
  const last = (code: string, gas = 60_000n) => {
    const { opcodes, faults } = traced('amsterdam', code, { gas, balance: 5n })
    const { op, gasCost, error } = opcodes.structLogs.at(-1) as ReportedStep
    return [op, gasCost, error, places(faults)]
  }
  t.strictSame(last('6001600055'), ['SSTORE', 12_100, 'out of gas', []])
  t.strictSame(last('6000600060006000600160cc612710f1'), ['CALL', 100, 'out of gas: out of gas', []])
  t.strictSame(last('60ccff'), ['SELFDESTRUCT', 17_000, 'out of gas', []])
  // The message takes 15,000 of the gas.
  t.strictSame(last('60ccff', 20_500n), ['SELFDESTRUCT', 8_000, 'out of gas: out of gas', []])
  // The failure is found while the instruction runs.
  t.strictSame(last('600060006000f0'), ['CREATE', 12_000, undefined, [['CREATE', 1, 'out of gas']]])
  t.strictSame(last('6000600060006000f5'), ['CREATE2', 12_000, undefined, [['CREATE2', 1, 'out of gas']]])
  // 100 of 200 gas are for the code; the account is accessed before its code.
  t.strictSame(last('3b'), ['EXTCODESIZE', 100, 'stack underflow (0 <=> 1)', []])
  t.strictSame(last('3c'), ['EXTCODECOPY', 100, 'stack underflow (0 <=> 4)', []])
})

t.test(
  'DUPN, SWAPN and EXCHANGE fail at once for too few words, else because of their operand',
  async (t) => {
    for (const [code, op, refused, fault] of [
      ['5fe78500', 'SWAPN', 'stack underflow (1 <=> 2)', undefined],
      ['e680', 'DUPN', 'stack underflow (0 <=> 1)', undefined],
      ['5fe880', 'EXCHANGE', 'stack underflow (1 <=> 2)', undefined],
      ['5fe676', 'DUPN', undefined, 'invalid opcode: DUPN (operand: 0x76)'],
      ['5f5fe75b', 'SWAPN', undefined, 'invalid opcode: SWAPN (operand: 0x5b)'],
      ['5f5fe852', 'EXCHANGE', undefined, 'invalid opcode: EXCHANGE (operand: 0x52)'],
      ['5fe680', 'DUPN', undefined, 'stack underflow (1 <=> 17)'],
      ['5fe6', 'DUPN', undefined, 'stack underflow (1 <=> 145)'],
      ['5f5fe785', 'SWAPN', undefined, 'stack underflow (2 <=> 23)'],
      // Words 2 and 3, of which the second is the third below the top.
      ['5f5fe88e', 'EXCHANGE', undefined, 'stack underflow (2 <=> 3)'],
    ] as const) {
      const { opcodes, steps, faults, calls } = traced('amsterdam', code)
      const step = opcodes.structLogs.at(-1) as ReportedStep
      t.strictSame([step.op, step.gasCost, step.error], [op, 3, refused], code)
      t.strictSame(steps.list.at(-1)?.error, refused, code)
      t.strictSame(places(faults), fault === undefined ? [] : [[op, 1, fault]], code)
      t.equal(calls.error, refused ?? fault, code)
    }
    const errorOf = (code: string) =>
      chains.trace('amsterdam', { to: aa, gas: 500_000n }, [{ address: aa, code: hexToBytes(code) }], {
        tracer: 'callTracer',
        onlyTopCall: true,
        withLog: false,
      }).error
    t.equal(errorOf(`${'5f'.repeat(1024)}e680`), 'stack limit reached 1024 (1023)')
    t.notOk(errorOf(`${'5f'.repeat(18)}e680e780e88e00`))
  },
)

t.test(
  'a static frame refuses a call with value before the gas for a cold account, from Prague on',
  async (t) => {
    const refused = 'out of gas: write protection'
    // 336 gas: too little for a cold account.
    const sends = '6000600060006000600160cc61fffff1'
    for (const [fork, error] of [
      ['cancun', 'out of gas: out of gas'],
      ['prague', refused],
      ['osaka', refused],
      ['amsterdam', refused],
    ] as const) {
      const { calls } = traced(fork, '600060006000600060bb610150fa', { inner: sends, balance: 5n })
      t.equal(calls.calls?.[0]?.error, error, fork)
    }
  },
)

t.test('a call that the sentry of SSTORE ends is out of gas for bundlers', async (t) => {
  const outOfGas = (inner: string, gas: string, fork: ForkName = 'osaka') => {
    const { erc7562 } = traced(fork, `6000600060006000600060bb61${gas}f1`, { inner })
    const { error, outOfGas } = erc7562.calls[0]
    return [error, outOfGas]
  }
  for (const fork of ['istanbul', 'osaka', 'amsterdam'] as const) {
    const sentry = 'out of gas: not enough gas for reentrancy sentry'
    t.strictSame(outOfGas('6001600055', '07d0', fork), [sentry, true])
  }
  t.strictSame(outOfGas('6001600055', '1000'), ['out of gas', true])
  t.strictSame(outOfGas('60cc31', '0100'), ['out of gas', true])
  t.strictSame(outOfGas('6000600060006000600060cc5af1', '0100'), ['out of gas: out of gas', true])
  t.strictSame(outOfGas('fe', '0100'), ['invalid opcode: INVALID', false])
  t.strictSame(outOfGas('67ffffffffffffffff51', '0100'), ['gas uint64 overflow', false])
  t.strictSame(outOfGas('6520000000000051', '0100'), ['out of gas: gas uint64 overflow', true])
})

t.test('getRefund has the refund of the instruction itself', async (t) => {
  const slots = [1, 2].map(
    (slot) => [new Uint8Array(32).fill(slot, 31), new Uint8Array(32).fill(1, 31)] as const,
  )
  const code = hexToBytes('600060015560006002556001600255')
  const { opcodes, steps } = chains.traceAll('osaka', { to: aa, gas: 500_000n }, [
    { address: aa, code, state: slots },
  ])
  const refunds = (list: readonly ReportedStep[]) =>
    list.filter(({ op }) => op === 'SSTORE').map(({ refund = 0 }) => refund)
  t.strictSame(refunds(steps.list), [4_800, 9_600, 7_600])
  t.strictSame(refunds(opcodes.structLogs), refunds(steps.list))
})

t.test('getValue of a DELEGATECALL is that of the call around it', async (t) => {
  const framesOf = (code: string) =>
    chains.traceAll('osaka', { to: aa, gas: 500_000n, value: 7n }, [
      { address: new Uint8Array(20), balance: 7n },
      { address: aa, code: hexToBytes(code) },
      { address: bb, code: hexToBytes('00') },
    ]).frames
  t.match(framesOf('600060006000600060bb61c350f4'), [{ type: 'DELEGATECALL', value: '0x7' }])
  t.match(framesOf('6000600060006000600160bb61c350f2'), [{ type: 'CALLCODE', value: '0x1' }])
  t.match(framesOf('600060006000600060bb61c350fa'), [{ type: 'STATICCALL', value: undefined }])
})

t.test('an instruction that cannot be paid has used no slot', async (t) => {
  // DELEGATECALL with little gas to code that reads slot 5, or writes it; then SLOAD of slot 6.
  for (const inner of ['600554', '6001600555']) {
    const { structLogs } = chains.traceAll('osaka', { to: aa }, [
      { address: aa, code: hexToBytes('600060006000600060bb6064f450600654') },
      { address: bb, code: hexToBytes(inner) },
    ]).opcodes
    const reported = structLogs.filter(({ op }) => op === 'SLOAD' || op === 'SSTORE') as readonly Json[]
    const slot = (digit: string) => `0x${digit.padStart(64, '0')}`
    t.match(reported[0]?.error, /out of gas|not enough gas/)
    t.equal(reported[0]?.storage, undefined)
    t.strictSame(reported[1]?.storage, { [slot('6')]: slot('0') })
  }
})

t.test('a creation that is refused as code tells what it returned', async (t) => {
  const refused = created('60ef60005360016000f3')
  t.equal(refused.steps.output, '0xef')
  t.equal(refused.steps.error, 'invalid code: must not begin with 0xef')
  t.notOk(refused.calls.output)
  t.equal(refused.opcodes.returnValue, '0x')
  t.notOk(refused.flat[0].result)
  // The first returned code has 24,577 zeros. The second has 1,000, for which the gas is not enough.
  t.equal(created('6160016000f3').steps.output.length, 2 + 2 * 24_577)
  const unpaid = chains.traceAll('osaka', { data: hexToBytes('6103e86000f3'), gas: 100_000n }, [])
  t.equal(unpaid.steps.error, 'contract creation code storage out of gas')
  t.equal(unpaid.steps.output.length, 2 + 2 * 1_000)
  // CREATE of the same initcode.
  const inner = traced('osaka', '6960ef60005360016000f3600052600a60166000f0')
  t.match(inner.frames, [{ type: 'CREATE', output: '0xef', error: 'invalid code: must not begin with 0xef' }])
  // A creation that fails in another form returns nothing.
  t.equal(created('60ef600053fe').steps.output, '0x')
  t.equal(created('60ef60005360016000fd').steps.output, '0xef')
})

t.test(
  'the log of what SELFDESTRUCT moves is the own log of the contract, before the transfer',
  async (t) => {
    const { calls } = traced('amsterdam', '60bbff', { balance: 5n })
    t.match(calls.logs, [{ index: '0x0', position: '0x0', address: `0x${'f'.repeat(39)}e` }])
    t.equal(calls.calls.length, 1)
    t.match(calls.calls[0], { type: 'SELFDESTRUCT', value: '0x5' })
    t.notOk(calls.calls[0].logs)
    t.notOk(traced('amsterdam', '30ff', { balance: 5n }).calls.logs)
    t.notOk(traced('osaka', '60bbff', { balance: 5n }).calls.logs)
  },
)

t.test('that log comes before the transfer that a simulation lists', async (t) => {
  const kernel = new Kernel()
  kernel.attach('amsterdam', { state: emptyState, ancestorHash: () => undefined, watch: undefined })
  kernel.logsTransfers = true
  kernel.begin(bb, 0n, [])
  const account = kernel.account(aa)
  kernel.credit(account, 5n)
  const value = (code: string) => {
    kernel.setCode(account, hexToBytes(code))
    kernel.run(kernel.account(bb), account, 0n, 0n, new Uint8Array(0), 500_000n)
    return kernel.numberedLogs.slice(-2).map(({ isTransfer }) => isTransfer)
  }
  // A call is listed before it moves anything.
  t.strictSame(value('6000600060006000600160cc61fffff1'), [true, false])
  t.strictSame(value('60ccff'), [false, true])
})
