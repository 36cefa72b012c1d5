/** Programs, state and messages for comparing engines: invented, real, and real with something changed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ForkName, forkNames, includesFork } from '../../../../src/data/chain/forks.js'
import { headState } from '../../../../src/data/state/stateView.js'
import {
  concatBytes,
  hexToBytes,
  padLeft,
  toAddress,
  toMinimalBytes,
} from '../../../../src/primitives/bytes.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import type { Dice } from '../../../library/property.js'
import { demoHeader, demoStore } from '../evm/demoExecution.js'
import { type SpecifiedOpcode, specifiedOpcodes } from './specifiedOpcodes.js'

/** Each fork that changed the effect of code, and that @ethereumjs knows. */
export const forks = forkNames.filter(
  (name) => !/^(?:dao|muirGlacier|arrowGlacier|grayGlacier|bpo\d|amsterdam)$/.test(name),
)

export interface Contract {
  readonly address: Uint8Array
  readonly code: Uint8Array
  readonly balance: bigint
  /** Slots by key, hex digits of 32 bytes. */
  readonly slots: ReadonlyMap<string, Uint8Array>
}

export interface Scenario {
  readonly fork: ForkName
  readonly contracts: readonly Contract[]
  readonly caller: Uint8Array
  readonly to: Uint8Array
  readonly value: bigint
  readonly data: Uint8Array
  readonly gas: bigint
}

const addressOf = (number: number) => padLeft(toMinimalBytes(0xc0de00 + number), 20)
const contractCount = 4
const calls: readonly number[] = [0xf1, 0xf1, 0xf2, 0xf4, 0xfa]
export const caller = addressOf(100)

interface Real {
  readonly code: Uint8Array
  readonly slots: ReadonlyMap<string, Uint8Array>
  readonly selectors: readonly Uint8Array[]
}

const slotsKept = 24
const push4 = 0x63

/** Contracts of the demo chain with their first slots. */
function readReal(): Real[] {
  const { contracts } = JSON.parse(
    readFileSync(join(packageRoot(), 'data/devnet/examples.json'), 'utf8'),
  ) as {
    contracts: readonly { readonly address: string }[]
  }
  const found: Real[] = []
  const state = headState(demoStore, demoHeader.stateRoot)
  for (const { address: hex } of contracts) {
    const address = toAddress(hexToBytes(hex))
    const account = state.account(address)
    const code = (account && state.code(account.codeHash)) ?? new Uint8Array(0)
    const slots = new Map<string, Uint8Array>()
    for (const key of state.slotsOf(address)) {
      const value = state.slot(address, key)
      if (value !== undefined && slots.size < slotsKept) slots.set(Buffer.from(key).toString('hex'), value)
    }
    const selectors: Uint8Array[] = []
    for (let at = 0; at < code.length - 4; at++) {
      if (code[at] === push4) selectors.push(code.slice(at + 1, at + 5))
    }
    if (code.length > 0) found.push({ code, slots, selectors })
  }
  return found
}

let real: readonly Real[] | undefined

/** `isInvented`: whether no code is real. */
export function throwScenario(dice: Dice, isInvented = false): Scenario {
  real ??= readReal()
  const fork = pick(dice, forks)
  const contracts: Contract[] = []
  let selectors: readonly Uint8Array[] = []
  for (let number = 0; number < contractCount; number++) {
    const chosen = pick(dice, real)
    const kind = isInvented ? 8 : dice.throw(10)
    const isReal = kind < 5
    const code = isReal ? (kind < 2 ? chosen.code : mutated(dice, chosen.code)) : invented(dice, fork)
    if (number === 0 && isReal) selectors = chosen.selectors
    const few = new Map(
      dice
        .times(
          dice.throw(4),
          () => [word(BigInt(dice.throw(4))), Uint8Array.of(1 + dice.throw(255))] as const,
        )
        .map(([key, value]) => [Buffer.from(key).toString('hex'), value]),
    )
    contracts.push({
      address: addressOf(number),
      code: kind === 9 ? bytes(dice, 60) : code,
      balance: BigInt(dice.throw(3)) * 1_000n,
      slots: isReal ? chosen.slots : few,
    })
  }
  const words = concatBytes(...dice.times(dice.throw(5), () => word(number(dice))))
  const selector =
    selectors.length > 0 && dice.throw(8) > 0 ? pick(dice, selectors) : bytes(dice, dice.throw(5))
  return {
    fork,
    contracts,
    caller,
    to: addressOf(0),
    value: dice.throw(6) === 0 ? BigInt(dice.throw(2_000)) : 0n,
    data: concatBytes(selector, words),
    gas: BigInt(20_000 + dice.throw(2) * dice.throw(400_000)),
  }
}

function pick<T>(dice: Dice, list: readonly T[]): T {
  return list[dice.throw(list.length)] as T
}

function bytes(dice: Dice, length: number): Uint8Array {
  return Uint8Array.from(dice.times(length, () => dice.throw(256)))
}

function word(value: bigint): Uint8Array {
  return padLeft(toMinimalBytes(value), 32)
}

/** A number near which the result of an instruction may change. */
function number(dice: Dice): bigint {
  switch (dice.throw(9)) {
    case 0:
      return BigInt(`0x${Buffer.from(bytes(dice, 32)).toString('hex')}`)
    case 1:
      return (1n << BigInt(dice.throw(256))) - BigInt(dice.throw(2))
    case 2:
      return BigInt(`0x${Buffer.from(addressOf(dice.throw(contractCount + 2))).toString('hex')}`)
    case 3:
      return (1n << 256n) - 1n - BigInt(dice.throw(40))
    case 4:
      // Precompiled contracts, but for the proof that wants a trusted setup.
      return BigInt([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 256][dice.throw(12)] as number)
    default:
      return BigInt(dice.throw(70))
  }
}

function mutated(dice: Dice, code: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(code)
  for (let times = 1 + dice.throw(4); times > 0; times--) {
    const at = dice.throw(changed.length)
    if (dice.throw(3) === 0) changed.copyWithin(at, dice.throw(changed.length), at + dice.throw(30))
    else changed[at] = dice.throw(256)
  }
  return changed
}

/** Instructions of each fork, but for calls, which {@link callOf} makes. */
const atFork: ReadonlyMap<ForkName, readonly SpecifiedOpcode[]> = new Map(
  forks.map((fork) => {
    const isCall = (opcode: number) => calls.includes(opcode)
    const exists = ({ prices }: SpecifiedOpcode) => prices.some(([since]) => includesFork(fork, since))
    return [fork, specifiedOpcodes.filter((each) => exists(each) && !isCall(each.opcode))] as const
  }),
)
/** STOP, RETURN, REVERT and SELFDESTRUCT: no code after one of them runs. */
const rarely: ReadonlySet<number> = new Set([0x00, 0xf3, 0xfd, 0xff])
/** Instructions whose operands are places and lengths; with most numbers of 256 bits, the program runs out of gas. */
const inMemory: ReadonlySet<number> = new Set([
  ...[0x20, 0x37, 0x39, 0x3c, 0x3e, 0x51, 0x52, 0x53, 0x5e],
  ...[0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xf0, 0xf3, 0xf5, 0xfd],
])
const jumps: ReadonlySet<number> = new Set([0x56, 0x57])
/** Deeper ones take the existing words, if there are enough. */
const chosenWordsMax = 7

/** Instructions in a row, some of them in loops, calls of the other contracts among them. */
function invented(dice: Dice, fork: ForkName): Uint8Array {
  const parts: Uint8Array[] = []
  const length = 20 + dice.throw(80)
  for (let at = 0; at < length; at++) {
    const kind = dice.throw(20)
    if (kind < 2) parts.push(callOf(dice))
    else if (kind === 2) parts.push(loopTo(dice, parts))
    else if (kind === 3) parts.push(pushed(number(dice)))
    else if (kind === 4 && dice.throw(20) === 0) parts.push(Uint8Array.of(dice.throw(256)))
    else parts.push(instruction(dice, pick(dice, atFork.get(fork) ?? []), parts))
  }
  return concatBytes(...parts)
}

/** An instruction after its operands, which are chosen and not taken from the stack by chance. */
function instruction(
  dice: Dice,
  { opcode, taken }: SpecifiedOpcode,
  before: readonly Uint8Array[],
): Uint8Array {
  if (rarely.has(opcode) && dice.throw(6) > 0) return new Uint8Array(0)
  if (jumps.has(opcode)) return jumpOver(dice, opcode, before)
  if (opcode >= 0x60 && opcode <= 0x7f) return Uint8Array.of(opcode, ...bytes(dice, opcode - 0x5f))
  const isDeep = taken > chosenWordsMax && dice.throw(2) > 0
  const operand = () => pushed(inMemory.has(opcode) && dice.throw(40) > 0 ? place(dice) : number(dice))
  return concatBytes(...dice.times(isDeep ? 0 : taken, operand), Uint8Array.of(opcode))
}

/** Zero as often as not, because data that a call returned is mostly empty. */
function place(dice: Dice): bigint {
  return dice.throw(2) === 0 ? 0n : BigInt(dice.throw(70))
}

/** A jump to the JUMPDEST behind it, over a byte that is no instruction. */
function jumpOver(dice: Dice, opcode: number, before: readonly Uint8Array[]): Uint8Array {
  const condition = opcode === 0x57 ? pushed(BigInt(dice.throw(2) + 1)) : new Uint8Array(0)
  const target = totalBytes(before) + condition.length + 5
  return concatBytes(condition, Uint8Array.of(0x61, target >> 8, target & 255, opcode, 0xfe, 0x5b))
}

function totalBytes(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0)
}

function pushed(value: bigint): Uint8Array {
  const digits = toMinimalBytes(value)
  return digits.length === 0 ? Uint8Array.of(0x60, 0) : Uint8Array.of(0x5f + digits.length, ...digits)
}

function callOf(dice: Dice): Uint8Array {
  const opcode = pick(dice, calls)
  const takesValue = opcode === 0xf1 || opcode === 0xf2
  const small = () => pushed(BigInt(dice.throw(80)))
  const target =
    dice.throw(4) === 0 ? pushed(number(dice)) : concatBytes(Uint8Array.of(0x73), addressOf(dice.throw(5)))
  const gas = dice.throw(2) === 0 ? Uint8Array.of(0x5a) : pushed(BigInt(dice.throw(60_000)))
  const value = takesValue ? [dice.throw(3) === 0 ? small() : pushed(0n)] : []
  return concatBytes(small(), small(), small(), small(), ...value, target, gas, Uint8Array.of(opcode))
}

/** A JUMPDEST, a body, and a jump back to it while a slot of memory counts. */
function loopTo(dice: Dice, before: readonly Uint8Array[]): Uint8Array {
  const start = totalBytes(before)
  const rounds = dice.throw(30)
  // JUMPDEST; memory[0x200] += 1; loop while it is below the rounds.
  return concatBytes(
    Uint8Array.of(0x5b, 0x60, 1, 0x61, 2, 0, 0x51, 0x01, 0x80, 0x61, 2, 0, 0x52, 0x60, rounds, 0x90, 0x10),
    Uint8Array.of(0x61, start >> 8, start & 255, 0x57),
  )
}
