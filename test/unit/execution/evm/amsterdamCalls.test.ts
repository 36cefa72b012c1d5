/**
 * Calls on a chain of the Amsterdam fork that need more gas than a transaction may use for anything but state (2^24,
 * EIP-7825 and EIP-8037): they become no transaction, so that they work as before the fork.
 */
import t from 'tap'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import { Tracing } from '../../../../src/execution/evm/tracers/tracing.js'
import { bytesToBigInt } from '../../../../src/primitives/bytes.js'
import { AmsterdamBlocks, openAmsterdam } from './amsterdamState.js'
import { addressOf, faultOf, goOn, limits, requestOf, topOf } from './demoExecution.js'

const store = openAmsterdam(t)

const block = { ...store.head, isPending: false }
const to = addressOf(1)
/** A million turns of 26 gas and more. */
const loop = Uint8Array.from(Buffer.from('63000f42405b6001900380600557005b00', 'hex'))
const gas = 50_000_000n
const message = { to, value: 0n, data: new Uint8Array(0) }

const requestFor = (code: Uint8Array, given: object = {}) => ({
  ...requestOf({ ...message, ...given }, [{ address: to, code }]),
  block,
  gasDefault: gas,
})

t.test('calls and access lists see all gas that they ask for', async (t) => {
  const execution = new Execution(store, limits)
  const seenBy = async (given: object) => {
    const { returnData } = await execution.call(requestFor(topOf('GAS'), given), goOn)
    return bytesToBigInt(returnData)
  }
  t.equal(await seenBy({ gas }), gas - 15_000n - 2n)
  t.equal(await seenBy({}), gas - 15_000n - 2n, 'or that they may have')
  for (const given of [{ gas }, {}]) {
    const called = await execution.call(requestFor(loop, given), goOn)
    t.equal(called.failure, undefined)
    t.ok(called.gasUsed > 2n ** 24n)
    t.equal((await execution.accessList(requestFor(loop, given), goOn)).failure, undefined)
  }
})

t.test('estimates do not', async (t) => {
  const execution = new Execution(store, limits)
  t.match(await faultOf(execution.estimate(requestFor(loop, { gas }), goOn)), { kind: 'GasExceedsAllowance' })
})

t.test('traces of calls do', async (t) => {
  const tracing = new Tracing(store, { ...limits, answerBytesMax: 2 ** 20 })
  const calls = {
    block,
    bundles: [{ calls: [{ message: { ...message, gas } }] }],
    gasMax: gas,
    form: 'one',
  } as const
  const stateOverrides = [{ address: to, code: loop }]
  const tracer = { tracer: 'callTracer', withLog: false, onlyTopCall: true } as const
  const subject = { kind: 'calls', ...calls, stateOverrides } as const
  const traced = JSON.parse(Buffer.from(tracing.trace({ subject, tracer }, goOn, () => undefined)).toString())
  t.equal(traced.error, undefined)
  t.ok(Number(traced.gasUsed) > 2 ** 24)
})

t.test('simulations do as long as nobody asks for the rules of transactions', async (t) => {
  const blocks = new AmsterdamBlocks(store)
  const simulate = (validates: boolean) =>
    blocks.run({ ...message, from: addressOf(9), gas }, [{ address: to, code: loop }], validates)
  t.match(simulate(false), { status: '0x1' })
  t.match(simulate(true), { status: '0x0', error: { message: /out of gas/ } })
})
