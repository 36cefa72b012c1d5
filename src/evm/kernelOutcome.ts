/** The kernel's report of a finished run. */
import type { KernelMemory } from './kernelMemory.js'
import type { KernelExports } from './kernelModule.js'

/** As in src/kernel/layout.ts. */
const opcodeTable = 0x2000

/** Why a message failed; numbers as `Failure` in src/kernel/frames.ts. */
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
] as const
export type KernelFailure = (typeof failures)[number]

/** What a run left. */
export interface KernelRun {
  readonly failure: KernelFailure
  readonly gasLeft: bigint
  readonly reservoir: bigint
  /** State gas that it used (EIP-8037). */
  readonly stateGas: bigint
}

/** The instruction at which the outermost frame failed, with the state before it. */
export interface FailedInstruction {
  readonly opcode: number
  readonly stackWords: number
  /** Fewest and most words on the stack that let it begin. */
  readonly stackLeast: number
  readonly stackMost: number
  /** The topmost words, at most seven, the top first. */
  readonly operands: readonly bigint[]
  readonly gas: bigint
  /** Gas that does not depend on operands, from the kernel's table. */
  readonly staticGas: number
  /** For a call or destruction: whether the account that it names was cold, and the bytes of memory. */
  readonly isCold: boolean
  readonly memoryBytes: number
  /** For an instruction on storage or an account: the gas, below zero, after its whole cost. */
  readonly unpaidGas: bigint
}

/** Gas that a run needed; see src/kernel/needs.ts. */
export interface GasNeed {
  /** Gas that the outermost frame needed. */
  readonly frameGas: bigint
  /**
   * Whether nothing in the run depended on the amount of gas: no inner frame failed, and GAS was only read to be
   * passed on to a call. Then every gas limit from `frameGas` on repeats the run exactly.
   */
  readonly isLinear: boolean
  /**
   * Whether with one unit less the outermost frame itself would run out of gas; otherwise an inner one would, which
   * its caller may survive.
   */
  readonly bindsOutermost: boolean
}

export function readFailedInstruction(exports: KernelExports, memory: KernelMemory): FailedInstruction {
  const { failedOpcode, failedStack, failedStackWords, failedGas } = exports
  const { failedCold, memoryBytesBefore, unpaidGas } = exports
  const stackWords = failedStackWords.value
  const entry = opcodeTable + failedOpcode.value * 8
  const stackLeast = memory.view.getUint16(entry + 2, true) / 32
  const operands: bigint[] = []
  for (let i = 1; i <= Math.min(7, stackWords); i++) {
    operands.push(memory.wordAt(failedStack.value + (stackWords - i) * 32))
  }
  return {
    opcode: failedOpcode.value,
    stackWords,
    stackLeast,
    stackMost: stackLeast + memory.uint32(entry + 4) / 32,
    operands,
    gas: failedGas.value,
    staticGas: memory.view.getUint16(entry, true),
    isCold: failedCold.value !== 0,
    memoryBytes: memoryBytesBefore.value,
    unpaidGas: unpaidGas.value,
  }
}
