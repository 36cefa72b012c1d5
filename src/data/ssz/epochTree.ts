/**
 * SSZ trees for the history before the Merge: accumulators of epochs, and proofs of headers in them (Portal Network,
 * legacy history). An accumulator is the root of `List[HeaderRecord, 8192]` over the hash and total difficulty of each
 * block. Owns trees and proofs; does not decide which accumulators are trusted.
 */
import {
  BranchNode,
  LeafNode,
  type Node,
  setHasher,
  subtreeFillToContents,
} from '@chainsafe/persistent-merkle-tree'
import { hasher } from '@chainsafe/persistent-merkle-tree/hasher/as-sha256'
import { type Hash32, joinBytes, toHash32 } from '../../primitives/bytes.js'
import { branchLength, epochBlocks } from './verifyHeaderProof.js'

/**
 * This hasher is for all trees of the process. With it the root of an epoch takes 9.5 ms, with @noble/hashes 41 ms.
 * hashtree takes 4 ms, but needs a binary for each platform.
 */
setHasher(hasher)

const listDepth = Math.log2(epochBlocks)

/** A block's entry in an accumulator. */
export interface HeaderRecord {
  readonly hash: Hash32
  /** Total difficulty up to and including the block, below 2^256. */
  readonly totalDifficulty: bigint
}

/** The tree of an epoch. It takes 6 MB of memory once its root is computed. */
export class EpochTree {
  readonly #root: BranchNode

  /** `records` are those of the epoch's blocks in order, at most {@link epochBlocks}. */
  constructor(readonly records: readonly HeaderRecord[]) {
    if (records.length > epochBlocks) throw new RangeError(`an epoch has at most ${epochBlocks} blocks`)
    const nodes = records.map(
      ({ hash, totalDifficulty }) =>
        new BranchNode(LeafNode.fromRoot(hash), LeafNode.fromRoot(uint256Bytes(totalDifficulty))),
    )
    this.#root = new BranchNode(subtreeFillToContents(nodes, listDepth), LeafNode.fromUint32(records.length))
  }

  get root(): Hash32 {
    return toHash32(this.#root.root)
  }

  /**
   * The Merkle branch of the hash of block `index` of the epoch: {@link branchLength} hashes, 32 bytes each, from the
   * leaf up to {@link root}. `BlockProofHistoricalHashesAccumulator` of the Portal Network.
   */
  branchOf(index: number): Uint8Array {
    if (!(index >= 0 && index < this.records.length)) throw new RangeError(`the epoch has no block ${index}`)
    const branch: Uint8Array[] = []
    let node: Node = this.#root
    for (let depth = branchLength - 1; depth >= 0; depth--) {
      // From the root: the list left of its length, the record in the list, its hash left of its total difficulty.
      const isRight = (((index * 2) >> depth) & 1) === 1
      branch.unshift((isRight ? node.left : node.right).root)
      node = isRight ? node.right : node.left
    }
    return joinBytes(branch)
  }
}

/** `uint256` in SSZ: 32 bytes, little-endian. */
export function uint256Bytes(value: bigint): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(32)
  const view = new DataView(bytes.buffer)
  let rest = value
  for (let at = 0; rest > 0n; at += 8, rest >>= 64n) view.setBigUint64(at, BigInt.asUintN(64, rest), true)
  return bytes
}
