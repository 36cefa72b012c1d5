import { createEVM, type EVM } from '@ethereumjs/evm'
import type { FrameInterpreter, OpcodeEntry } from './frameLoop.js'

/** The part of a message that a frame is made of; the library makes it of a Message and more. */
export interface FrameMessage {
  readonly to: object
  readonly caller: object
  readonly data: Uint8Array
  readonly value: bigint
  readonly code: Uint8Array
  readonly isStatic: boolean
  readonly isCreate?: boolean
  readonly depth: number
  readonly gasLimit: bigint
  readonly gasRefund: bigint
  readonly codeAddress?: object
  readonly blobVersionedHashes?: readonly string[]
  readonly selfdestruct?: Map<unknown, unknown>
  readonly createdAddresses?: Set<unknown>
}

/** What a frame has come to beside its state. */
export interface FrameResult {
  logs: unknown[]
  returnValue: Uint8Array | undefined
  selfdestruct: Map<unknown, unknown>
  createdAddresses?: Set<unknown>
}

export type InterpreterClass = new (
  evm: EVM,
  stateManager: EVM['stateManager'],
  blockchain: EVM['blockchain'],
  env: object,
  gasLeft: bigint,
  journal: EVM['journal'],
  performanceLogs: undefined,
) => FrameInterpreter & { readonly _result: FrameResult }

let found: InterpreterClass | undefined

/**
 * The library's interpreter, which holds the state of a frame and is what instructions work on. The library does
 * not export it, so it is looked for from inside a frame.
 */
export async function findInterpreterClass(): Promise<InterpreterClass> {
  if (found !== undefined) return found
  const evm = await createEVM()
  const table = Reflect.get(evm, '_opcodeMap') as OpcodeEntry[]
  ;(table[0x5b] as OpcodeEntry).opHandler = ({ interpreter }) => {
    found = interpreter.constructor as InterpreterClass
  }
  await evm.runCode({ code: Uint8Array.of(0x5b), gasLimit: 100n })
  if (found === undefined) throw new Error('the EVM does not run code as expected')
  return found
}
