/** Blobs of waiting transactions, with their proofs (EIP-4844, from Osaka on EIP-7594). */

import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import { decodeRlpList, type RlpItem, rlpList } from '../../../primitives/rlp.js'
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import type { Json } from './engineFields.js'

const blobType = 3
/** EIP-7594: proofs of each blob, one for each cell of its extension. */
const cellsPerBlob = 128

export interface BlobSidecar {
  readonly versionedHash: Uint8Array
  readonly blob: Uint8Array
  readonly commitment: Uint8Array
  /** One, or one for each cell. */
  readonly proofs: readonly Uint8Array[]
}

/** Whether a transaction that was sent with blobs has a proof for each cell. */
export function hasCellProofs(raw: Uint8Array): boolean {
  return decodeRlpList(raw.subarray(1))[1] instanceof Uint8Array
}

/** The blobs of a transaction, in order; none for one without. The pool has checked them. */
export function sidecarsOf({ raw, blobCount }: SentTransaction): BlobSidecar[] {
  if (blobCount === 0) return []
  const [fields, ...parts] = decodeRlpList(raw.subarray(1))
  const place = transactionTypes.get(blobType)?.placeOf('blobVersionedHashes') as number
  const hashes = rlpList(rlpList(fields)[place]) as readonly Uint8Array[]
  const isByCells = parts[0] instanceof Uint8Array
  const [blobs, commitments, proofs] = parts
    .slice(isByCells ? 1 : 0)
    .map((part: RlpItem) => rlpList(part)) as [Uint8Array[], Uint8Array[], Uint8Array[]]
  const each = isByCells ? cellsPerBlob : 1
  return hashes.map((versionedHash, index) => ({
    versionedHash,
    blob: blobs[index] as Uint8Array,
    commitment: commitments[index] as Uint8Array,
    proofs: proofs.slice(each * index, each * (index + 1)),
  }))
}

/** The blobs with these hashes among those of the transactions; undefined if one is missing. */
export function findBlobs(
  waiting: readonly SentTransaction[],
  hashes: readonly Hash32[],
): (BlobSidecar | undefined)[] {
  const sidecars = waiting.flatMap(sidecarsOf)
  return hashes.map((hash) => sidecars.find(({ versionedHash }) => equalBytes(versionedHash, hash)))
}

/** BlobAndProofV1 for a blob with one proof, BlobAndProofV2 for one with a proof of each cell. */
export function blobJson({ blob, proofs }: BlobSidecar): Json {
  const [first] = proofs
  const hex = proofs.map(bytesToHex)
  return { blob: bytesToHex(blob), ...(proofs.length === 1 && first ? { proof: hex[0] } : { proofs: hex }) }
}
