/** Block values that instructions read, in the kernel's memory; see src/execution/kernel/context.ts. */
import type { KernelMemory } from './kernelMemory.js'

/** As in src/execution/kernel/layout.ts. */
export const contextWords = 0x1b00

export interface BlockWords {
  readonly coinbase: Uint8Array
  readonly timestamp: bigint
  readonly number: bigint
  /** Difficulty, or since the Merge the randomness (PREVRANDAO). */
  readonly random: bigint
  readonly gasLimit: bigint
  readonly chainId: bigint
  readonly baseFee: bigint
  readonly blobBaseFee: bigint
  /** EIP-7843; 0 before Amsterdam. */
  readonly slotNumber: bigint
}

/** Writes the words behind those of the transaction. */
export function writeBlockWords(memory: KernelMemory, words: BlockWords): void {
  const { coinbase, timestamp, number, random, gasLimit, chainId, baseFee, blobBaseFee, slotNumber } = words
  memory.putReversed(contextWords + 64, coinbase, 20)
  const rest = [timestamp, number, random, gasLimit, chainId, baseFee, blobBaseFee, slotNumber]
  for (const [index, value] of rest.entries()) memory.putWord(contextWords + 96 + index * 32, value)
}
