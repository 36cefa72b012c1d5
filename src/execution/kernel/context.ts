/** Words of the block and the transaction, which the host writes before the run. */
import { contextWords } from './layout'

export const originWord: usize = contextWords
export const gasPriceWord: usize = contextWords + 32
export const coinbaseWord: usize = contextWords + 64
export const timestampWord: usize = contextWords + 96
export const numberWord: usize = contextWords + 128
/** Difficulty, or since the Merge the block's randomness. */
export const randomWord: usize = contextWords + 160
export const gasLimitWord: usize = contextWords + 192
export const chainIdWord: usize = contextWords + 224
export const baseFeeWord: usize = contextWords + 256
export const blobBaseFeeWord: usize = contextWords + 288
/** EIP-7843. */
export const slotNumberWord: usize = contextWords + 320

/** Blob hashes of the transaction: address of an array of words, and its length. */
export let blobHashes: usize = 0
export let blobHashCount: u32 = 0

export function setBlobHashes(at: usize, count: u32): void {
  blobHashes = at
  blobHashCount = count
}
