/**
 * Calls on a chain of the Amsterdam fork with much gas. They need more than a transaction may use for anything but
 * state (2^24, EIP-7825 and EIP-8037). They become no transaction, so they work as before the fork.
 */
import t from 'tap'
import { buildBlockAccessList } from '../../../../src/execution/evm/blocks/blockAccesses.js'
import type { BlockRules } from '../../../../src/execution/evm/blocks/blockContext.js'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import { Simulation } from '../../../../src/execution/evm/simulate/simulation.js'
import { Tracing } from '../../../../src/execution/evm/tracers/tracing.js'
import { priceTransaction } from '../../../../src/execution/evm/transactions/pricedTransaction.js'
import { applyTransaction } from '../../../../src/execution/evm/transactions/transaction.js'
import { checkTransaction } from '../../../../src/execution/evm/transactions/transactionChecks.js'
import { bytesToBigInt } from '../../../../src/primitives/bytes.js'
import { decodeRlpList } from '../../../../src/primitives/rlp.js'
import { emptyState } from '../../../library/emptyState.js'
import { AmsterdamBlocks, openAmsterdam, systemStubs } from './amsterdamState.js'
import { addressOf, faultOf, goOn, limits, requestOf, topOf } from './demoExecution.js'

const store = openAmsterdam(t)

const noFees = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n, maxFeePerBlobGas: 0n }
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

t.test('transfers of a simulation are told once, by the logs that the fork has', async (t) => {
  const simulation = new Simulation(store, limits)
  const stateOverrides = [...systemStubs, { address: addressOf(9), balance: 9n }]
  const call = { message: { ...message, from: addressOf(9), value: 3n, gas: 300_000n }, chainId: undefined }
  const given = { validates: false, tracesTransfers: true, isFull: false, gasMax: gas }
  const blocks = [{ blockOverrides: {}, stateOverrides, calls: [call] }]
  const json = simulation.simulateJson({ block, blocks, ...given }, goOn)
  const [reported] = JSON.parse(Buffer.from(json).toString())
  t.match(reported.calls[0], { status: '0x1', logs: [{ address: `0x${'f'.repeat(39)}e`, logIndex: '0x0' }] })
  t.equal(reported.calls[0].logs.length, 1)
})

t.test('the access list of a block names the coinbase, also where a message is free', async (t) => {
  const kernel = new Kernel()
  const coinbase = addressOf(77)
  const rules: BlockRules = {
    fork: 'amsterdam',
    coinbase,
    timestamp: 1n,
    number: 1n,
    random: 1n,
    gasLimit: 10n ** 9n,
    chainId: 1n,
    baseFee: 0n,
    blobBaseFee: 1n,
    slotNumber: 1n,
  }
  kernel.attach('amsterdam', { state: emptyState, ancestorHash: () => undefined, watch: undefined })
  kernel.recordAccesses()
  kernel.setAccessIndex(1)
  const tx = { ...message, sender: addressOf(9), ...noFees }
  const priced = priceTransaction(tx, rules, 'simulation')
  applyTransaction(kernel, priced, { gasLimit: 100_000n, authorizations: [] }, true)
  const list = decodeRlpList(buildBlockAccessList(kernel))
  t.ok(list.some((entry) => Buffer.compare((entry as Uint8Array[])[0] as Uint8Array, coinbase) === 0))
})

t.test(
  'a message may have more gas than 32 bits count where its block has, and a transaction not',
  async (t) => {
    const blocks = new AmsterdamBlocks(store)
    const sender = addressOf(9)
    const given = { ...message, from: sender, gas: 2n ** 32n + 10n }
    const outcome = blocks.run(given, [{ address: to, code: Uint8Array.of(0) }], true)
    t.match(outcome, { status: '0x1', gasUsed: '0x3a98' })
    const rules: BlockRules = {
      fork: 'amsterdam',
      coinbase: addressOf(8),
      timestamp: 1n,
      number: 1n,
      random: 1n,
      gasLimit: 2n ** 40n,
      chainId: 1n,
      baseFee: 0n,
      blobBaseFee: 1n,
      slotNumber: 1n,
    }
    const priced = priceTransaction({ ...message, ...noFees, sender, type: 2 }, rules, 'transaction')
    const check = (gasLimit: bigint) => checkTransaction(priced, { gasLimit })
    t.doesNotThrow(() => check(2n ** 32n - 1n))
    t.throws(() => check(2n ** 32n), {
      rule: 'gasMax',
      message: 'transaction gas limit too high (cap: 4294967295, tx: 4294967296)',
    })
  },
)
