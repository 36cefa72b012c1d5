/** Estimates against direct runs of generated contracts. Transactions of both chains: chainMessages.test.ts. */
import fc from 'fast-check'
import t from 'tap'
import type {
  AccountOverride,
  ExecutionRequest,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { concatBytes } from '../../../../src/primitives/bytes.js'
import { propertyRuns } from '../../../library/property.js'
import { assemble, deploy, type Item, requireTrue } from './assembly.js'
import { addressOf, demoExecution, faultOf, goOn, requestOf, succeedsWith } from './demoExecution.js'

type CallKind = 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL'

/** Actions of a generated contract, in order. Calls go to contracts of higher numbers only, so they end. */
type Action =
  | { readonly kind: 'hash'; readonly words: number }
  | { readonly kind: 'store'; readonly slot: number; readonly value: number }
  | { readonly kind: 'load'; readonly slot: number }
  | { readonly kind: 'log'; readonly bytes: number }
  | { readonly kind: 'create'; readonly codeBytes: number; readonly isChecked: boolean }
  | {
      readonly kind: 'call'
      readonly by: CallKind
      readonly further: number
      /** Gas that is passed on; if undefined, all gas. */
      readonly gas: number | undefined
      readonly value: number
      readonly isChecked: boolean
    }
  | { readonly kind: 'needGas'; readonly least: number }
  | { readonly kind: 'end'; readonly by: 'STOP' | 'REVERT' | 'INVALID' }

function codeOf(actions: readonly Action[], number: number): Uint8Array {
  let code = new Uint8Array(0)
  const add = (...items: Item[]): void => {
    code = concatBytes(code, assemble(...items))
  }
  const check = (isChecked: boolean): void => {
    if (isChecked) code = concatBytes(code, requireTrue(code.length))
    else add('POP')
  }
  for (const action of actions) {
    switch (action.kind) {
      case 'hash':
        add(action.words * 32, 0, 'KECCAK256', 'POP')
        break
      case 'store':
        add(action.value, action.slot, 'SSTORE')
        break
      case 'load':
        add(action.slot, 'SLOAD', 'POP')
        break
      case 'log':
        add(action.bytes, 0, 'LOG0')
        break
      case 'create': {
        const init = deploy(new Uint8Array(action.codeBytes))
        const word = concatBytes(init, new Uint8Array(32)).subarray(0, 32)
        add(concatBytes(Uint8Array.of(0x7f), word), 0, 'MSTORE', Math.min(32, init.length), 0, 0, 'CREATE')
        check(action.isChecked)
        break
      }
      case 'call': {
        add(0, 0, 0, 0)
        if (action.by === 'CALL' || action.by === 'CALLCODE') add(action.value)
        const target = addressOf(number + action.further)
        add(concatBytes(Uint8Array.of(0x73), target), action.gas ?? 'GAS', action.by)
        check(action.isChecked)
        break
      }
      case 'needGas':
        add(action.least, 'GAS', 'GT')
        check(true)
        break
      case 'end':
        add(0, 0, action.by)
        break
    }
  }
  return code
}

const quiet = fc.oneof(
  fc.record({ kind: fc.constant('hash' as const), words: fc.integer({ min: 1, max: 2_000 }) }),
  fc.record({
    kind: fc.constant('store' as const),
    slot: fc.nat(3),
    value: fc.nat(2),
  }),
  fc.record({ kind: fc.constant('load' as const), slot: fc.nat(3) }),
  fc.record({ kind: fc.constant('log' as const), bytes: fc.nat(500) }),
)

function contractsOf(isWild: boolean): fc.Arbitrary<readonly Uint8Array[]> {
  const isChecked = isWild ? fc.boolean() : fc.constant(true)
  const call = fc.record({
    kind: fc.constant('call' as const),
    by: fc.constantFrom<CallKind>('CALL', 'CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL'),
    further: fc.integer({ min: 1, max: 2 }),
    gas: fc.option(isWild ? fc.integer({ min: 0, max: 60_000 }) : fc.constant(900_000), { nil: undefined }),
    value: fc.nat(1),
    isChecked,
  })
  const create = fc.record({ kind: fc.constant('create' as const), codeBytes: fc.nat(12), isChecked })
  const usual: fc.Arbitrary<Action> = fc.oneof(
    { arbitrary: quiet, weight: 3 },
    { arbitrary: call, weight: 2 },
    create,
  )
  const wild: fc.Arbitrary<Action> = fc.oneof(
    { arbitrary: usual, weight: 8 },
    fc.record({ kind: fc.constant('needGas' as const), least: fc.integer({ min: 1, max: 300_000 }) }),
    fc.record({
      kind: fc.constant('end' as const),
      by: fc.constantFrom('STOP' as const, 'REVERT', 'INVALID'),
    }),
  )
  return fc
    .array(fc.array(isWild ? wild : usual, { maxLength: 6 }), { minLength: 2, maxLength: 5 })
    .map((programs) => programs.map((actions, index) => codeOf(actions, index)))
}

function requestFor(codes: readonly Uint8Array[]): ExecutionRequest {
  const overrides: AccountOverride[] = codes.map((code, index) => ({
    address: addressOf(index),
    code,
    balance: 10n,
  }))
  return requestOf({ to: addressOf(0), gas: 10_000_000n }, overrides)
}

/** Estimates, or undefined if the message fails with all its gas. */
async function estimateOf(request: ExecutionRequest): Promise<{ gas: bigint; runs: number } | undefined> {
  if (!(await succeedsWith(demoExecution, request, 10_000_000n))) return undefined
  return demoExecution.estimate(request, goOn)
}

async function bisect(request: ExecutionRequest): Promise<bigint> {
  let fails = 20_999n
  let succeeds = 10_000_000n
  while (fails + 1n < succeeds) {
    const half = (fails + succeeds) / 2n
    if (await succeedsWith(demoExecution, request, half)) succeeds = half
    else fails = half
  }
  return succeeds
}

t.test('contracts that check every call need what bisection finds, in at most two runs', async (t) => {
  let runs = 0
  let estimates = 0
  await fc.assert(
    fc.asyncProperty(contractsOf(false), async (codes) => {
      const request = requestFor(codes)
      const estimate = await estimateOf(request)
      if (estimate === undefined) return true
      runs += estimate.runs
      estimates++
      return estimate.gas === (await bisect(request)) && estimate.runs <= 2
    }),
    propertyRuns(100),
  )
  t.ok(estimates > 40, `${estimates} estimates, ${(runs / estimates).toFixed(2)} runs each`)
})

t.test(
  'contracts that survive failures and look at their gas succeed with the estimate and not below',
  async (t) => {
    let runs = 0
    let estimates = 0
    await fc.assert(
      fc.asyncProperty(contractsOf(true), async (codes) => {
        const request = requestFor(codes)
        const estimate = await estimateOf(request)
        if (estimate === undefined) return true
        runs += estimate.runs
        estimates++
        const { gas } = estimate
        return (
          (await succeedsWith(demoExecution, request, gas)) &&
          !(await succeedsWith(demoExecution, request, gas - 1n))
        )
      }),
      propertyRuns(160),
    )
    t.ok(estimates > 20, `${estimates} estimates, ${(runs / estimates).toFixed(2)} runs each`)
  },
)

t.test('where one unit less fails a call that the contract survives, the estimate is lower', async (t) => {
  // The needs of the call, and of the contract with it, begin at the same limit.
  const hashing = assemble(0x140, 0, 'KECCAK256', 'POP')
  const calling = assemble(
    0,
    0,
    0,
    0,
    0,
    concatBytes(Uint8Array.of(0x73), addressOf(2)),
    'GAS',
    'CALL',
    'POP',
  )
  const request = requestFor([calling, new Uint8Array(0), hashing])
  const estimate = await estimateOf(request)
  t.equal(estimate?.gas, await bisect(request))
})

t.test('where more gas fails and still more succeeds, one unit below the estimate fails', async (t) => {
  const to = addressOf(1)
  for (const [low, high] of [
    [60_000, 90_000],
    [200_000, 201_000],
    [1_000_000, 9_000_000],
  ] as const) {
    // Fails with a gas limit in between: GAS below `high`, and above `low`.
    const code = assemble(high, 'GAS', 'LT', low, 'GAS', 'GT', Uint8Array.of(0x16, 0x15))
    const request = requestOf({ to }, [{ address: to, code: concatBytes(code, requireTrue(code.length)) }])
    const { gas } = await demoExecution.estimate(request, goOn)
    t.ok(await succeedsWith(demoExecution, request, gas))
    t.notOk(await succeedsWith(demoExecution, request, gas - 1n))
    t.ok(await succeedsWith(demoExecution, request, BigInt(low)), 'which may not be the lowest')
    t.notOk(await succeedsWith(demoExecution, request, BigInt(low + high) / 2n + 21_100n))
  }
})

t.test('plain transfers are answered without a run', async (t) => {
  const bytes = Uint8Array.of(0, 1, 2)
  const cases: readonly [Parameters<typeof requestOf>[0], bigint][] = [
    [{}, 21_000n],
    // Calldata at the floor of EIP-7623: one zero and two other bytes.
    [{ data: bytes }, 21_000n + 10n * 9n],
    [
      { accessList: [{ address: addressOf(8), storageKeys: [new Uint8Array(32)] }] },
      21_000n + 2_400n + 1_900n,
    ],
  ]
  for (const [message, gas] of cases) {
    const request = requestOf({ to: addressOf(7), ...message })
    t.same(await demoExecution.estimate(request, goOn), { gas, runs: 0 })
    t.ok(await succeedsWith(demoExecution, request, gas))
    t.notOk(await succeedsWith(demoExecution, request, gas - 1n))
  }
})

t.test('a recipient that is a precompiled contract is run', async (t) => {
  const identity = new Uint8Array(20)
  identity[19] = 4
  const { gas, runs } = await demoExecution.estimate(
    requestOf({ to: identity, data: new Uint8Array(64) }),
    goOn,
  )
  // 64 zero bytes: 21,256 and 21 for two words copied; the floor is 21,640.
  t.equal(gas, 21_640n)
  t.ok(runs > 0)
})

t.test('the bound is what is given, what may be had, and what can be paid for', async (t) => {
  const spender: AccountOverride = { address: addressOf(1), code: assemble(20_000 * 32, 0, 'KECCAK256') }
  const to = addressOf(1)
  const rich = { address: addressOf(2), balance: 10n ** 18n }
  const from = rich.address
  const run = (message: object, rest: object = {}) =>
    demoExecution.estimate(requestOf({ to, from, ...message }, [spender, rich], rest), goOn)
  t.same(await faultOf(run({ gas: 50_000n })), { kind: 'GasExceedsAllowance', allowance: 50_000n })
  t.same(await faultOf(run({}, { gasDefault: 60_000n })), { kind: 'GasExceedsAllowance', allowance: 60_000n })
  t.same(await faultOf(run({ gas: 10n ** 12n }, { gasMax: 70_000n })), {
    kind: 'GasExceedsAllowance',
    allowance: 70_000n,
  })
  t.match(await run({ gas: 100n }), { runs: 1 }, 'less than any transaction costs counts as nothing')
  const price = 10n ** 18n / 80_000n
  t.same(await faultOf(run({ gasPrice: price })), { kind: 'GasExceedsAllowance', allowance: 80_000n })
  t.same(await faultOf(run({ gasPrice: price, value: 10n ** 18n + 1n })), {
    kind: 'MessageRefused',
    why: 'insufficient funds for transfer',
  })
})

t.test('since Osaka no estimate exceeds what a transaction may have (EIP-7825)', async (t) => {
  const burner: AccountOverride = { address: addressOf(1), code: assemble('JUMPDEST', 0, 'JUMP') }
  const request = requestOf({ to: addressOf(1), gas: 20_000_000n }, [burner])
  t.same(await faultOf(demoExecution.estimate(request, goOn)), {
    kind: 'GasExceedsAllowance',
    allowance: 16_777_216n,
  })
})

t.test('a margin is added up to the bound, and not to plain transfers', async (t) => {
  const keeper: AccountOverride = { address: addressOf(1), code: assemble(1, 0, 'SSTORE') }
  const withMargin = (message: object) =>
    demoExecution.estimate(requestOf(message, [keeper], { marginBps: 1_000 }), goOn)
  const { gas } = await demoExecution.estimate(requestOf({ to: addressOf(1) }, [keeper]), goOn)
  t.equal((await withMargin({ to: addressOf(1) })).gas, gas + gas / 10n)
  t.equal((await withMargin({ to: addressOf(1), gas: gas + 5n })).gas, gas + 5n)
  t.equal((await withMargin({ to: addressOf(9) })).gas, 21_000n)
})
