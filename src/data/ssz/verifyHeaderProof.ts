/**
 * Verifies answers of `tidegate_getHeaderProof`, for clients that do not trust the server. Needs neither store nor
 * server, and uses only @noble/hashes.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import {
  bytesToBigInt,
  bytesToHex,
  bytesToNumber,
  concatBytes,
  equalBytes,
  hexToBytes,
} from '../../primitives/bytes.js'
import { decodeRlpList, rlpBytes } from '../../primitives/rlp.js'

/** An answer of `tidegate_getHeaderProof`; other members are ignored. */
export interface HeaderProof {
  /** RLP, hex. */
  readonly header: string
  /** 15 hashes, hex, from the leaf upwards. */
  readonly branch: readonly string[]
}

/** The verified facts of a header. */
export interface ProvedHeader {
  readonly blockHash: string
  readonly blockNumber: number
  /** Total difficulty of the chain up to and including the block. */
  readonly totalDifficulty: bigint
}

/** Blocks of a full epoch. */
export const epochBlocks = 8_192
/**
 * Hashes of a proof: the total difficulty (sibling of the block's hash), 13 levels of the list, and the list's
 * length.
 */
export const branchLength = 15
const numberIndex = 8

/**
 * Verifies that a header is part of the epoch with this accumulator (32 bytes, hex). The accumulator must come from a
 * trusted source, such as the published list of epochs up to the Merge. Throws RangeError with the fault.
 *
 * @example
 * const proof = await request('tidegate_getHeaderProof', [blockHash])
 * const { blockNumber } = verifyHeaderProof(proof, trustedAccumulators[proof.epoch])
 */
export function verifyHeaderProof({ header, branch }: HeaderProof, accumulator: string): ProvedHeader {
  if (branch.length !== branchLength) {
    throw new RangeError(`the branch has ${branch.length} hashes, expected ${branchLength}`)
  }
  const rlp = hexToBytes(header)
  const blockNumber = bytesToNumber(rlpBytes(decodeRlpList(rlp)[numberIndex]))
  const hash = keccak_256(rlp)
  const siblings = branch.map((text, index) => hash32(text, `branch[${index}]`))
  // From the hash upwards: left within its record, then the place of its record in the list, then left of its length.
  let place = (blockNumber % epochBlocks) * 2
  let node = hash
  for (const sibling of siblings) {
    node = sha256(place % 2 === 0 ? concatBytes(node, sibling) : concatBytes(sibling, node))
    place = Math.floor(place / 2)
  }
  if (!equalBytes(node, hash32(accumulator, 'accumulator'))) {
    throw new RangeError(
      `the branch of block ${blockNumber} (${bytesToHex(hash)}) leads to ${bytesToHex(node)}, not to the accumulator ${accumulator}`,
    )
  }
  const total = (siblings[0] as Uint8Array).slice().reverse()
  return { blockHash: bytesToHex(hash), blockNumber, totalDifficulty: bytesToBigInt(total) }
}

function hash32(text: string, name: string): Uint8Array {
  const bytes = hexToBytes(text)
  if (bytes.length !== 32) throw new RangeError(`${name} has ${bytes.length} bytes, expected 32`)
  return bytes
}
