/**
 * The instruction loop of one frame: the library's handlers without its promise per instruction, and with a watch
 * that can stop it. Owns the loop and the analysis of code; what instructions do and cost stays the library's.
 */
import type { Common } from '@ethereumjs/common'
import { EVMError } from '@ethereumjs/evm'
import { bytesToBigInt } from '../primitives/bytes.js'
import { type StackBounds, stackReason } from './haltReasons.js'
import type { JobWatch } from './jobWatch.js'

/** The part of the library's frame state that is used here. */
export interface RunState {
  programCounter: number
  opCode: number
  code: Uint8Array
  validJumps: Uint8Array
  shouldDoJumpAnalysis: boolean
  gasLeft: bigint
  gasRefund: bigint
  memoryWordCount: bigint
  highestMemCost: bigint
  returnBytes: Uint8Array
  readonly memory: { _store: Uint8Array }
  readonly stack: {
    readonly length: number
    peek(count?: number): bigint[]
    push(value: bigint): void
  }
  readonly interpreter: FrameInterpreter
}

/** The library's interpreter of one frame. */
export interface FrameInterpreter {
  readonly _runState: RunState
  readonly _env: { readonly depth: number }
  getAddress(): { readonly bytes: Uint8Array }
  isStatic(): boolean
}

export type OpcodeHandler = (state: RunState, common: Common) => void | Promise<void>
export type GasHandler = (state: RunState, gas: bigint, common: Common) => bigint | Promise<bigint>

/** An instruction of the library's table. */
export interface OpcodeEntry {
  readonly opcodeInfo: {
    readonly code: number
    readonly name: string
    readonly feeBigInt: bigint
    readonly isAsync: boolean
    readonly dynamicGas: boolean
    readonly isInvalid: boolean
  }
  opHandler: OpcodeHandler
  gasHandler: GasHandler
}

interface Analysis {
  /** 1 where a JUMPDEST stands that is not data of a PUSH. */
  readonly jumpTargets: Uint8Array
  /** Values of PUSH instructions seen so far, by position; undefined for code too long to keep them. */
  readonly pushes: (bigint | undefined)[] | undefined
}

/**
 * By code object: the same code is run again and again, within a job and by the next, and a call storm of depth
 * 1,024 must not analyse it (or keep the analysis) 1,024 times.
 */
const analyses = new WeakMap<Uint8Array, Analysis>()

/** Longest code whose pushes are kept: twice the largest initcode. Longer comes only from overrides, and once. */
const keptPushesCodeMax = 98_304

const push0 = 0x5f
const push1 = 0x60
const push32 = 0x7f
const jumpdest = 0x5b

function analyse(code: Uint8Array): Analysis {
  let analysis = analyses.get(code)
  if (analysis !== undefined) return analysis
  const jumpTargets = new Uint8Array(code.length)
  for (let at = 0; at < code.length; at++) {
    const opcode = code[at] as number
    if (opcode === jumpdest) jumpTargets[at] = 1
    else if (opcode >= push1 && opcode <= push32) at += opcode - push0
  }
  const keeps = code.length <= keptPushesCodeMax
  analysis = { jumpTargets, pushes: keeps ? new Array<bigint | undefined>(code.length) : undefined }
  analyses.set(code, analysis)
  return analysis
}

/** The instructions of one fork. */
export interface Instructions {
  readonly table: readonly OpcodeEntry[]
  readonly bounds: StackBounds
}

/**
 * Runs the frame to its end and returns what ended it: undefined for success. Where an instruction cannot be paid,
 * the frame's state stays as it was before it. Errors that are not the EVM's pass through (the watch, the store).
 */
export async function runFrame(
  { _runState: state }: FrameInterpreter,
  code: Uint8Array,
  { table, bounds }: Instructions,
  common: Common,
  watch: JobWatch,
): Promise<EVMError | undefined> {
  const { jumpTargets, pushes } = analyse(code)
  const { least, most } = bounds
  const { stack } = state
  state.code = code
  state.validJumps = jumpTargets
  state.shouldDoJumpAnalysis = false
  try {
    while (state.programCounter < code.length) {
      if (--watch.steps < 0) watch.look()
      const at = state.programCounter
      const opcode = code[at] as number
      state.opCode = opcode
      const { length } = stack
      if (length < (least[opcode] as number) || length > (most[opcode] as number)) {
        throw new EVMError(stackReason(bounds, opcode, length) as EVMError['error'])
      }
      const entry = table[opcode] as OpcodeEntry
      const info = entry.opcodeInfo
      let gas = info.feeBigInt
      if (info.dynamicGas) {
        const charged = entry.gasHandler(state, gas, common)
        gas = typeof charged === 'bigint' ? charged : await charged
      } else if (info.isInvalid) throw new EVMError(EVMError.errorMessages.INVALID_OPCODE)
      const gasLeft = state.gasLeft - gas
      if (gasLeft < 0n) throw new EVMError(EVMError.errorMessages.OUT_OF_GAS)
      state.gasLeft = gasLeft
      state.programCounter = at + 1
      if (opcode >= push1 && opcode <= push32) {
        const end = at + 1 + opcode - push0
        let value = pushes?.[at]
        if (value === undefined) {
          value = readPush(code, at + 1, end)
          if (pushes !== undefined) pushes[at] = value
        }
        stack.push(value)
        state.programCounter = end
      } else if (info.isAsync) await entry.opHandler(state, common)
      else entry.opHandler(state, common)
    }
  } catch (error) {
    if (!(error instanceof EVMError)) throw error
    if (error.error !== EVMError.errorMessages.STOP) return error
  }
  return undefined
}

/** The operand of a PUSH; bytes beyond the end of the code are zeros. */
function readPush(code: Uint8Array, start: number, end: number): bigint {
  const value = bytesToBigInt(code.subarray(start, end))
  const missing = end - Math.max(start, Math.min(end, code.length))
  return value << BigInt(8 * missing)
}
