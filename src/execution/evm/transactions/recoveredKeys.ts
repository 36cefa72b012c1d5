/**
 * Senders of a block's transactions, and public keys of its authorizations. Another thread recovers them before the
 * execution, because recovery takes longer than a plain transfer. Owns recovery from the block's RLP, the encoding
 * between threads, and the look-up during execution. Execution checks the rules for signatures. A sender is looked up
 * by the transaction's hash, a key by the signed hash and the whole signature. So a wrong entry is never used.
 */
import {
  bytesToBigInt,
  concatBytes,
  type Hash32,
  joinBytes,
  latin1Key,
  latin1Text,
  padLeft,
  readUint32,
  toMinimalBytes,
  writeUint32,
} from '../../../primitives/bytes.js'
import { hashRlp, keccak256 } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpBytes, rlpList } from '../../../primitives/rlp.js'
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import { recoverKey } from './libsecp256k1.js'

/** A signature and its signed hash: signed hash (32 bytes) ‖ parity of y (1) ‖ r (32) ‖ s (32). */
const signatureBytes = 97
/** Followed by the key (x ‖ y). */
const keyRecordBytes = signatureBytes + 64
/** Transaction hash (32 bytes) ‖ sender (20). */
const senderRecordBytes = 52
/** Before all records: the number of senders, which come first. */
const countBytes = 4
const noRecords = new Uint8Array(0)

export interface Signature {
  readonly signedHash: Uint8Array
  /** Parity of the y of the signature's point; any value except 0 and 1 has no key. */
  readonly parity: bigint
  readonly r: Uint8Array
  readonly s: Uint8Array
}

/** Senders and keys of the block that is being executed. */
export class RecoveredKeys {
  #senders = new Map<string, Uint8Array>()
  #keys = new Map<string, Uint8Array>()
  #keyRecords: Uint8Array = noRecords
  readonly #recover: typeof recoverKey = recoverKey

  /** `recover` is used for signatures that are not cached. */
  constructor(recover: typeof recoverKey = recoverKey) {
    this.#recover = recover
  }

  /** Replaces the cached records by the result of {@link recoverKeys} for the next block, or empties the cache. */
  hold(records: Uint8Array | undefined): void {
    this.#senders = new Map()
    this.#keys = new Map()
    this.#keyRecords = noRecords
    if (records === undefined || records.length === 0) return
    const keysAt = countBytes + readUint32(records, 0) * senderRecordBytes
    for (let at = countBytes; at < keysAt; at += senderRecordBytes) {
      this.#senders.set(latin1Text(records, at, at + 32), records.subarray(at + 32, at + senderRecordBytes))
    }
    this.#keyRecords = records.subarray(keysAt)
    for (let at = keysAt; at < records.length; at += keyRecordBytes) {
      const keyAt = at + signatureBytes
      this.#keys.set(latin1Text(records, at, keyAt), records.subarray(keyAt, at + keyRecordBytes))
    }
  }

  /** Records that another thread can {@link hold} for these transactions and their authorizations. */
  recordsOf(transactions: readonly { readonly hash: Uint8Array; readonly sender: Uint8Array }[]): Uint8Array {
    return encodeRecords(
      transactions.flatMap(({ hash, sender }) => [hash, sender]),
      [this.#keyRecords],
    )
  }

  /**
   * Sender (20 bytes) of a transaction with this hash; undefined if its signature is invalid. `reported`: the sender that
   * an unsigned transaction names itself.
   */
  senderOf(transaction: RlpItem, hash: Hash32, reported?: Uint8Array): Uint8Array | undefined {
    if (reported !== undefined) return reported
    const cached = this.#senders.get(latin1Key(hash))
    if (cached !== undefined) return cached
    const signature = signatureOf(transaction)
    const key = signature && this.keyOf(signature)
    return key && addressOfKey(key)
  }

  /** The key, 64 bytes (x ‖ y); undefined if there is none. */
  keyOf(signature: Signature): Uint8Array | undefined {
    const encoded = this.#keys.size > 0 ? encodeSignature(signature) : undefined
    const cached = encoded && this.#keys.get(latin1Key(encoded))
    if (cached !== undefined) return cached
    const { signedHash, parity, r, s } = signature
    return this.#recover(signedHash, parity, r, s)
  }
}

/** The hash of a transaction of a block: a list, or bytes that begin with the type. */
export function transactionHash(transaction: RlpItem): Hash32 {
  return transaction instanceof Uint8Array ? keccak256(transaction) : hashRlp(transaction)
}

/** The address (20 bytes) of the account with this key. */
export function addressOfKey(key: Uint8Array): Uint8Array {
  return keccak256(key).subarray(12)
}

/**
 * Recovers the senders of a block (RLP) and the keys of its authorizations, until all are found or `shouldStop` returns
 * true. Invalid transactions and signatures are left out.
 */
export function recoverKeys(block: Uint8Array, shouldStop: () => boolean): Uint8Array<ArrayBuffer> {
  const senders: Uint8Array[] = []
  const keys: Uint8Array[] = []
  for (const transaction of transactionsOf(block)) {
    const own = signatureOf(transaction)
    if (own === undefined) continue
    if (shouldStop()) break
    const key = recoverKey(own.signedHash, own.parity, own.r, own.s)
    if (key !== undefined) senders.push(transactionHash(transaction), addressOfKey(key))
    for (const signature of authorizationsOf(transaction)) {
      if (shouldStop()) break
      const encoded = encodeSignature(signature)
      const key = recoverKey(signature.signedHash, signature.parity, signature.r, signature.s)
      if (encoded !== undefined && key !== undefined) keys.push(encoded, key)
    }
  }
  if (senders.length + keys.length === 0) return new Uint8Array(0)
  return encodeRecords(senders, keys)
}

/** `senders` alternates hashes and addresses. */
function encodeRecords(senders: readonly Uint8Array[], keys: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const count = new Uint8Array(countBytes)
  writeUint32(count, senders.length / 2, 0)
  return joinBytes([count, ...senders, ...keys])
}

function transactionsOf(block: Uint8Array): readonly RlpItem[] {
  try {
    return rlpList(decodeRlpList(block)[1])
  } catch {
    return []
  }
}

/** The signatures of a transaction's authorizations. */
function* authorizationsOf(transaction: RlpItem): Generator<Signature> {
  if (!(transaction instanceof Uint8Array)) return
  const authorizationsAt = transactionTypes.get(transaction[0] ?? 0)?.placeOf('authorizationList')
  if (authorizationsAt === undefined) return
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
const authorizationMagic = Uint8Array.of(0x05)

/** The signed hash of an authorization; integers without leading zeros. */
export function authorizationHash(chainId: Uint8Array, address: Uint8Array, nonce: Uint8Array): Uint8Array {
  return keccak256(concatBytes(authorizationMagic, encodeRlp([chainId, address, nonce])))
}

/** The signature of a transaction with its signed hash (EIP-155, EIP-2718); undefined for no transaction. */
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
    if (value < 35n) return { signedHash: hashRlp(unsigned), parity: value - 27n, r, s }
    const chainId = toMinimalBytes((value - 35n) / 2n)
    const nothing = new Uint8Array(0)
    const signedHash = hashRlp([...unsigned, chainId, nothing, nothing])
    return { signedHash, parity: (value - 35n) % 2n, r, s }
  } catch {
    return undefined
  }
}

/** Undefined if no key can be recovered from the signature. */
function encodeSignature({ signedHash, parity, r, s }: Signature): Uint8Array<ArrayBuffer> | undefined {
  if ((parity !== 0n && parity !== 1n) || r.length > 32 || s.length > 32) return undefined
  return concatBytes(signedHash, Uint8Array.of(Number(parity)), padLeft(r, 32), padLeft(s, 32))
}
