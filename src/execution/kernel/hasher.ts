/**
 * Keccak-256 alone, for the host (primitives/keccak.ts): a module of its own, because a kernel takes 35 MB of address
 * space.
 */
import { absorbBlocks, finishHash, rate, startHash } from './keccak'

/** Where the host writes what is hashed, in pieces of at most {@link inputBytes}; behind all of layout.ts that is used. */
export const input: usize = 0x2000
export const inputBytes: usize = 896 * rate
/** Where the hash is written. */
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
