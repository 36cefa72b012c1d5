/** Reasons of failed frames of any depth, in go-ethereum's messages (core/vm/errors.go), from the kernel's report. */
import { codeBytesMax, initcodeBytesMax } from '../../../data/chain/intrinsicGas.js'
import type { Kernel } from './kernel.js'
import type { KernelFailure } from './kernelOutcome.js'
import { opcodeNames } from './opcodeNames.js'

/** The reason of a failed frame. `isOutOfGas`: more gas may help. */
interface FailureReason {
  readonly isOutOfGas: boolean
  readonly why: string
}

/** Messages of failures that do not depend on the cause. */
const texts: Partial<Record<KernelFailure, string>> = {
  reverted: 'execution reverted',
  depositFailed: 'failed deposit transaction',
  invalidJump: 'invalid jump destination',
  writeProtection: 'write protection',
  writeRefused: 'out of gas: write protection',
  returnDataOutOfBounds: 'return data out of bounds',
  gasOverflow: 'gas uint64 overflow',
  depthReached: 'max call depth exceeded',
  insufficientBalance: 'insufficient balance for transfer',
  nonceOverflow: 'nonce uint64 overflow',
  createCollision: 'contract address collision',
  codeStoreOutOfGas: 'contract creation code storage out of gas',
  invalidCode: 'invalid code: must not begin with 0xef',
}

/** Messages of failures that more gas may avoid. */
const gasTexts: Partial<Record<KernelFailure, string>> = {
  outOfGas: 'out of gas',
  partUnpaid: 'out of gas: out of gas',
  costOverflow: 'out of gas: gas uint64 overflow',
  sentryReached: 'out of gas: not enough gas for reentrancy sentry',
}

const refusals: readonly KernelFailure[] = [
  'outOfGas',
  'partUnpaid',
  'gasOverflow',
  'costOverflow',
  'sentryReached',
  'initcodeTooLarge',
  'writeRefused',
  'stackUnderflow',
  'stackOverflow',
]

/** Whether an instruction that failed was refused before it began. */
export function isRefused(failure: KernelFailure): boolean {
  return refusals.includes(failure)
}

/** The reason of a frame's last failure; `refusal` finds why a precompiled contract refused its input. */
export function failureReason(
  failure: KernelFailure,
  kernel: Kernel,
  refusal: (() => string) | undefined,
): FailureReason {
  const other = (why: string): FailureReason => ({ isOutOfGas: false, why })
  const gasText = gasTexts[failure]
  if (gasText !== undefined) return { isOutOfGas: true, why: gasText }
  switch (failure) {
    case 'stackUnderflow': {
      const { stackWords, stackLeast } = kernel.failedInstruction
      return other(`stack underflow (${stackWords} <=> ${stackLeast})`)
    }
    case 'operandUnderflow': {
      const { stackWords, operandWords } = kernel.failedInstruction
      return other(`stack underflow (${stackWords} <=> ${operandWords})`)
    }
    case 'stackOverflow': {
      const { stackWords, stackMost } = kernel.failedInstruction
      return other(`stack limit reached ${stackWords} (${stackMost})`)
    }
    case 'invalidOpcode':
      return other(`invalid opcode: ${opcodeNames[kernel.failedInstruction.opcode]}`)
    case 'invalidOperand': {
      const { opcode, operand } = kernel.failedInstruction
      const digits = operand.toString(16).padStart(2, '0')
      return other(`invalid opcode: ${opcodeNames[opcode]} (operand: 0x${digits})`)
    }
    case 'initcodeTooLarge':
      return {
        // go-ethereum treats it as out of gas.
        isOutOfGas: true,
        why: `out of gas: max initcode size exceeded: code size ${kernel.refusedCodeBytes} limit ${initcodeBytesMax(kernel.fork)}`,
      }
    case 'codeTooLarge':
      return other(
        `max code size exceeded: code size ${kernel.refusedCodeBytes} limit ${codeBytesMax(kernel.fork)}`,
      )
    case 'precompileFailed':
      return other(refusal?.() ?? failure)
    default:
      return other(texts[failure] ?? failure)
  }
}
