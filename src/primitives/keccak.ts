import { type Hash32, hexToBytes, toHash32 } from './bytes.js'
import { encodeRlp, type RlpItem, writeRlp } from './rlp.js'
import { instantiate, type WasmGlobal, type WasmMemory } from './webAssembly.js'

/** Exports of src/execution/kernel/hasher.ts. */
interface Hasher {
  readonly memory: WasmMemory
  readonly input: WasmGlobal
  readonly inputBytes: WasmGlobal
  readonly output: WasmGlobal
  start(): void
  absorb(): void
  finish(length: number): void
  hash(length: number): void
}

const hasher = instantiate<Hasher>('src/execution/kernel/hasher.wasm')
const { buffer } = hasher.memory
const hash = new Uint8Array(buffer, hasher.output.value, 32)

/** The hasher's own memory: bytes written here need no copy for {@link hashInput}. Every hash overwrites it. */
export const hashInputBytes: Uint8Array = new Uint8Array(buffer, hasher.input.value, hasher.inputBytes.value)

/** Keccak-256 of the first `length` bytes of {@link hashInputBytes}. */
export function hashInput(length: number): Hash32 {
  hasher.hash(length)
  return hash.slice() as Hash32
}

/** Like {@link hashInput}, but the result is in memory that the next hash overwrites. */
export function lendHashOfInput(length: number): Uint8Array {
  hasher.hash(length)
  return hash
}

/**
 * Keccak-256 (the padding of the original submission, not FIPS 202). WebAssembly, which has 64-bit integers, takes a
 * seventh of the time of JavaScript.
 *
 * Tests compare all faster implementations with @noble/hashes: this one, the kernel's Keccak
 * (test/unit/execution/kernel/keccak.test.ts), the SHA-256 of OpenSSL and the BLAKE2b of the precompiled contracts
 * (test/unit/execution/evm/precompiles.test.ts). It lacks Poseidon, which is compared with @scure/starknet.
 */
export function keccak256(bytes: Uint8Array): Hash32 {
  const { length } = bytes
  const pieceBytes = hashInputBytes.length
  if (length <= pieceBytes) {
    hashInputBytes.set(bytes)
    return hashInput(length)
  }
  hasher.start()
  let at = 0
  for (; length - at > pieceBytes; at += pieceBytes) {
    hashInputBytes.set(bytes.subarray(at, at + pieceBytes))
    hasher.absorb()
  }
  hashInputBytes.set(bytes.subarray(at))
  hasher.finish(length - at)
  return hash.slice() as Hash32
}

export function hashRlp(item: RlpItem): Hash32 {
  const length = writeRlp(hashInputBytes, item)
  return length === undefined ? keccak256(encodeRlp(item)) : hashInput(length)
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
