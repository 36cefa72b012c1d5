/**
 * Every opcode at every fork, beside a list written from the specifications. Compares whether it exists, its gas, its
 * stack words, and its failures. Prices that depend on operands are in a list of their own.
 */
import t, { type Test } from 'tap'
import { type ForkName, forkNames, includesFork } from '../../../../src/data/chain/forks.js'
import type { StateView } from '../../../../src/data/state/stateView.js'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { concatBytes, equalBytes, padLeft } from '../../../../src/primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { emptyState } from '../../../library/emptyState.js'
import { assemble, type Item } from '../evm/assembly.js'
import { type SpecifiedOpcode, specifiedOpcodes } from './specifiedOpcodes.js'

const caller = padLeft(Uint8Array.of(0xca), 20)
const contract = padLeft(Uint8Array.of(0xc0), 20)
const wrapper = padLeft(Uint8Array.of(0xc1), 20)
/** An account with a balance and nothing else. */
const rich = padLeft(Uint8Array.of(0xee), 20)
/** A slot of the contract that has been 1 before. */
const usedSlot = 7
const gasGiven = 1_000_000n
const stackMax = 1_024

function stateOf(code: Uint8Array, balance: bigint, outer: Uint8Array): StateView {
  const someRoot = keccak256(Uint8Array.of(1))
  const account = (own: Uint8Array, held: bigint, storageRoot = emptyTrieRoot) => ({
    nonce: 1n,
    balance: held,
    storageRoot,
    codeHash: keccak256(own),
  })
  return {
    ...emptyState,
    account: (address) => {
      if (equalBytes(address, contract)) return account(code, balance, someRoot)
      if (equalBytes(address, wrapper)) return account(outer, 0n)
      return equalBytes(address, rich) ? account(new Uint8Array(0), 5n) : undefined
    },
    slot: (address, key) =>
      equalBytes(address, contract) && key[31] === usedSlot && key[30] === 0 ? Uint8Array.of(1) : undefined,
    code: (hash) => [code, outer].find((each) => equalBytes(keccak256(each), hash)),
    hasRows: false,
  }
}

interface Given {
  readonly gas?: bigint
  readonly balance?: bigint
  /** Whether the caller is a contract that allows no changes. */
  readonly isStatic?: boolean
}

const kernel = new Kernel()
const steps: { opcode: number; gas: bigint; stackWords: number }[] = []
let faultCost: bigint | undefined
const traced = new Kernel({
  step: ({ opcode, gas, stackWords }) => steps.push({ opcode, gas, stackWords }),
  fault: (_, cost) => {
    faultCost ??= cost
  },
  enter: () => undefined,
  exit: () => undefined,
})

/** STATICCALL of the contract with all gas, whose result is returned. */
const allowsNothing = assemble(
  ...[0, 0, 0, 0, concatBytes(Uint8Array.of(0x73), contract), 'GAS', 'STATICCALL'].map(
    (item) => item as Item,
  ),
  0,
  'MSTORE',
  32,
  0,
  'RETURN',
)

function run(fork: ForkName, code: Uint8Array, given: Given = {}, on = kernel) {
  const { gas = gasGiven, balance = 0n, isStatic = false } = given
  on.clear()
  const state = stateOf(code, balance, allowsNothing)
  on.attach(fork, { state, ancestorHash: () => undefined, watch: undefined })
  on.setBlock({
    coinbase: new Uint8Array(20),
    timestamp: 1n,
    number: 1n,
    random: 1n,
    gasLimit: 1n,
    chainId: 1n,
    baseFee: 1n,
    blobBaseFee: 1n,
    slotNumber: 1n,
  })
  on.begin(caller, 1n, [])
  for (const address of [caller, contract]) on.warm(on.account(address))
  const to = on.account(isStatic ? wrapper : contract)
  const { failure, gasLeft } = on.run(on.account(caller), to, 0n, 0n, new Uint8Array(0), gas)
  return { failure, used: gas - gasLeft, output: on.output, refund: on.refund }
}

const pushGas = 3
/** PUSH1 of a number below 256, so that every push costs and takes the same. */
const pushed = (...values: readonly number[]) => Uint8Array.from(values.flatMap((value) => [0x60, value]))
const zeros = (count: number) => new Uint8Array(2 * count).map((_, at) => (at % 2 === 0 ? 0x60 : 0))

const byCode = new Map(specifiedOpcodes.map((each) => [each.opcode, each]))

function priceAt({ prices }: SpecifiedOpcode, fork: ForkName) {
  const price = prices.findLast(([since]) => includesFork(fork, since))
  return price && { constant: BigInt(price[1]), whole: BigInt(price[2]) }
}

/** The differences from the list, as sentences. */
function differences(fork: ForkName, opcode: number): string[] {
  const found: string[] = []
  const expect = (what: string, got: unknown, wanted: unknown) => {
    if (got !== wanted) found.push(`${what} ${got}, not ${wanted}`)
  }
  const spec = byCode.get(opcode)
  const price = spec && priceAt(spec, fork)
  const tail = Uint8Array.of(opcode, ...(spec?.operand === undefined ? [] : [spec.operand]))
  const withWords = (count: number) => concatBytes(zeros(count), tail)
  if (spec === undefined || price === undefined) {
    expect('exists', run(fork, withWords(20)).failure, 'invalidOpcode')
    return found
  }
  const { taken, left, writes, fails = 'none' } = spec
  const before = BigInt(pushGas * taken)
  const whole = run(fork, withWords(taken))
  expect('ends with', whole.failure, fails)
  if (fails !== 'invalidJump') expect('costs', whole.used - before, price.whole)
  if (price.whole > 0n) {
    const short = run(fork, withWords(taken), { gas: before + price.whole - 1n })
    expect('with a gas less', isOutOfGas(short.failure), true)
  }
  if (taken > 0) {
    const { failure } = run(fork, withWords(taken - 1))
    expect('with a word less', failure.endsWith('Underflow'), true)
  }
  const isGrowing = left > taken
  expect('on a full stack', run(fork, withWords(stackMax)).failure, isGrowing ? 'stackOverflow' : fails)
  expect('on one with a place', run(fork, withWords(stackMax - 1)).failure, fails)
  if (includesFork(fork, 'byzantium')) {
    // CALL changes something only if it sends ether.
    const operands = opcode === 0xf1 ? pushed(0, 0, 0, 0, 1, 0, 0) : zeros(taken)
    const { output } = run(fork, concatBytes(operands, tail), { isStatic: true, balance: 9n })
    expect('succeeds in a static call', output[31], writes || fails !== 'none' ? 0 : 1)
  }
  return [...found, ...tracedDifferences(fork, withWords(taken), spec, price.constant)]
}

function isOutOfGas(failure: string): boolean {
  return ['outOfGas', 'partUnpaid', 'sentryReached'].includes(failure)
}

/** go-ethereum's reported cost before it reads operands, and the words that are left. */
function tracedDifferences(
  fork: ForkName,
  code: Uint8Array,
  { taken, left, fails }: SpecifiedOpcode,
  constant: bigint,
): string[] {
  const found: string[] = []
  steps.length = 0
  run(fork, code, {}, traced)
  const after = steps[taken + 1]
  if (after !== undefined && fails === undefined && after.stackWords !== left) {
    found.push(`leaves ${after.stackWords} words, not ${left}`)
  }
  if (constant === 0n) return found
  faultCost = undefined
  run(fork, code, { gas: BigInt(pushGas * taken) + constant - 1n }, traced)
  if (faultCost !== constant) found.push(`has the constant gas ${faultCost}, not ${constant}`)
  return found
}

for (const fork of forkNames) {
  t.test(`all opcodes at ${fork} are as specified`, async (t) => {
    const found: string[] = []
    for (let opcode = 0; opcode < 256; opcode++) {
      for (const each of differences(fork, opcode)) found.push(`0x${opcode.toString(16)} ${each}`)
    }
    t.strictSame(found, [])
  })
}

/** Costs by the forks from which they are valid: the gas after the pushes, and the refund. */
type Costs = readonly (readonly [since: ForkName, gas: number, refund?: number])[]

const newAccountState = 120 * 1_530
const newSlotState = 64 * 1_530
const address = (bytes: Uint8Array) => concatBytes(Uint8Array.of(0x73), bytes)
const nobody = padLeft(Uint8Array.of(0xaa), 20)
/** RETURN of a byte. */
const byteMaker = Uint8Array.of(0x60, 1, 0x60, 0, 0xf3)

const priced: readonly (readonly [what: string, code: Uint8Array, pushes: number, costs: Costs])[] = [
  [
    'EXP with two bytes of exponent',
    concatBytes(Uint8Array.of(0x61, 1, 0, 0x60, 2), Uint8Array.of(0x0a)),
    2,
    [
      ['chainstart', 10 + 2 * 10],
      ['spuriousDragon', 10 + 2 * 50],
    ],
  ],
  [
    'KECCAK256 of 33 bytes',
    concatBytes(pushed(33, 0), Uint8Array.of(0x20)),
    2,
    [['chainstart', 30 + 2 * 6 + 2 * 3]],
  ],
  [
    'CALLDATACOPY of 33 bytes',
    concatBytes(pushed(33, 0, 0), Uint8Array.of(0x37)),
    3,
    [['chainstart', 3 + 2 * 3 + 2 * 3]],
  ],
  [
    'MCOPY of 33 bytes',
    concatBytes(pushed(33, 0, 0), Uint8Array.of(0x5e)),
    3,
    [['cancun', 3 + 2 * 3 + 2 * 3]],
  ],
  [
    'EXTCODECOPY of 33 bytes',
    concatBytes(pushed(33, 0, 0, 0xaa), Uint8Array.of(0x3c)),
    4,
    [
      ['chainstart', 20 + 12],
      ['tangerineWhistle', 700 + 12],
      ['berlin', 2_600 + 12],
      ['amsterdam', 3_100 + 12],
    ],
  ],
  [
    'LOG1 of 33 bytes',
    concatBytes(pushed(0, 33, 0), Uint8Array.of(0xa1)),
    3,
    [['chainstart', 2 * 375 + 33 * 8 + 2 * 3]],
  ],
  [
    'SSTORE of a new slot',
    concatBytes(pushed(1, 0), Uint8Array.of(0x55)),
    2,
    [
      ['chainstart', 20_000],
      ['berlin', 22_100],
      ['amsterdam', 2_100 + 10_000 + newSlotState],
    ],
  ],
  [
    'SSTORE of another value',
    concatBytes(pushed(2, usedSlot), Uint8Array.of(0x55)),
    2,
    [
      ['chainstart', 5_000],
      ['amsterdam', 2_100 + 10_000],
    ],
  ],
  [
    'SSTORE that clears a slot',
    concatBytes(pushed(0, usedSlot), Uint8Array.of(0x55)),
    2,
    [
      ['chainstart', 5_000, 15_000],
      ['london', 5_000, 4_800],
      ['amsterdam', 2_100 + 10_000, 11_616],
    ],
  ],
  [
    'SSTORE twice, back to the first value',
    concatBytes(pushed(2, usedSlot), Uint8Array.of(0x55), pushed(1, usedSlot), Uint8Array.of(0x55)),
    4,
    [
      ['chainstart', 10_000],
      ['constantinople', 5_200, 4_800],
      ['petersburg', 10_000],
      ['istanbul', 5_800, 4_200],
      ['berlin', 5_100, 2_800],
      ['amsterdam', 12_200, 10_000],
    ],
  ],
  [
    'CALL with value to an account',
    concatBytes(pushed(0, 0, 0, 0, 1), address(rich), pushed(0), Uint8Array.of(0xf1)),
    7,
    [
      ['chainstart', 40 + 6_700],
      ['tangerineWhistle', 700 + 6_700],
      ['berlin', 2_600 + 6_700],
      ['amsterdam', 3_000 + 9_000],
    ],
  ],
  [
    'CALL with value to nobody',
    concatBytes(pushed(0, 0, 0, 0, 1), address(nobody), pushed(0), Uint8Array.of(0xf1)),
    7,
    [
      ['chainstart', 40 + 6_700 + 25_000],
      ['tangerineWhistle', 700 + 6_700 + 25_000],
      ['berlin', 2_600 + 6_700 + 25_000],
      ['amsterdam', 3_000 + 9_000 + newAccountState],
    ],
  ],
  [
    'CALLCODE with value',
    concatBytes(pushed(0, 0, 0, 0, 1), address(rich), pushed(0), Uint8Array.of(0xf2)),
    7,
    [
      ['chainstart', 40 + 6_700],
      ['tangerineWhistle', 700 + 6_700],
      ['berlin', 2_600 + 6_700],
      ['amsterdam', 3_000 + 9_000],
    ],
  ],
  [
    'SELFDESTRUCT for an account',
    concatBytes(address(rich), Uint8Array.of(0xff)),
    1,
    [
      ['chainstart', 0, 24_000],
      ['tangerineWhistle', 5_000, 24_000],
      ['berlin', 7_600, 24_000],
      ['london', 7_600, 0],
      ['amsterdam', 8_000],
    ],
  ],
  [
    'SELFDESTRUCT for nobody',
    concatBytes(address(nobody), Uint8Array.of(0xff)),
    1,
    [
      ['chainstart', 0, 24_000],
      ['tangerineWhistle', 30_000, 24_000],
      ['berlin', 32_600, 24_000],
      ['london', 32_600],
      ['amsterdam', 8_000 + 9_000 + newAccountState],
    ],
  ],
  [
    'CREATE of a byte of code',
    // The initcode lies at the end of a word: PUSH5 MSTORE at 0.
    concatBytes(
      Uint8Array.of(0x64),
      byteMaker,
      pushed(0),
      Uint8Array.of(0x52),
      pushed(5, 27, 0),
      Uint8Array.of(0xf0),
    ),
    5,
    [
      // MSTORE with its memory, CREATE, the initcode with its memory, the code.
      ['chainstart', 6 + 32_000 + 9 + 200],
      ['shanghai', 6 + 32_000 + 2 + 9 + 200],
      ['amsterdam', 6 + 12_000 + newAccountState + 2 + 9 + 6 + 1_530],
    ],
  ],
]

t.test('what depends on operands is as specified at each fork', async (t: Test) => {
  for (const fork of forkNames) {
    for (const [what, code, pushes, costs] of priced) {
      const wanted = costs.findLast(([since]) => includesFork(fork, since))
      if (wanted === undefined) continue
      const [, gas, refund = 0] = wanted
      const { used, ...got } = run(fork, code, { balance: 9n })
      const reported = { failure: got.failure, gas: used - BigInt(pushGas * pushes), refund: got.refund }
      t.strictSame(
        reported,
        { failure: 'none', gas: BigInt(gas), refund: BigInt(refund) },
        `${what} at ${fork}`,
      )
    }
  }
})
