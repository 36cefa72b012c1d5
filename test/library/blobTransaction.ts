/** Transactions with blobs of zeros: their commitments and proofs are known without a KZG setup. */
import { hash } from 'node:crypto'
import type { Hex } from 'viem'
import { bytesToHex, concatBytes, hexToBytes } from '../../src/primitives/bytes.js'
import { decodeRlpList, encodeRlp, type RlpItem } from '../../src/primitives/rlp.js'

/** The blob of the zero polynomial: its commitment and its proof are the point at infinity. */
const infinity = `0xc0${'00'.repeat(47)}` as const
export const zeroSidecar = {
  blob: bytesToHex(new Uint8Array(131_072)),
  commitment: infinity,
  proof: infinity,
} as const
export const zeroVersionedHash = `0x01${hash('sha256', hexToBytes(infinity)).slice(2)}` as const

/**
 * A signed transaction of one blob of zeros, with a sidecar of version 1 (EIP-7594) instead of version 0. Each of the 128
 * cells has the same proof.
 */
export function withCellProofs(raw: Hex): Hex {
  const [fields, blobs, commitments] = decodeRlpList(hexToBytes(raw).subarray(1)) as RlpItem[]
  const proofs = Array<Uint8Array>(128).fill(hexToBytes(infinity))
  const sidecars = [Uint8Array.of(1), blobs, commitments, proofs] as RlpItem[]
  return bytesToHex(concatBytes(Uint8Array.of(3), encodeRlp([fields as RlpItem, ...sidecars])))
}
