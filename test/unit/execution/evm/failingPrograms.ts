/** Code that meets each failure that an instruction can have, in a call of every kind and with gas around each limit. */
import { type ForkName, includesFork } from '../../../../src/data/chain/forks.js'
import { concatBytes, padLeft, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import type { Dice } from '../../../library/property.js'
import { type Contract, caller, type Scenario } from '../kernel/programs.js'
import { assemble, deploy, type Item, type Opcode } from './assembly.js'

const addressOf = (number: number) => padLeft(toMinimalBytes(0xfa1100 + number), 20)
const numberOf = (address: Uint8Array) => BigInt(`0x${Buffer.from(address).toString('hex')}`)
const outer = addressOf(0)
const inner = addressOf(1)
const other = addressOf(2)
const absent = addressOf(9)
const raw = (...bytes: number[]) => Uint8Array.of(...bytes)
const pick = <T>(dice: Dice, list: readonly T[]): T => list[dice.throw(list.length)] as T

/** Number of words that an instruction takes, by opcode, for those that take some in every fork that has them. */
const taken: readonly (readonly [opcodes: readonly number[], words: number])[] = [
  [[0x15, 0x19, 0x31, 0x35, 0x3b, 0x40, 0x50, 0x51, 0x54, 0x56, 0x80, 0xff], 1],
  [
    [
      0x01, 0x02, 0x04, 0x06, 0x0a, 0x0b, 0x10, 0x16, 0x1a, 0x20, 0x52, 0x53, 0x55, 0x57, 0x81, 0x90, 0xa0,
      0xf3,
    ],
    2,
  ],
  [[0x08, 0x09, 0x37, 0x39, 0xa1, 0xf0], 3],
  [[0x3c, 0xa2], 4],
  [[0xa4], 6],
  [[0xf1, 0xf2], 7],
  [[0x8f], 16],
  [[0x9f], 17],
]
const later: readonly (readonly [since: ForkName, opcode: number, words: number])[] = [
  ['homestead', 0xf4, 6],
  ['byzantium', 0xfa, 6],
  ['byzantium', 0xfd, 2],
  ['byzantium', 0x3e, 3],
  ['petersburg', 0xf5, 4],
  ['petersburg', 0x3f, 1],
  ['petersburg', 0x1b, 2],
  ['cancun', 0x5c, 1],
  ['cancun', 0x5d, 2],
  ['cancun', 0x5e, 3],
  ['osaka', 0x1e, 1],
  ['amsterdam', 0xe6, 1],
  ['amsterdam', 0xe7, 2],
  ['amsterdam', 0xe8, 2],
]

/** Code that does not change the stack. */
function statement(dice: Dice): Uint8Array {
  const slot = dice.throw(4)
  switch (dice.throw(6)) {
    case 0:
      return assemble(dice.throw(3), slot, 'SSTORE')
    case 1:
      return assemble(slot, 'SLOAD', 'POP')
    case 2:
      return assemble(dice.throw(256), dice.throw(100), 'MSTORE')
    case 3:
      return assemble(numberOf(pick(dice, [outer, inner, other, absent])), 'BALANCE', 'POP')
    case 4:
      return assemble(dice.throw(40), dice.throw(40), 'LOG0')
    default:
      return assemble(dice.throw(40), dice.throw(40), 'KECCAK256', 'POP')
  }
}

/** A call; its result stays on the stack. */
function callOf(dice: Dice, fork: ForkName, to: bigint, gas: Item): Uint8Array {
  const kinds: Opcode[] = ['CALL', 'CALL', 'CALLCODE']
  if (includesFork(fork, 'homestead')) kinds.push('DELEGATECALL')
  if (includesFork(fork, 'byzantium')) kinds.push('STATICCALL', 'STATICCALL')
  const kind = pick(dice, kinds)
  const value = kind === 'CALL' || kind === 'CALLCODE' ? [pick(dice, [0, 0, 1, 10 ** 9])] : []
  return assemble(dice.throw(40), dice.throw(40), dice.throw(70), dice.throw(40), ...value, to, gas, kind)
}

/** Gas at which a run ends: none, the costs of accesses, the sentry, a write, a creation, much gas. */
function someGas(dice: Dice): Item {
  const around = pick(
    dice,
    [0, 100, 700, 2_300, 2_400, 5_000, 20_000, 22_100, 32_000, 60_000, 110_000, 300_000],
  )
  return dice.throw(3) === 0 ? 'GAS' : Math.max(0, around + dice.throw(60) - 30)
}

/** Memory with `code` at its beginning; up to 32 bytes. */
function stored(code: Uint8Array): Uint8Array {
  const word = BigInt(`0x${Buffer.from(code).toString('hex').padEnd(64, '0')}`)
  return assemble(word, 0, 'MSTORE')
}

/** Initcode with some kind of end, at most 32 bytes. */
function initcode(dice: Dice): Uint8Array {
  return pick(dice, [
    raw(),
    raw(0xfe),
    assemble(0, 0, 'REVERT'),
    assemble(0xab, 0, 'MSTORE', 32, 0, 'REVERT'),
    assemble(0xef, 0, 'MSTORE8', 1, 0, 'RETURN'),
    assemble(24_577, 0, 'RETURN'),
    assemble(700, 0, 'RETURN'),
    assemble(1, 0, 'SSTORE', 3, 0, 'RETURN'),
    assemble(numberOf(absent), 'SELFDESTRUCT'),
    deploy(raw(0x00)),
  ])
}

function creation(dice: Dice, fork: ForkName): Uint8Array {
  const code = initcode(dice)
  const value = pick(dice, [0, 0, 1, 10 ** 9])
  const size = dice.throw(8) === 0 ? pick(dice, [49_152, 49_153, 131_073]) : code.length
  const once =
    includesFork(fork, 'petersburg') && dice.throw(2) === 0
      ? assemble(7, size, 0, value, 'CREATE2', 'POP')
      : assemble(size, 0, value, 'CREATE', 'POP')
  // The second creation has the address of the first one, or of its remains.
  return concatBytes(
    code.length === 0 ? raw() : stored(code),
    once,
    value < 10 && dice.throw(2) === 0 ? once : raw(),
  )
}

const far = [2n ** 20n, 2n ** 32n, 2n ** 53n, 2n ** 64n - 1n, 2n ** 256n - 1n]

/** A failure of a fork, and a call of code that causes it. */
export interface NamedFailure {
  readonly error: RegExp
  readonly scenario: Scenario
}

interface Meeting {
  readonly since?: ForkName
  /** The first fork without this failure. */
  readonly until?: 'osaka'
  readonly error: RegExp
  readonly code: Uint8Array
  /** Gas of the call; if absent, 200,000. */
  readonly gas?: number
  readonly kind?: 'CALL' | 'STATICCALL'
}

const creates = (code: Uint8Array, value = 0) =>
  concatBytes(stored(code), assemble(code.length, 0, value, 'CREATE', 'POP'))
const returnsEf = assemble(0xef, 0, 'MSTORE8', 1, 0, 'RETURN')
const returnsLarge = assemble(65_537, 0, 'RETURN')
const refused = /^out of gas: write protection$/

/** Each failure of an instruction, from the first fork with it on. */
const meetings: readonly Meeting[] = [
  { error: /^stack underflow \(1 <=> 2\)$/, code: concatBytes(assemble(1), raw(0x01)) },
  { error: /^stack underflow \(0 <=> 7\)$/, code: raw(0xf1) },
  { error: /^invalid opcode: INVALID$/, code: raw(0xfe) },
  { error: /^invalid opcode: opcode 0xc not defined$/, code: raw(0x0c) },
  { error: /^invalid opcode: DUPN$/, until: 'osaka', code: raw(0xe6) },
  { error: /^invalid jump destination$/, code: assemble(3, 'JUMP') },
  { error: /^gas uint64 overflow$/, code: assemble(2n ** 64n, 'MLOAD') },
  { error: /^out of gas: gas uint64 overflow$/, code: assemble(2n ** 53n, 'MLOAD') },
  { error: /^out of gas$/, code: assemble(2n ** 20n, 'MLOAD') },
  { error: /^out of gas$/, gas: 2, code: assemble(1) },
  { error: /^out of gas$/, gas: 5_000, code: assemble(1, 1, 'SSTORE') },
  { error: /^out of gas$/, gas: 20_000, code: assemble(0, 0, 0, 'CREATE'), until: 'osaka' },
  { error: /^out of gas/, gas: 4_000, code: assemble(0, 0, 0, 0, 1, numberOf(other), 0, 'CALL') },
  {
    since: 'berlin',
    error: /^out of gas: out of gas$/,
    gas: 6_000,
    code: assemble(numberOf(absent), 'SELFDESTRUCT'),
  },
  {
    since: 'berlin',
    error: /^out of gas: out of gas$/,
    gas: 1_000,
    code: assemble(0, 0, 0, 0, numberOf(absent), 0, 'STATICCALL'),
  },
  {
    since: 'istanbul',
    error: /^out of gas: not enough gas for reentrancy sentry$/,
    gas: 2_306,
    code: assemble(1, 1, 'SSTORE'),
  },
  { since: 'byzantium', error: /^execution reverted$/, code: assemble(1, 0, 'MSTORE', 32, 0, 'REVERT') },
  { since: 'byzantium', error: /^return data out of bounds$/, code: assemble(1, 0, 0, 'RETURNDATACOPY') },
  { since: 'byzantium', kind: 'STATICCALL', error: refused, code: assemble(1, 1, 'SSTORE') },
  { since: 'byzantium', kind: 'STATICCALL', error: refused, code: assemble(0, 0, 0, 'CREATE') },
  { since: 'byzantium', kind: 'STATICCALL', error: refused, code: assemble(0, 'SELFDESTRUCT') },
  {
    since: 'byzantium',
    kind: 'STATICCALL',
    error: refused,
    code: assemble(0, 0, 0, 0, 1, numberOf(other), 0, 'CALL'),
  },
  { since: 'byzantium', kind: 'STATICCALL', error: /^write protection$/, code: assemble(0, 0, 'LOG0') },
  { since: 'cancun', kind: 'STATICCALL', error: /^write protection$/, code: assemble(1, 1, 'TSTORE') },
  {
    error: /^insufficient balance for transfer$/,
    code: assemble(0, 0, 0, 0, 10 ** 9, numberOf(other), 0, 'CALL'),
  },
  { error: /^insufficient balance for transfer$/, until: 'osaka', code: assemble(0, 0, 10 ** 9, 'CREATE') },
  { error: /^invalid opcode: INVALID$/, gas: 400_000, code: creates(raw(0xfe)) },
  {
    since: 'london',
    error: /^invalid code: must not begin with 0xef$/,
    gas: 400_000,
    code: creates(returnsEf),
  },
  {
    since: 'spuriousDragon',
    error: /^max code size exceeded: code size 65537/,
    gas: 15_000_000,
    code: creates(returnsLarge),
  },
  {
    since: 'homestead',
    error: /^contract creation code storage out of gas$/,
    gas: 600_000,
    code: creates(assemble(20_000, 0, 'RETURN')),
  },
  {
    since: 'shanghai',
    error: /^out of gas: max initcode size exceeded/,
    gas: 900_000,
    code: assemble(131_073, 0, 0, 'CREATE'),
  },
  {
    since: 'petersburg',
    error: /^contract address collision$/,
    gas: 900_000,
    code: concatBytes(
      stored(assemble(1, 0, 'RETURN')),
      ...[1, 2].map(() => assemble(7, 5, 0, 0, 'CREATE2', 'POP')),
    ),
  },
  { since: 'istanbul', error: /^invalid input length$/, code: assemble(0, 0, 1, 0, 0, 9, 5_000, 'CALL') },
  { since: 'byzantium', error: /^out of gas$/, code: assemble(0, 0, 1, 0, 0, 8, 5_000, 'CALL') },
  // The missing gas is state gas.
  { since: 'amsterdam', error: /^out of gas$/, gas: 60_000, code: assemble(1, 1, 'SSTORE') },
  { since: 'amsterdam', error: /^out of gas$/, gas: 60_000, code: assemble(0, 0, 0, 'CREATE') },
  { since: 'amsterdam', error: /^out of gas$/, gas: 60_000, code: assemble(0, 0, 0, 0, 'CREATE2') },
  {
    since: 'amsterdam',
    error: /^out of gas$/,
    gas: 60_000,
    code: assemble(numberOf(absent), 'SELFDESTRUCT'),
  },
  {
    since: 'amsterdam',
    error: /^out of gas: out of gas$/,
    gas: 60_000,
    code: assemble(0, 0, 0, 0, 1, numberOf(absent), 0, 'CALL'),
  },
  {
    since: 'amsterdam',
    error: /^contract creation code storage out of gas$/,
    gas: 300_000,
    code: creates(assemble(100, 0, 'RETURN')),
  },
  { since: 'amsterdam', error: /^stack underflow \(1 <=> 17\)$/, code: raw(0x5f, 0xe6, 0x80) },
  { since: 'amsterdam', error: /^stack underflow \(1 <=> 2\)$/, code: raw(0x5f, 0xe7, 0x85) },
  {
    since: 'amsterdam',
    error: /^invalid opcode: EXCHANGE \(operand: 0x60\)$/,
    code: raw(0x5f, 0x5f, 0xe8, 0x60),
  },
]

/** Each failure that a fork has. */
export function everyFailure(fork: ForkName): NamedFailure[] {
  const here = meetings.filter(
    ({ since = 'chainstart', until }) =>
      includesFork(fork, since) && !(until === 'osaka' && includesFork(fork, 'amsterdam')),
  )
  return here.map(({ error, code, gas = 200_000, kind = 'CALL' }) => {
    const value = kind === 'CALL' ? [0] : []
    const calling = assemble(0, 0, 0, 0, ...value, numberOf(inner), gas, kind, 'POP')
    const codes = [calling, code, raw(0x00)]
    const contracts = codes.map((own, index) => {
      return { address: addressOf(index), code: own, balance: 5n, slots: new Map() }
    })
    const shared = { caller, to: outer, value: 0n, data: new Uint8Array(0), gas: 16_000_000n }
    return { error, scenario: { fork, contracts, ...shared } }
  })
}

/** Code that fails in one form, unless its gas or its call prevents that. */
function failure(dice: Dice, fork: ForkName): Uint8Array {
  const here = later.filter(([since]) => includesFork(fork, since))
  switch (dice.throw(15)) {
    case 0: {
      const all = [
        ...taken.flatMap(([list, words]) => list.map((op) => [op, words] as const)),
        ...here.map(([, op, words]) => [op, words] as const),
      ]
      const [opcode, words] = pick(dice, all)
      return concatBytes(...dice.times(dice.throw(words), () => assemble(dice.throw(9))), raw(opcode))
    }
    case 1:
      return assemble(dice.throw(60), 'JUMP')
    case 2:
      return assemble(1, pick(dice, [1n, 2n ** 32n, 2n ** 255n]), 'JUMPI')
    case 3:
      return raw(pick(dice, [0xfe, 0x0c, 0x21, 0x4f, 0xa5, 0xef, 0xf6, 0xfb]))
    case 4: {
      const offset = pick(dice, far)
      return pick(dice, [
        assemble(offset, 'MLOAD'),
        assemble(1, offset, 'MSTORE'),
        assemble(offset, 1, 'KECCAK256'),
        assemble(offset, 0, 'LOG0'),
        assemble(offset, 0, 'RETURN'),
        assemble(1, 0, offset, 'CODECOPY'),
        assemble(offset, 0, 0, 'CREATE'),
        assemble(0, 0, 1, offset, 0, numberOf(other), 'GAS', 'CALL'),
      ])
    }
    case 5:
      return includesFork(fork, 'byzantium')
        ? assemble(pick(dice, [1n, 33n, ...far]), pick(dice, [0n, 40n, ...far]), 0, 'RETURNDATACOPY')
        : raw(0x3e)
    case 6:
    case 13:
    case 14:
      return creation(dice, fork)
    case 7:
      // A precompiled contract with input that it may not take, and too little gas.
      return concatBytes(
        assemble(dice.throw(256), 0, 'MSTORE8'),
        callOf(dice, fork, BigInt(1 + dice.throw(10)), pick(dice, [0, 100, 3_000, 50_000])),
        assemble('POP'),
      )
    case 8:
      return assemble(numberOf(pick(dice, [inner, outer, other, absent])), 'SELFDESTRUCT')
    case 9:
      return includesFork(fork, 'byzantium') ? assemble(dice.throw(40), dice.throw(40), 'REVERT') : raw(0xfd)
    case 10:
      return concatBytes(
        callOf(dice, fork, numberOf(pick(dice, [other, absent])), someGas(dice)),
        assemble('POP'),
      )
    case 11:
      if (includesFork(fork, 'amsterdam'))
        return concatBytes(
          ...dice.times(dice.throw(20), () => raw(0x5f)),
          raw(0xe6 + dice.throw(3), dice.throw(256)),
        )
      return includesFork(fork, 'cancun') ? assemble(1, 2, 'TSTORE') : raw(0x5c)
    default:
      return concatBytes(...dice.times(3, () => assemble(1 + dice.throw(2), dice.throw(4), 'SSTORE')))
  }
}

function program(dice: Dice, fork: ForkName): Uint8Array {
  return concatBytes(
    ...dice.times(dice.throw(3), () => statement(dice)),
    failure(dice, fork),
    ...dice.times(dice.throw(2), () => statement(dice)),
  )
}

/** A message to a contract that calls one or two others, which fail in some form. It may also fail itself. */
export function throwFailing(dice: Dice, fork: ForkName): Scenario {
  const calls = dice.times(1 + dice.throw(2), () =>
    concatBytes(callOf(dice, fork, numberOf(inner), someGas(dice)), assemble('POP')),
  )
  const codes = [
    concatBytes(statement(dice), ...calls, dice.throw(2) === 0 ? program(dice, fork) : statement(dice)),
    program(dice, fork),
    program(dice, fork),
  ]
  const contracts = codes.map((code, index): Contract => {
    const slots = dice.times(
      dice.throw(3),
      () => [Buffer.from(padLeft(raw(dice.throw(4)), 32)).toString('hex'), raw(1 + dice.throw(2))] as const,
    )
    return { address: addressOf(index), code, balance: BigInt(dice.throw(3)) * 5n, slots: new Map(slots) }
  })
  const gas = BigInt(pick(dice, [3_000, 30_000, 100_000, 400_000, 6_000_000, 20_000_000]) + dice.throw(2_000))
  return { fork, contracts, caller, to: outer, value: BigInt(dice.throw(3)), data: new Uint8Array(0), gas }
}
