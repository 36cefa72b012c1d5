/**
 * Keccak-256 alone, for the host (primitives/keccak.ts). It is a separate module, because a kernel takes 35 MB of
 * address space.
 */
import { absorbBlocks, finishHash, rate, startHash } from './keccak'

/**
 * The host writes the input here, in pieces of at most {@link inputBytes}. It lies after all used parts of layout.ts.
 */
export const input: usize = 0x2000
export const inputBytes: usize = 896 * rate
/** Address of the written hash. */
export const output: usize = input + inputBytes

/** Begins a hash of more than {@link inputBytes}. */
export function start(): void {
  startHash()
}

/** Adds all of the input. */
export function absorb(): void {
  absorbBlocks(input, inputBytes)
}

/** Adds the first `length` bytes of the input and ends the hash. */
export function finish(length: usize): void {
  finishHash(input, length, output)
}

/** Hashes the first `length` bytes of the input. */
export function hash(length: usize): void {
  startHash()
  finishHash(input, length, output)
}
