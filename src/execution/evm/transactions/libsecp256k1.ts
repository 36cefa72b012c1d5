/**
 * libsecp256k1: keys and signatures on the curve of transactions. It runs as a binary if the package `secp256k1` has
 * one for the system, otherwise as WebAssembly. Recovering a key takes five times as long there (scenario
 * `import-transfers`). The package's fallback in JavaScript is never used.
 */
import { createRequire } from 'node:module'
import { padLeft } from '../../../primitives/bytes.js'

/** The curve's parity of y that a signature names. */
export type Parity = 0 | 1

export interface Libsecp256k1 {
  /** Recovers the key, 65 bytes (4 ‖ x ‖ y), of a signature r ‖ s. Throws or returns null if there is none. */
  recover(hash: Uint8Array, signature: Uint8Array, parity: Parity): Uint8Array | null
  /** The public key of a secret key: 33 bytes if it is compressed, 65 if not (SEC 1, section 2.3.3). */
  publicKey(secretKey: Uint8Array, isCompressed: boolean): Uint8Array
  /** Signs a hash of 32 bytes with the nonce of RFC 6979 and the lower s: r ‖ s. */
  sign(hash: Uint8Array, secretKey: Uint8Array): { readonly signature: Uint8Array; readonly parity: Parity }
}

/** Loaded when first needed, because that takes 15 ms. */
const require = createRequire(import.meta.url)
let loaded: Libsecp256k1 | undefined

/** Undefined if the package has no binary for the system and none was compiled at its installation. */
export function binarySecp256k1(): Libsecp256k1 | undefined {
  try {
    const library = require('secp256k1/bindings.js') as typeof import('secp256k1')
    return {
      recover: (hash, signature, parity) => library.ecdsaRecover(signature, parity, hash, false),
      publicKey: (secretKey, isCompressed) => library.publicKeyCreate(secretKey, isCompressed),
      sign(hash, secretKey) {
        const { signature, recid } = library.ecdsaSign(hash, secretKey)
        return { signature, parity: parityOf(recid) }
      },
    }
  } catch {
    return undefined
  }
}

export function wasmSecp256k1(): Libsecp256k1 {
  const library = require('tiny-secp256k1') as typeof import('tiny-secp256k1')
  return {
    recover: (hash, signature, parity) => library.recover(hash, signature, parity, false),
    publicKey(secretKey, isCompressed) {
      const key = library.pointFromScalar(secretKey, isCompressed)
      if (key === null) throw new RangeError('this secret key has no public key')
      return key
    },
    sign(hash, secretKey) {
      const { signature, recoveryId } = library.signRecoverable(hash, secretKey)
      return { signature, parity: parityOf(recoveryId) }
    },
  }
}

export function libsecp256k1(): Libsecp256k1 {
  loaded ??= binarySecp256k1() ?? wasmSecp256k1()
  return loaded
}

/** Ids above 1 mean that r is above the curve's order, which has a chance of 2^-127; transactions cannot express it. */
function parityOf(recoveryId: number): Parity {
  if (recoveryId > 1) throw new RangeError('a signature that a transaction cannot have')
  return recoveryId as Parity
}

/**
 * Recovers the public key behind a signature (SEC 1, section 4.1.6): 64 bytes (x ‖ y); undefined if there is none.
 * `parity` is that of the signature's y. `by` replaces the loaded library.
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
