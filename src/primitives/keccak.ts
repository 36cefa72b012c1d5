import { createKeccak } from 'hash-wasm'
import { type Hash32, hexToBytes, toHash32 } from './bytes.js'

const hasher = await createKeccak(256)

/**
 * Keccak-256 (the padding of the original submission, not FIPS 202). About 1 µs for up to 135 bytes and 0.5 µs for
 * each further 136. WebAssembly, which has 64-bit integers, takes a seventh of the time of JavaScript.
 *
 * @noble/hashes is the reference with which the tests compare all faster implementations: this one, the kernel's Keccak
 * (test/unit/kernel/keccak.test.ts), the SHA-256 of OpenSSL and the BLAKE2b of the precompiled contracts
 * (test/unit/evm/precompiles.test.ts). Poseidon, which it lacks, is compared with @scure/starknet.
 */
export function keccak256(bytes: Uint8Array): Hash32 {
  return hasher.init().update(bytes).digest('binary') as Hash32
}

/** Keccak-256 of no bytes: the code hash of an account without code. */
export const emptyCodeHash = toHash32(
  hexToBytes('c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'),
)
/** Keccak-256 of RLP's empty string: the root of a trie without entries. */
export const emptyTrieRoot = toHash32(
  hexToBytes('56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'),
)
/** Keccak-256 of RLP's empty list: the uncles hash of a block without uncles. */
export const emptyUnclesHash = toHash32(
  hexToBytes('1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'),
)
