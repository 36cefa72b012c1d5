/**
 * Public keys of a block's transactions and authorizations, recovered before its execution on another thread, because
 * recovery takes longer than a plain transfer. Owns recovery from the block's RLP, the encoding between threads, and
 * the look-up during execution. The rules for signatures are checked by execution: a key is looked up by the signed
 * hash and the whole signature, so a wrong entry is never used.
 */
import { bytesToBigInt, concatBytes, mapKey, padLeft, toMinimalBytes } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpBytes, rlpList } from '../primitives/rlp.js'
import { recoverKey } from './ecrecover.js'

/** A signature and what it signs: signed hash (32 bytes) ‖ parity of y (1) ‖ r (32) ‖ s (32). */
const signatureBytes = 97
/** Followed by the key (x ‖ y). */
const recordBytes = signatureBytes + 64

/** A signature and what it signs. */
export interface Signature {
  readonly signedHash: Uint8Array
  /** Of the y of the signature's point; anything but 0 and 1 has no key. */
  readonly parity: bigint
  readonly r: Uint8Array
  readonly s: Uint8Array
}

/** Keys of the block that is being executed. */
export class RecoveredKeys {
  #keys = new Map<string, Uint8Array>()
  readonly #recover: typeof recoverKey = recoverKey

  /** `recover` is used for signatures that are not held. */
  constructor(recover: typeof recoverKey = recoverKey) {
    this.#recover = recover
  }

  /** Replaces the keys by those that {@link recoverKeys} found for the next block. */
  hold(records: Uint8Array): void {
    this.#keys = new Map()
    for (let at = 0; at < records.length; at += recordBytes) {
      const keyAt = at + signatureBytes
      this.#keys.set(mapKey(records.subarray(at, keyAt)), records.subarray(keyAt, at + recordBytes))
    }
  }

  /** The key, 64 bytes (x ‖ y); undefined where there is none. */
  keyOf(signature: Signature): Uint8Array | undefined {
    const encoded = this.#keys.size > 0 ? encodeSignature(signature) : undefined
    const held = encoded && this.#keys.get(mapKey(encoded))
    if (held !== undefined) return held
    const { signedHash, parity, r, s } = signature
    return this.#recover(signedHash, parity, r, s)
  }
}

/**
 * Recovers the keys of the transactions and authorizations of a block (RLP), until all are found or `shouldStop`
 * returns true. Invalid transactions and signatures are left out.
 */
export function recoverKeys(block: Uint8Array, shouldStop: () => boolean): Uint8Array<ArrayBuffer> {
  const records: Uint8Array[] = []
  for (const transaction of transactionsOf(block)) {
    for (const signature of signaturesOf(transaction)) {
      if (shouldStop()) return concatBytes(...records)
      const encoded = encodeSignature(signature)
      const key = recoverKey(signature.signedHash, signature.parity, signature.r, signature.s)
      if (encoded !== undefined && key !== undefined) records.push(encoded, key)
    }
  }
  return concatBytes(...records)
}

function transactionsOf(block: Uint8Array): readonly RlpItem[] {
  try {
    return rlpList(decodeRlpList(block)[1])
  } catch {
    return []
  }
}

/** The transaction's own signature, and those of its authorizations. */
function* signaturesOf(transaction: RlpItem): Generator<Signature> {
  const own = signatureOf(transaction)
  if (own === undefined) return
  yield own
  if (!(transaction instanceof Uint8Array) || transaction[0] !== setCodeType) return
  try {
    for (const authorization of rlpList(decodeRlpList(transaction.subarray(1))[authorizationsAt])) {
      const [chainId, address, nonce, parity, r, s] = rlpList(authorization).map(rlpBytes) as SixFields
      const signedHash = authorizationHash(chainId, address, nonce)
      yield { signedHash, parity: bytesToBigInt(parity), r, s }
    }
  } catch {
    // Invalid transactions are reported by execution.
  }
}

type SixFields = [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array]
/** EIP-7702. */
const setCodeType = 4
const authorizationMagic = Uint8Array.of(0x05)
const authorizationsAt = 9

/** The signed hash of an authorization; integers without leading zeros. */
export function authorizationHash(chainId: Uint8Array, address: Uint8Array, nonce: Uint8Array): Uint8Array {
  return keccak256(concatBytes(authorizationMagic, encodeRlp([chainId, address, nonce])))
}

/**
 * The signature of a transaction with its signed hash: EIP-155 for legacy transactions, EIP-2718 and later EIPs for
 * typed ones.
 */
export function signatureOf(transaction: RlpItem): Signature | undefined {
  try {
    const isTyped = transaction instanceof Uint8Array
    const fields = isTyped ? decodeRlpList(transaction.subarray(1)) : transaction
    const [v, r, s] = fields.slice(-3).map(rlpBytes) as [Uint8Array, Uint8Array, Uint8Array]
    const unsigned = fields.slice(0, -3)
    const value = bytesToBigInt(v)
    if (isTyped) {
      const signedHash = keccak256(concatBytes(transaction.subarray(0, 1), encodeRlp(unsigned)))
      return { signedHash, parity: value, r, s }
    }
    if (value < 35n) return { signedHash: keccak256(encodeRlp(unsigned)), parity: value - 27n, r, s }
    const chainId = toMinimalBytes((value - 35n) / 2n)
    const nothing = new Uint8Array(0)
    const signedHash = keccak256(encodeRlp([...unsigned, chainId, nothing, nothing]))
    return { signedHash, parity: (value - 35n) % 2n, r, s }
  } catch {
    return undefined
  }
}

/** Undefined for what no key can be recovered from. */
function encodeSignature({ signedHash, parity, r, s }: Signature): Uint8Array<ArrayBuffer> | undefined {
  if ((parity !== 0n && parity !== 1n) || r.length > 32 || s.length > 32) return undefined
  return concatBytes(signedHash, Uint8Array.of(Number(parity)), padLeft(r, 32), padLeft(s, 32))
}
