/** Addresses of created contracts, 20 bytes each. */
import { concatBytes, toMinimalBytes } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'
import { encodeRlp } from '../primitives/rlp.js'

/** Yellow paper, equation 88. */
export function creationAddress(creator: Uint8Array, nonce: bigint): Uint8Array {
  return keccak256(encodeRlp([creator, toMinimalBytes(nonce)])).subarray(12)
}

/** EIP-1014. `salt` and the hash of the initcode have 32 bytes. */
export function saltedCreationAddress(
  creator: Uint8Array,
  salt: Uint8Array,
  initcodeHash: Uint8Array,
): Uint8Array {
  return keccak256(concatBytes(Uint8Array.of(0xff), creator, salt, initcodeHash)).subarray(12)
}
