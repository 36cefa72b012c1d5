/** Why a frame of any depth failed, in go-ethereum's messages. Owns the choice of the message by the kernel's report. */
import type { ForkName } from '../chain/forks.js'
import { codeSizeReason, invalidOpcodeReason, payingFailure, stackReason } from './haltReasons.js'
import type { Kernel } from './kernel.js'
import type { KernelFailure } from './kernelOutcome.js'

/** Why a frame failed. `isOutOfGas`: more gas may help. */
export interface FailureReason {
  readonly isOutOfGas: boolean
  readonly why: string
}

/** Messages of failures that do not depend on the cause. */
const texts: Partial<Record<KernelFailure, string>> = {
  reverted: 'execution reverted',
  invalidJump: 'invalid jump destination',
  writeProtection: 'write protection',
  returnDataOutOfBounds: 'return data out of bounds',
  depthReached: 'max call depth exceeded',
  insufficientBalance: 'insufficient balance for transfer',
  nonceOverflow: 'nonce uint64 overflow',
  createCollision: 'contract address collision',
  codeStoreOutOfGas: 'contract creation code storage out of gas',
  invalidCode: 'invalid code: must not begin with 0xef',
}

/** SSTORE, CALL, CREATE, CREATE2 and SELFDESTRUCT, which are refused where their gas is computed. */
const refusedWrites: readonly number[] = [0x55, 0xf0, 0xf1, 0xf5, 0xff]

/** Whether an instruction that failed was refused before it began. */
export function isRefused(failure: KernelFailure, opcode: number): boolean {
  switch (failure) {
    case 'outOfGas':
    case 'gasOverflow':
    case 'initcodeTooLarge':
    case 'stackUnderflow':
    case 'stackOverflow':
      return true
    case 'writeProtection':
      return refusedWrites.includes(opcode)
    default:
      return false
  }
}

/**
 * The reason of the last failure of a frame. `refusal` is undefined unless the frame was a call of a precompiled
 * contract; it finds why that refused its input.
 */
export function failureReason(
  failure: KernelFailure,
  kernel: Kernel,
  fork: ForkName,
  refusal: (() => string) | undefined,
): FailureReason {
  const other = (why: string): FailureReason => ({ isOutOfGas: false, why })
  switch (failure) {
    case 'outOfGas':
    case 'gasOverflow':
    case 'initcodeTooLarge':
      if (refusal !== undefined) return { isOutOfGas: true, why: 'out of gas' }
      return payingFailure(kernel.failedInstruction, fork)
    case 'stackUnderflow':
    case 'stackOverflow':
      return other(stackReason(kernel.failedInstruction))
    case 'invalidOpcode':
      return other(invalidOpcodeReason(kernel.failedInstruction.opcode))
    case 'writeProtection': {
      const { opcode } = kernel.failedInstruction
      return other(isRefused(failure, opcode) ? 'out of gas: write protection' : 'write protection')
    }
    case 'codeTooLarge':
      return other(codeSizeReason(kernel.refusedCodeBytes, fork))
    case 'precompileFailed':
      return other(refusal?.() ?? failure)
    default:
      return other(texts[failure] ?? failure)
  }
}
