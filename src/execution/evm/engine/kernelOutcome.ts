/** The kernel's report of a finished run. */
import type { WasmGlobal } from '../../../primitives/webAssembly.js'
import type { KernelMemory } from './kernelMemory.js'

/** Address as in src/execution/kernel/layout.ts. */
const opcodeTable = 0x2000

/** Why a message failed; numbers as `Failure` in src/execution/kernel/frame.ts. */
export const failures = [
  'none',
  'outOfGas',
  'stackUnderflow',
  'stackOverflow',
  'invalidOpcode',
  'invalidJump',
  'writeProtection',
  'returnDataOutOfBounds',
  'gasOverflow',
  'depthReached',
  'insufficientBalance',
  'createCollision',
  'codeTooLarge',
  'codeStoreOutOfGas',
  'invalidCode',
  'initcodeTooLarge',
  'precompileFailed',
  'nonceOverflow',
  'reverted',
  'partUnpaid',
  'costOverflow',
  'sentryReached',
  'writeRefused',
  'operandUnderflow',
  'invalidOperand',
  // Not the failure of a frame: a transaction included in its block that may not start.
  'depositFailed',
] as const
export type KernelFailure = (typeof failures)[number]

export interface KernelRun {
  readonly failure: KernelFailure
  readonly gasLeft: bigint
  readonly reservoir: bigint
  /** State gas that it used (EIP-8037). */
  readonly stateGas: bigint
}

export interface FailedInstruction {
  readonly opcode: number
  readonly stackWords: number
  /** Fewest and most words on the stack that let it begin. */
  readonly stackLeast: number
  readonly stackMost: number
  /** The operand of DUPN, SWAPN and EXCHANGE, and the number of words it needs. */
  readonly operand: number
  readonly operandWords: number
}

/** Gas that a run needed; see src/execution/kernel/needs.ts. */
export interface GasNeed {
  /** Gas that the outermost frame needed; for a message, including the gas paid before it. */
  readonly frameGas: bigint
  /**
   * Whether the run did not depend on the amount of gas. No inner frame failed, and GAS was only read to be passed on
   * to a call. Then every gas limit from `frameGas` on repeats the run exactly.
   */
  readonly isLinear: boolean
  /**
   * Whether the outermost frame itself runs out of gas with one unit less. Otherwise an inner frame does, which its
   * caller may survive.
   */
  readonly bindsOutermost: boolean
}

/** The kernel's globals about the last instruction that failed. */
type FailedGlobals = Readonly<
  Record<'failedOpcode' | 'failedStackWords' | 'failedOperand' | 'failedOperandWords', WasmGlobal>
>

export function describeFailed(exports: FailedGlobals, memory: KernelMemory): FailedInstruction {
  const opcode = exports.failedOpcode.value
  const entry = opcodeTable + opcode * 8
  const stackLeast = memory.view.getUint16(entry + 2, true) / 32
  return {
    opcode,
    stackWords: exports.failedStackWords.value,
    stackLeast,
    stackMost: stackLeast + memory.uint32(entry + 4) / 32,
    operand: exports.failedOperand.value,
    operandWords: exports.failedOperandWords.value,
  }
}
