/**
 * State gas (EIP-8037) across frames: a frame's payment from its gas is returned when another frame undoes its change.
 */
import fc from 'fast-check'
import t from 'tap'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { concatBytes, padLeft, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import { emptyState } from '../../../library/emptyState.js'
import { propertyRuns } from '../../../library/property.js'
import { assemble, deploy, returnTop } from '../evm/assembly.js'

const kernel = new Kernel()
const sender = padLeft(Uint8Array.of(1), 20)
const addressOf = (number: number) => padLeft(toMinimalBytes(0xaa00 + number), 20)
const slotStateGas = 97_920n

/** Runs the first of some contracts. */
function run(codes: readonly Uint8Array[], gas: bigint, reservoir: bigint) {
  kernel.clear()
  kernel.attach('amsterdam', { state: emptyState, ancestorHash: () => undefined, watch: undefined })
  kernel.begin(sender, 0n, [])
  for (const [number, code] of codes.entries()) kernel.setCode(kernel.account(addressOf(number)), code)
  const to = kernel.account(addressOf(0))
  return kernel.run(kernel.account(sender), to, 0n, 0n, new Uint8Array(0), gas, reservoir)
}

function delegateTo(number: number): Uint8Array {
  const to = concatBytes(Uint8Array.of(0x73), addressOf(number))
  return assemble(0, 0, 0, 0, to, 'GAS', 'DELEGATECALL', 'POP')
}

const write = (slot: number, value: number) => assemble(value, slot, 'SSTORE')
const seen = concatBytes(assemble('GAS'), returnTop)

/** The gas that the outermost frame sees once `inner` returned to it. */
function gasAfter(outer: Uint8Array, inner: readonly Uint8Array[], reservoir = 0n): bigint {
  const { failure } = run([concatBytes(outer, delegateTo(1), seen), ...inner], 1_000_000n, reservoir)
  t.equal(failure, 'none')
  return BigInt(`0x${Buffer.from(kernel.output).toString('hex')}`)
}

t.test('gas that a frame paid for a slot comes back when another one clears the slot', async (t) => {
  const one = write(0, 1)
  const clear = write(0, 0)
  // A frame that writes the same values again costs the same, except for the state gas: as for clearing, 100 gas for
  // the slot.
  const kept = gasAfter(one, [write(0, 1)])
  t.equal(gasAfter(one, [clear]) - kept, slotStateGas, 'a called one')
  t.equal(gasAfter(one, [concatBytes(clear, assemble(0, 0, 'REVERT'))]) < kept, true, 'one that reverts')
  const nested = [delegateTo(2), delegateTo(3)]
  t.equal(
    gasAfter(one, [...nested, clear]) - gasAfter(one, [...nested, write(0, 1)]),
    slotStateGas,
    'one called by a called one',
  )
  const two = concatBytes(one, write(1, 1))
  t.equal(
    gasAfter(two, [concatBytes(clear, write(1, 0))]) - gasAfter(two, [concatBytes(write(0, 1), write(1, 1))]),
    2n * slotStateGas,
    'of two slots',
  )
  t.equal(
    gasAfter(one, [clear], slotStateGas) - gasAfter(one, [write(0, 1)], slotStateGas),
    0n,
    'what the reservoir paid goes back there',
  )
  t.equal(
    gasAfter(two, [clear], slotStateGas) - gasAfter(two, [write(0, 1)], slotStateGas),
    slotStateGas,
    'what gas paid goes back to gas first',
  )
})

type Step =
  | { readonly kind: 'write'; readonly slot: number; readonly value: number }
  | { readonly kind: 'call'; readonly further: number; readonly takesState: boolean }
  | { readonly kind: 'create'; readonly reverts: boolean }
  | { readonly kind: 'end'; readonly by: 'REVERT' | 'INVALID' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({ kind: fc.constant('write' as const), slot: fc.nat(2), value: fc.nat(1) }),
    weight: 6,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      further: fc.integer({ min: 1, max: 2 }),
      takesState: fc.boolean(),
    }),
    weight: 4,
  },
  fc.record({ kind: fc.constant('create' as const), reverts: fc.boolean() }),
  fc.record({
    kind: fc.constant('end' as const),
    by: fc.constantFrom('REVERT' as const, 'INVALID' as const),
  }),
)

function codeOf(steps: readonly Step[], number: number): Uint8Array {
  return concatBytes(
    ...steps.map((each) => {
      if (each.kind === 'write') return write(each.slot, each.value)
      if (each.kind === 'end') return assemble(0, 0, each.by)
      if (each.kind === 'create') {
        const initcode = each.reverts ? assemble(0, 0, 'REVERT') : deploy(Uint8Array.of(0))
        const word = concatBytes(initcode, new Uint8Array(32 - initcode.length))
        const push = concatBytes(Uint8Array.of(0x7f), word)
        return assemble(push, 0, 'MSTORE', initcode.length, 0, 0, 'CREATE', 'POP')
      }
      if (each.takesState) return delegateTo(number + each.further)
      const to = concatBytes(Uint8Array.of(0x73), addressOf(number + each.further))
      return assemble(0, 0, 0, 0, 0, to, 'GAS', 'CALL', 'POP')
    }),
  )
}

t.test('a frame that ends well has a reservoir only where none of its state was paid from gas', async (t) => {
  let ended = 0
  fc.assert(
    fc.property(
      fc.array(fc.array(step, { maxLength: 7 }), { minLength: 2, maxLength: 5 }),
      fc.nat(4),
      (programs, slots) => {
        const before = BigInt(slots) * (slotStateGas - 20_000n)
        const { failure, reservoir, stateGas } = run(programs.map(codeOf), 3_000_000n, before)
        if (failure !== 'none') return reservoir === before && stateGas === 0n
        ended++
        return reservoir === (stateGas < before ? before - stateGas : 0n)
      },
    ),
    propertyRuns(2_000),
  )
  t.ok(ended > 500, `${ended} ended well`)
})
