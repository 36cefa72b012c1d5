/** What the kernel says of a run that has ended. */

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

/** The instruction at which the outermost frame failed, as it stood before it. */
export interface FailedInstruction {
  readonly opcode: number
  readonly stackWords: number
  /** Fewest and most words on the stack that let it begin. */
  readonly stackLeast: number
  readonly stackMost: number
  /** The topmost words, at most seven, the top first. */
  readonly operands: readonly bigint[]
  readonly gas: bigint
  /** Gas that it costs whatever its operands are, as the kernel's table has it. */
  readonly staticGas: number
  /** Of a call or destruction: whether the account that it names was cold, and the bytes of memory. */
  readonly isCold: boolean
  readonly memoryBytes: number
}

/** What gas a run needed; see src/kernel/needs.ts. */
export interface GasNeed {
  /** Gas for the outermost frame. */
  readonly frameGas: bigint
  /**
   * Nothing in the run depended on how much gas there was: no inner frame failed, and GAS was read for nothing but to
   * be passed on whole. Then every limit from `frameGas` on repeats the run exactly.
   */
  readonly isLinear: boolean
  /**
   * With one unit less the outermost frame itself runs out. Otherwise it is an inner frame that fails, which its
   * caller may survive.
   */
  readonly bindsOutermost: boolean
}
