/** Estimates on a chain with state gas (EIP-8037), against direct runs of contracts that create state. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import type {
  AccountOverride,
  ExecutionRequest,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { concatBytes } from '../../../../src/primitives/bytes.js'
import { propertyRuns } from '../../../library/property.js'
import { AmsterdamBlocks, openAmsterdam } from './amsterdamState.js'
import { assemble, requireTrue } from './assembly.js'
import { addressOf, faultOf, goOn, limits, type Message, requestOf } from './demoExecution.js'

const store = openAmsterdam(t)
const blocks = new AmsterdamBlocks(store)
const execution = new Execution(store, limits)

const rich = addressOf(9)
const most = 40_000_000n

function requestFor(message: Message, contracts: readonly Uint8Array[] = []): ExecutionRequest {
  const overrides: AccountOverride[] = contracts.map((code, index) => ({
    address: addressOf(index),
    code,
    balance: 9n,
  }))
  const funded: AccountOverride = { address: rich, balance: 10n ** 18n }
  return {
    ...requestOf({ from: rich, gas: most, ...message }, [...overrides, funded]),
    block: { ...store.head, isPending: false },
  }
}

/** The estimate, once it is known to be the least gas around it. */
async function checkedEstimate(t: Test, request: ExecutionRequest, what: string): Promise<bigint> {
  const { gas } = await execution.estimate(request, goOn)
  t.ok(blocks.succeeds(request, gas), `${what}: ${gas} is enough`)
  t.notOk(blocks.succeeds(request, gas - 1n), `${what}: less is not`)
  return gas
}

t.test('transfers cost what they touch', async (t) => {
  const cases: readonly [string, Message, bigint][] = [
    ['to oneself', { to: rich, value: 1n }, 12_000n],
    ['of nothing', { to: addressOf(5) }, 15_000n],
    ['to an account', { to: addressOf(0), value: 1n }, 21_000n],
    ['to a new account', { to: addressOf(5), value: 1n }, 204_600n],
    ['with data at the floor', { to: addressOf(5), data: new Uint8Array(10) }, 15_640n],
  ]
  for (const [what, message, gas] of cases) {
    t.equal(await checkedEstimate(t, requestFor(message, [new Uint8Array(0)]), what), gas, what)
  }
})

t.test('no estimate starts with more gas than a transaction may have, but a call does', async (t) => {
  const request = requestFor({ to: addressOf(5), data: new Uint8Array(300_000), gas: 50_000_000n })
  const why = /insufficient gas for floor data gas cost: intrinsic cost 1215000, floor: 19215000/
  t.equal((await execution.call(request, goOn)).failure, undefined)
  t.match(await faultOf(execution.estimate(request, goOn)), { kind: 'MessageRefused', why })
})

t.test('code that no other gas could pay for is deployed', async (t) => {
  // Returns 64 KiB of zeros.
  const data = assemble(65_536, 0, 'RETURN')
  const gas = await checkedEstimate(t, requestFor({ data, gas: 200_000_000n }), 'a large contract')
  t.ok(gas > 65_536n * 1_530n)
})

type Action =
  | { readonly kind: 'store'; readonly slot: number; readonly value: number }
  | { readonly kind: 'pay'; readonly target: number; readonly value: number; readonly isChecked: boolean }
  | {
      readonly kind: 'call'
      readonly further: number
      readonly isDelegated: boolean
      readonly isChecked: boolean
    }
  | { readonly kind: 'end'; readonly by: 'REVERT' | 'INVALID' }

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    arbitrary: fc.record({ kind: fc.constant('store' as const), slot: fc.nat(2), value: fc.nat(2) }),
    weight: 4,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('pay' as const),
      target: fc.integer({ min: 20, max: 22 }),
      value: fc.nat(1),
      isChecked: fc.boolean(),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      further: fc.integer({ min: 1, max: 2 }),
      isDelegated: fc.boolean(),
      isChecked: fc.boolean(),
    }),
    weight: 3,
  },
  fc.record({ kind: fc.constant('end' as const), by: fc.constantFrom('REVERT' as const, 'INVALID') }),
)

function codeOf(actions: readonly Action[], number: number): Uint8Array {
  let code = new Uint8Array(0)
  const calling = (
    target: number,
    value: number | undefined,
    by: 'CALL' | 'DELEGATECALL',
    isChecked: boolean,
  ) => {
    const sent = value === undefined ? [] : [value]
    const to = concatBytes(Uint8Array.of(0x73), addressOf(target))
    code = concatBytes(code, assemble(0, 0, 0, 0, ...sent, to, 'GAS', by))
    code = concatBytes(code, isChecked ? requireTrue(code.length) : assemble('POP'))
  }
  for (const each of actions) {
    if (each.kind === 'store') code = concatBytes(code, assemble(each.value, each.slot, 'SSTORE'))
    else if (each.kind === 'pay') calling(each.target, each.value, 'CALL', each.isChecked)
    else if (each.kind === 'end') code = concatBytes(code, assemble(0, 0, each.by))
    else if (each.isDelegated) calling(number + each.further, undefined, 'DELEGATECALL', each.isChecked)
    else calling(number + each.further, 0, 'CALL', each.isChecked)
  }
  return code
}

t.test('contracts that create, clear and revert state succeed with the estimate and not below', async (t) => {
  let estimates = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(action, { maxLength: 6 }), { minLength: 2, maxLength: 4 }),
      async (programs) => {
        const request = requestFor({ to: addressOf(0) }, programs.map(codeOf))
        if (!blocks.succeeds(request, most)) return true
        const { gas } = await execution.estimate(request, goOn)
        estimates++
        return blocks.succeeds(request, gas) && !blocks.succeeds(request, gas - 1n)
      },
    ),
    propertyRuns(150),
  )
  t.ok(estimates > 40, `${estimates} estimates`)
})
