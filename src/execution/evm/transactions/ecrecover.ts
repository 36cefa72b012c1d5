/**
 * Recovery of the public key behind a signature (SEC 1, section 4.1.6), by libsecp256k1. It runs as a binary if the
 * package `secp256k1` has one for the system, otherwise as WebAssembly, which takes five times as long (scenario
 * `import-transfers`). The package's fallback in JavaScript is never used.
 */
import { createRequire } from 'node:module'
import { padLeft } from '../../../primitives/bytes.js'

/** Recovers the key, 65 bytes (4 ‖ x ‖ y), of a signature r ‖ s. Throws or returns null if there is none. */
export type Recovery = (hash: Uint8Array, signature: Uint8Array, parity: 0 | 1) => Uint8Array | null

/** Loaded when first needed, because that takes 15 ms. */
const require = createRequire(import.meta.url)
let recovery: Recovery | undefined

/** Undefined if the package has no binary for the system and none was compiled at its installation. */
export function binaryRecovery(): Recovery | undefined {
  try {
    const { ecdsaRecover } = require('secp256k1/bindings.js') as typeof import('secp256k1')
    return (hash, signature, parity) => ecdsaRecover(signature, parity, hash, false)
  } catch {
    return undefined
  }
}

export function wasmRecovery(): Recovery {
  const { recover } = require('tiny-secp256k1') as typeof import('tiny-secp256k1')
  return (hash, signature, parity) => recover(hash, signature, parity, false)
}

function loadedRecovery(): Recovery {
  recovery ??= binaryRecovery() ?? wasmRecovery()
  return recovery
}

/**
 * The key, 64 bytes (x ‖ y); undefined if there is none. `parity` is that of the signature's y; `by` replaces the
 * loaded recovery.
 */
export function recoverKey(
  hash: Uint8Array,
  parity: bigint,
  r: Uint8Array,
  s: Uint8Array,
  by = loadedRecovery(),
): Uint8Array | undefined {
  if (parity !== 0n && parity !== 1n) return undefined
  try {
    const signature = new Uint8Array(64)
    signature.set(padLeft(r, 32), 0)
    signature.set(padLeft(s, 32), 32)
    return by(hash, signature, parity === 0n ? 0 : 1)?.subarray(1)
  } catch {
    // The signature is not valid.
    return undefined
  }
}
