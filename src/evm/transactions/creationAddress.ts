/** The address of a created contract, 20 bytes. */
import { toMinimalBytes } from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import { encodeRlp } from '../../primitives/rlp.js'

/** Yellow paper, equation 88. */
export function creationAddress(creator: Uint8Array, nonce: bigint): Uint8Array {
  return keccak256(encodeRlp([creator, toMinimalBytes(nonce)])).subarray(12)
}
