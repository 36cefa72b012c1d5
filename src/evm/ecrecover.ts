/**
 * Recovery of the public key behind a signature (SEC 1, section 4.1.6), by libsecp256k1 as WebAssembly: 0.25 ms,
 * where the JavaScript that @ethereumjs comes with takes 2.6 to 3.5 ms, two fifths of an import.
 */
import { createRequire } from 'node:module'
import { padLeft } from '../primitives/bytes.js'

/** Loading takes 20 ms and 12 MB, which a process that recovers nothing need not spend. */
const require = createRequire(import.meta.url)
let secp256k1: typeof import('tiny-secp256k1') | undefined

/**
 * The key, 64 bytes (x ‖ y), or undefined where there is none. `parity` is that of the y of the signature's point.
 */
export function recoverKey(
  hash: Uint8Array,
  parity: bigint,
  r: Uint8Array,
  s: Uint8Array,
): Uint8Array | undefined {
  if (parity !== 0n && parity !== 1n) return undefined
  secp256k1 ??= require('tiny-secp256k1') as typeof import('tiny-secp256k1')
  try {
    const signature = new Uint8Array(64)
    signature.set(padLeft(r, 32), 0)
    signature.set(padLeft(s, 32), 32)
    return secp256k1.recover(hash, signature, parity === 0n ? 0 : 1, false)?.subarray(1)
  } catch {
    // Not a signature; the library's words for that are not those that callers expect.
    return undefined
  }
}
