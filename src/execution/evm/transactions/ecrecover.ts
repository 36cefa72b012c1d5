/** Recovery of the public key behind a signature (SEC 1, section 4.1.6), by libsecp256k1. */
import { padLeft } from '../../../primitives/bytes.js'
import { type Libsecp256k1, libsecp256k1 } from './libsecp256k1.js'

/**
 * The key, 64 bytes (x ‖ y); undefined if there is none. `parity` is that of the signature's y; `by` replaces the
 * loaded library.
 */
export function recoverKey(
  hash: Uint8Array,
  parity: bigint,
  r: Uint8Array,
  s: Uint8Array,
  by: Pick<Libsecp256k1, 'recover'> = libsecp256k1(),
): Uint8Array | undefined {
  if (parity !== 0n && parity !== 1n) return undefined
  try {
    const signature = new Uint8Array(64)
    signature.set(padLeft(r, 32), 0)
    signature.set(padLeft(s, 32), 32)
    return by.recover(hash, signature, parity === 0n ? 0 : 1)?.subarray(1)
  } catch {
    // The signature is not valid.
    return undefined
  }
}
