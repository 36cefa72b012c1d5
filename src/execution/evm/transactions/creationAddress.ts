/** The address of a created contract, 20 bytes. */
import { toMinimalBytes } from '../../../primitives/bytes.js'
import { hashRlp } from '../../../primitives/keccak.js'

/** Yellow paper, equation 88. */
export function creationAddress(creator: Uint8Array, nonce: bigint): Uint8Array {
  return hashRlp([creator, toMinimalBytes(nonce)]).subarray(12)
}
