/**
 * Gas of instructions that depend on memory, computed at once: the library's own handlers answer with a promise,
 * which costs several times what they compute. Rules of the yellow paper, appendix G.
 */
import { EVMError } from '@ethereumjs/evm'
import type { GasHandler, OpcodeEntry, RunState } from './frameLoop.js'

const memoryWordGas = 3n
const quadraticDivisor = 512n
const copyWordGas = 3n
const keccakWordGas = 6n
const logTopicGas = 375n
const logByteGas = 8n

/** Text of the error that go-ethereum has for it; the library calls it out of gas. */
export const returnDataOutOfBounds = 'return data out of bounds'

function words(bytes: bigint): bigint {
  return (bytes + 31n) >> 5n
}

/** Gas for memory to reach `offset + length`; marks it as reached. */
function reachMemory(state: RunState, offset: bigint, length: bigint): bigint {
  if (length === 0n) return 0n
  const count = words(offset + length)
  if (count <= state.memoryWordCount) return 0n
  const total = count * memoryWordGas + (count * count) / quadraticDivisor
  const gas = total - state.highestMemCost
  state.highestMemCost = total
  state.memoryWordCount = count
  return gas
}

const word: GasHandler = (state, gas) => gas + reachMemory(state, state.stack.peek(1)[0] as bigint, 32n)

const range: GasHandler = (state, gas) => {
  const [offset, length] = state.stack.peek(2) as [bigint, bigint]
  return gas + reachMemory(state, offset, length)
}

const copy: GasHandler = (state, gas) => {
  const [target, , length] = state.stack.peek(3) as [bigint, bigint, bigint]
  return gas + reachMemory(state, target, length) + copyWordGas * words(length)
}

const log: GasHandler = (state, gas) => {
  if (state.interpreter.isStatic()) throw new EVMError(EVMError.errorMessages.STATIC_STATE_CHANGE)
  const [offset, length] = state.stack.peek(2) as [bigint, bigint]
  const topics = BigInt(state.opCode - 0xa0)
  return gas + reachMemory(state, offset, length) + logTopicGas * topics + logByteGas * length
}

const handlers: ReadonlyMap<number, GasHandler> = new Map<number, GasHandler>([
  [
    0x20, // KECCAK256
    (state, gas) => {
      const [offset, length] = state.stack.peek(2) as [bigint, bigint]
      return gas + reachMemory(state, offset, length) + keccakWordGas * words(length)
    },
  ],
  [0x37, copy], // CALLDATACOPY
  [0x39, copy], // CODECOPY
  [
    0x3e, // RETURNDATACOPY
    (state, gas, common) => {
      const cost = copy(state, gas, common) as bigint
      const [, offset, length] = state.stack.peek(3) as [bigint, bigint, bigint]
      // What cannot be paid fails for that.
      if (state.gasLeft >= cost && offset + length > BigInt(state.returnBytes.length)) {
        throw new EVMError(returnDataOutOfBounds as EVMError['error'])
      }
      return cost
    },
  ],
  [0x51, word], // MLOAD
  [0x52, word], // MSTORE
  [0x53, (state, gas) => gas + reachMemory(state, state.stack.peek(1)[0] as bigint, 1n)], // MSTORE8
  [
    0x5e, // MCOPY
    (state, gas) => {
      const [target, source, length] = state.stack.peek(3) as [bigint, bigint, bigint]
      const furthest = target > source ? target : source
      return gas + reachMemory(state, furthest, length) + copyWordGas * words(length)
    },
  ],
  [0xa0, log],
  [0xa1, log],
  [0xa2, log],
  [0xa3, log],
  [0xa4, log],
  [0xf3, range], // RETURN
  [0xfd, range], // REVERT
])

/** Puts the handlers of this file in place of the library's, where its table has the instruction. */
export function useMemoryGas(table: readonly OpcodeEntry[]): void {
  for (const [opcode, handler] of handlers) {
    const entry = table[opcode] as OpcodeEntry
    if (entry.opcodeInfo.code === opcode) entry.gasHandler = handler
  }
}
