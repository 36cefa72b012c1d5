/**
 * Why a frame failed, in go-ethereum's messages (core/vm/{interpreter,errors,gas_table}.go). Owns the
 * messages and the choice among several reasons; the kernel decides whether an instruction fails.
 */
import { type ForkName, includesFork } from '../chain/forks.js'
import { codeBytesMax, initcodeBytesMax } from '../chain/intrinsicGas.js'
import type { FailedInstruction } from './kernelOutcome.js'
import { opcodeNames } from './opcodeNames.js'

/** The message for a stack that is too small or too full for an instruction. */
export function stackReason({ stackWords, stackLeast, stackMost }: FailedInstruction): string {
  return stackWords < stackLeast
    ? `stack underflow (${stackWords} <=> ${stackLeast})`
    : `stack limit reached ${stackWords} (${stackMost})`
}

/** The message for an opcode that is no instruction of the fork. */
export function invalidOpcodeReason(opcode: number): string {
  return `invalid opcode: ${opcodeNames[opcode]}`
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

/** Memory size from which on go-ethereum cannot compute the gas. */
const memorySizeMax = 0x1f_ffff_ffe0n
const uint64End = 2n ** 64n
const sentryGas = 2_300n
const coldAccountGas = 2_600n
const warmGas = 100n
const transferGas = 9_000n

/** Why an instruction could not be paid. */
export function payingFailure(failed: FailedInstruction, fork: ForkName): PayingFailure {
  const { opcode, operands, isCold } = failed
  const isCall = callOpcodes.includes(opcode)
  const isBerlin = includesFork(fork, 'berlin')
  const constant = constantGas(failed, fork)
  if (failed.gas < constant) return plain
  const gasLeft = failed.gas - constant
  const at = (index: number): bigint => operands[index] ?? 0n
  const size = reachedSize(opcode, at)
  if (size > uint64End - 32n) return { isOutOfGas: false, why: overflow }
  if (isBerlin && isCall && isCold && gasLeft < coldAccountGas - warmGas) return because(plain.why)
  if (size > memorySizeMax) return because(overflow)
  // Since EIP-7702 all costs of a call are counted before the gas that it passes on.
  if (isCall && includesFork(fork, 'prague')) return because(plain.why)
  if (
    createOpcodes.includes(opcode) &&
    includesFork(fork, 'shanghai') &&
    at(2) > BigInt(initcodeBytesMax(fork))
  ) {
    return because(`max initcode size exceeded: code size ${at(2)} limit ${initcodeBytesMax(fork)}`)
  }
  if (opcode === sstore && includesFork(fork, 'istanbul') && gasLeft <= sentryGas) {
    return because('not enough gas for reentrancy sentry')
  }
  if (isCall && !includesFork(fork, 'tangerineWhistle') && at(0) >= uint64End) return because(overflow)
  if (opcode === call) {
    const cold = isBerlin && isCold ? coldAccountGas - warmGas : 0n
    const before = memoryGas(BigInt(failed.memoryBytes / 32))
    const grown = memoryGas((size + 31n) / 32n) - before
    const cost = (grown > 0n ? grown : 0n) + (at(2) > 0n ? transferGas : 0n)
    if (gasLeft - cold < cost) return because(plain.why)
  }
  const isColdHeir = opcode === selfdestruct && isBerlin && isCold
  return isColdHeir && gasLeft < coldAccountGas ? because(plain.why) : plain
}

/** Gas that go-ethereum charges before the gas that depends on operands. */
export function constantGas({ opcode, staticGas }: FailedInstruction, fork: ForkName): bigint {
  const isTangerine = includesFork(fork, 'tangerineWhistle')
  if (callOpcodes.includes(opcode)) return includesFork(fork, 'berlin') ? warmGas : isTangerine ? 700n : 40n
  if (opcode === selfdestruct) return isTangerine ? 5_000n : 0n
  const isLog = opcode >= 0xa0 && opcode <= 0xa4
  return isLog ? 0n : BigInt(staticGas)
}

/** Gas of a memory of so many words. */
export function memoryGas(words: bigint): bigint {
  return words * 3n + (words * words) / 512n
}

/** Bytes of memory that an instruction needs. */
export function reachedSize(opcode: number, at: (index: number) => bigint): bigint {
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

/** The message for code of a creation that is too large (EIP-170). */
export function codeSizeReason(bytes: number, fork: ForkName): string {
  return `max code size exceeded: code size ${bytes} limit ${codeBytesMax(fork)}`
}
