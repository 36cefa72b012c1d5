/**
 * The gas that go-ethereum's tracers name as the cost of an instruction that failed (core/vm/interpreter.go): the
 * constant part, and the other one as far as it was computed.
 */
import { type ForkName, includesFork } from '../chain/forks.js'
import { constantGas, memoryGas, payingFailure, reachedSize } from './haltReasons.js'
import type { FailedInstruction, KernelFailure } from './kernelOutcome.js'

const selfdestruct = 0xff
const coldAccountGas = 2_600n
const coldSurcharge = 2_500n
const newAccountGas = 25_000n
/** SLOAD, SSTORE, BALANCE, EXTCODESIZE and EXTCODEHASH. */
const paidAtOnce: readonly number[] = [0x54, 0x55, 0x31, 0x3b, 0x3f]

/** `memoryBytes` is the memory before the instruction. */
export function failedCost(
  failure: KernelFailure,
  failed: FailedInstruction,
  memoryBytes: number,
  fork: ForkName,
): bigint {
  const constant = constantGas(failed, fork)
  switch (failure) {
    case 'outOfGas':
      if (failed.gas < constant || payingFailure(failed, fork).why !== 'out of gas') return constant
      return constant + operandGas(failed, memoryBytes, constant, fork)
    case 'returnDataOutOfBounds':
      return constant + operandGas(failed, memoryBytes, constant, fork)
    case 'writeProtection':
      return isLog(failed.opcode) ? operandGas(failed, memoryBytes, constant, fork) : constant
    default:
      return constant
  }
}

function isLog(opcode: number): boolean {
  return opcode >= 0xa0 && opcode <= 0xa4
}

/** Gas that depends on operands. */
function operandGas(
  { opcode, operands, gas, unpaidGas, isCold }: FailedInstruction,
  memoryBytes: number,
  constant: bigint,
  fork: ForkName,
): bigint {
  if (paidAtOnce.includes(opcode)) return gas - unpaidGas - constant
  const at = (index: number): bigint => operands[index] ?? 0n
  if (opcode === selfdestruct) {
    const cold = isCold && includesFork(fork, 'berlin') ? coldAccountGas : 0n
    return gas < constant + cold ? cold : cold + newAccountGas
  }
  const words = (index: number): bigint => (at(index) + 31n) / 32n
  const before = memoryGas(BigInt(memoryBytes / 32))
  const after = memoryGas((reachedSize(opcode, at) + 31n) / 32n)
  const memory = after > before ? after - before : 0n
  if (isLog(opcode)) return memory + 375n * BigInt(opcode - 0xa0 + 1) + 8n * at(1)
  switch (opcode) {
    case 0x0a: // EXP
      return (
        BigInt(Math.ceil(at(1).toString(16).length / 2)) * (includesFork(fork, 'spuriousDragon') ? 50n : 10n)
      )
    case 0x20: // KECCAK256
      return memory + 6n * words(1)
    case 0x37: // CALLDATACOPY
    case 0x39: // CODECOPY
    case 0x3e: // RETURNDATACOPY
    case 0x5e: // MCOPY
      return memory + 3n * words(2)
    case 0x3c: {
      // EXTCODECOPY, whose account can only be cold if the rest could be paid.
      const copied = memory + 3n * words(3)
      return includesFork(fork, 'berlin') && gas >= constant + copied ? copied + coldSurcharge : copied
    }
    case 0xf0: // CREATE
      return memory + (includesFork(fork, 'shanghai') ? 2n : 0n) * words(2)
    case 0xf5: // CREATE2
      return memory + (includesFork(fork, 'shanghai') ? 8n : 6n) * words(2)
    default:
      return memory
  }
}
