/**
 * Why an instruction stops a frame, in the words of go-ethereum (core/vm/{interpreter,errors,gas_table}.go). Owns what
 * instructions take from the stack and leave there, the names of those that a fork does not have, and the words for
 * gas that does not suffice. Which instruction fails is decided where it runs.
 */
import { type ForkName, includesFork } from '../chain/forks.js'
import { initcodeBytesMax } from '../chain/intrinsicGas.js'
import type { OpcodeEntry, RunState } from './frameLoop.js'

/** Items of the stack before an instruction: fewer than `least` or more than `most`, and it fails. By opcode. */
export interface StackBounds {
  readonly least: Uint16Array
  readonly most: Uint16Array
}

const stackLimit = 1_024

/** `[first opcode, last opcode, items taken, items left]` of instructions in a row that are alike. */
const stackEffects: readonly (readonly [number, number, number, number])[] = [
  [0x01, 0x07, 2, 1],
  [0x08, 0x09, 3, 1],
  [0x0a, 0x0b, 2, 1],
  [0x10, 0x14, 2, 1],
  [0x15, 0x15, 1, 1],
  [0x16, 0x18, 2, 1],
  [0x19, 0x19, 1, 1],
  [0x1a, 0x1d, 2, 1],
  [0x1e, 0x1e, 1, 1],
  [0x20, 0x20, 2, 1],
  [0x30, 0x30, 0, 1],
  [0x31, 0x31, 1, 1],
  [0x32, 0x34, 0, 1],
  [0x35, 0x35, 1, 1],
  [0x36, 0x36, 0, 1],
  [0x37, 0x37, 3, 0],
  [0x38, 0x38, 0, 1],
  [0x39, 0x39, 3, 0],
  [0x3a, 0x3a, 0, 1],
  [0x3b, 0x3b, 1, 1],
  [0x3c, 0x3c, 4, 0],
  [0x3d, 0x3d, 0, 1],
  [0x3e, 0x3e, 3, 0],
  [0x3f, 0x40, 1, 1],
  [0x41, 0x48, 0, 1],
  [0x49, 0x49, 1, 1],
  [0x4a, 0x4a, 0, 1],
  [0x50, 0x50, 1, 0],
  [0x51, 0x51, 1, 1],
  [0x52, 0x53, 2, 0],
  [0x54, 0x54, 1, 1],
  [0x55, 0x55, 2, 0],
  [0x56, 0x56, 1, 0],
  [0x57, 0x57, 2, 0],
  [0x58, 0x5a, 0, 1],
  [0x5c, 0x5c, 1, 1],
  [0x5d, 0x5d, 2, 0],
  [0x5e, 0x5e, 3, 0],
  [0x5f, 0x7f, 0, 1],
  [0xf0, 0xf0, 3, 1],
  [0xf1, 0xf2, 7, 1],
  [0xf3, 0xf3, 2, 0],
  [0xf4, 0xf4, 6, 1],
  [0xf5, 0xf5, 4, 1],
  [0xfa, 0xfa, 6, 1],
  [0xfd, 0xfd, 2, 0],
  [0xff, 0xff, 1, 0],
]

/** Bounds of the instructions that a fork's table has; all others fail for being none. */
export function stackBounds(table: readonly OpcodeEntry[]): StackBounds {
  const least = new Uint16Array(256)
  const most = new Uint16Array(256).fill(stackLimit)
  const set = (opcode: number, taken: number, left: number): void => {
    if (table[opcode]?.opcodeInfo.isInvalid !== false) return
    least[opcode] = taken
    most[opcode] = stackLimit + taken - left
  }
  for (const [from, to, taken, left] of stackEffects) {
    for (let opcode = from; opcode <= to; opcode++) set(opcode, taken, left)
  }
  for (let n = 1; n <= 16; n++) {
    set(0x7f + n, n, n + 1)
    set(0x8f + n, n + 1, n + 1)
  }
  for (let topics = 0; topics <= 4; topics++) set(0xa0 + topics, topics + 2, 0)
  return { least, most }
}

/** The words for a stack of `length` items that is out of an instruction's bounds. */
export function stackReason({ least, most }: StackBounds, opcode: number, length: number): string {
  const required = least[opcode] as number
  return length < required
    ? `stack underflow (${length} <=> ${required})`
    : `stack limit reached ${length} (${most[opcode]})`
}

/** Instructions that some forks have, or that were planned: go-ethereum names them also where they are none. */
const names: ReadonlyMap<number, string> = new Map([
  ...['SHL', 'SHR', 'SAR', 'CLZ'].map((name, at) => [0x1b + at, name] as const),
  [0x3d, 'RETURNDATASIZE'],
  [0x3e, 'RETURNDATACOPY'],
  [0x3f, 'EXTCODEHASH'],
  ...['CHAINID', 'SELFBALANCE', 'BASEFEE', 'BLOBHASH', 'BLOBBASEFEE', 'SLOTNUM'].map(
    (name, at) => [0x46 + at, name] as const,
  ),
  ...['TLOAD', 'TSTORE', 'MCOPY', 'PUSH0'].map((name, at) => [0x5c + at, name] as const),
  ...['DATALOAD', 'DATALOADN', 'DATASIZE', 'DATACOPY'].map((name, at) => [0xd0 + at, name] as const),
  ...['RJUMP', 'RJUMPI', 'RJUMPV', 'CALLF', 'RETF', 'JUMPF', 'DUPN', 'SWAPN', 'EXCHANGE'].map(
    (name, at) => [0xe0 + at, name] as const,
  ),
  [0xec, 'EOFCREATE'],
  [0xee, 'RETURNCONTRACT'],
  [0xf4, 'DELEGATECALL'],
  [0xf5, 'CREATE2'],
  ...['RETURNDATALOAD', 'EXTCALL', 'EXTDELEGATECALL', 'STATICCALL', 'EXTSTATICCALL'].map(
    (name, at) => [0xf7 + at, name] as const,
  ),
  [0xfd, 'REVERT'],
  [0xfe, 'INVALID'],
])

/** The words for an opcode that is no instruction of the fork. */
export function invalidOpcodeReason(opcode: number): string {
  return `invalid opcode: ${names.get(opcode) ?? `opcode 0x${opcode.toString(16)} not defined`}`
}

/** What the frame knew of a call or destruction before its gas was counted. */
export interface CallFacts {
  /** Whether its address was cold. */
  readonly isCold: boolean
  /** Words of memory until then. */
  readonly memoryWords: bigint
}

/** Why an instruction could not be paid. `isOutOfGas`: more gas may help. */
export interface PayingFailure {
  readonly isOutOfGas: boolean
  readonly why: string
}

const plain: PayingFailure = { isOutOfGas: true, why: 'out of gas' }
const overflow = 'gas uint64 overflow'

function because(why: string): PayingFailure {
  return { isOutOfGas: true, why: `out of gas: ${why}` }
}

const sstore = 0x55
const call = 0xf1
const selfdestruct = 0xff
const callOpcodes: readonly number[] = [call, 0xf2, 0xf4, 0xfa]
const createOpcodes: readonly number[] = [0xf0, 0xf5]

/** A size from which on go-ethereum cannot compute what memory costs. */
const memorySizeMax = 0x1f_ffff_ffe0n
const uint64End = 2n ** 64n
const sentryGas = 2_300n
const coldAccountGas = 2_600n
const warmGas = 100n
const transferGas = 9_000n

/** Why the instruction at which `state` stands could not be paid; the stack has to be as before it. */
export function payingFailure(
  state: RunState,
  { opcodeInfo }: OpcodeEntry,
  fork: ForkName,
  facts: CallFacts | undefined,
): PayingFailure {
  const { opCode: opcode, stack } = state
  const isCall = callOpcodes.includes(opcode)
  const isBerlin = includesFork(fork, 'berlin')
  const isLog = opcode >= 0xa0 && opcode <= 0xa4
  const constant = isCall && isBerlin ? warmGas : isLog ? 0n : opcodeInfo.feeBigInt
  if (state.gasLeft < constant) return plain
  const gasLeft = state.gasLeft - constant
  const operands = stack.peek(Math.min(stack.length, 7))
  const at = (index: number): bigint => operands[index] ?? 0n
  const size = reachedSize(opcode, at)
  if (size > uint64End - 32n) return { isOutOfGas: false, why: overflow }
  if (isBerlin && isCall && facts?.isCold === true && gasLeft < coldAccountGas - warmGas)
    return because(plain.why)
  if (size > memorySizeMax) return because(overflow)
  // Since delegations all of a call's costs are counted before what it gives on.
  if (isCall && includesFork(fork, 'prague')) return because(plain.why)
  if (createOpcodes.includes(opcode) && includesFork(fork, 'shanghai') && at(2) > BigInt(initcodeBytesMax)) {
    return because(`max initcode size exceeded: code size ${at(2)} limit ${initcodeBytesMax}`)
  }
  if (opcode === sstore && includesFork(fork, 'istanbul') && gasLeft <= sentryGas) {
    return because('not enough gas for reentrancy sentry')
  }
  if (isCall && !includesFork(fork, 'tangerineWhistle') && at(0) >= uint64End) return because(overflow)
  if (opcode === call && facts !== undefined) {
    const cold = isBerlin && facts.isCold ? coldAccountGas - warmGas : 0n
    const before = memoryGas(facts.memoryWords)
    const grown = memoryGas((size + 31n) / 32n) - before
    const cost = (grown > 0n ? grown : 0n) + (at(2) > 0n ? transferGas : 0n)
    if (gasLeft - cold < cost) return because(plain.why)
  }
  const isColdHeir = opcode === selfdestruct && isBerlin && facts?.isCold === true
  return isColdHeir && gasLeft < coldAccountGas ? because(plain.why) : plain
}

function memoryGas(words: bigint): bigint {
  return words * 3n + (words * words) / 512n
}

/** Bytes of memory that an instruction needs. */
function reachedSize(opcode: number, at: (index: number) => bigint): bigint {
  const range = (offset: number, length: number): bigint => end(at(offset), at(length))
  switch (opcode) {
    case 0x20: // KECCAK256
    case 0xf3: // RETURN
    case 0xfd: // REVERT
      return range(0, 1)
    case 0x37: // CALLDATACOPY
    case 0x39: // CODECOPY
    case 0x3e: // RETURNDATACOPY
      return range(0, 2)
    case 0x3c: // EXTCODECOPY
      return range(1, 3)
    case 0x51: // MLOAD
    case 0x52: // MSTORE
      return end(at(0), 32n)
    case 0x53: // MSTORE8
      return end(at(0), 1n)
    case 0x5e: // MCOPY
      return max(range(0, 2), range(1, 2))
    case 0xa0: // LOG0 …
    case 0xa1:
    case 0xa2:
    case 0xa3:
    case 0xa4:
      return range(0, 1)
    case 0xf0: // CREATE
    case 0xf5: // CREATE2
      return range(1, 2)
    case 0xf1: // CALL
    case 0xf2: // CALLCODE
      return max(range(3, 4), range(5, 6))
    case 0xf4: // DELEGATECALL
    case 0xfa: // STATICCALL
      return max(range(2, 3), range(4, 5))
    default:
      return 0n
  }
}

function end(offset: bigint, length: bigint): bigint {
  return length === 0n ? 0n : offset + length
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** Why code that a creation returned is not taken; undefined where it is. EIP-2, EIP-170, EIP-3541. */
export function depositReason(code: Uint8Array, gasLeft: bigint, fork: ForkName): string | undefined {
  if (code[0] === 0xef && includesFork(fork, 'london')) return 'invalid code: must not begin with 0xef'
  if (includesFork(fork, 'homestead') && gasLeft < BigInt(code.length) * depositByteGas) {
    return 'contract creation code storage out of gas'
  }
  if (includesFork(fork, 'spuriousDragon') && code.length > codeBytesMax) {
    return `max code size exceeded: code size ${code.length} limit ${codeBytesMax}`
  }
  return undefined
}

const depositByteGas = 200n
/** EIP-170. */
const codeBytesMax = 24_576
