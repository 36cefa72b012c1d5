import { LRUCache } from 'lru-cache'
import { bytesToBigInt, bytesToHex, type Hash32, toHash32, toQuantity } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { EpochTree, type HeaderRecord } from '../ssz/epochTree.js'
import { branchLength, epochBlocks } from '../ssz/verifyHeaderProof.js'
import type { ChainRows, Epoch } from '../store/chainRows.js'
import type { StoredBlock } from '../store/storedBlock.js'

/** Rows of a chain of which some came in archives. */
interface ArchivedRows extends ChainRows {
  readEpoch(epoch: number): Epoch | undefined
  blocksFrom(first: number, count: number): Iterable<StoredBlock>
}

/** What the accumulator of an epoch says, from the rows. */
export function readHeaderRecords(rows: ArchivedRows, first: number, count: number): HeaderRecord[] {
  const records: HeaderRecord[] = []
  for (const { hash, totalDifficulty } of rows.blocksFrom(first, count)) {
    // Views of a row would keep all of it.
    records.push({ hash: toHash32(hash.slice()), totalDifficulty: bytesToBigInt(totalDifficulty) })
  }
  if (records.length !== count) throw new Error(`an epoch has ${records.length} of ${count} blocks`)
  return records
}

export interface HeaderProofRequest {
  readonly number: number
  readonly hash: Hash32
}

/** Trees that a thread keeps, of some 6 MB each: whoever asks for proofs of an epoch asks for many. */
const treesMax = 4

/** Proves headers in the accumulators of their epochs. Keeps the trees of the last epochs. */
export class HeaderProver {
  readonly #rows: ArchivedRows
  readonly #trees = new LRUCache<number, EpochTree>({ max: treesMax })

  constructor(rows: ArchivedRows) {
    this.#rows = rows
  }

  /**
   * The JSON of a `tidegate_getHeaderProof` result, in memory that the caller may transfer. Throws FaultError for a block
   * of no epoch whose accumulator was checked. The first proof of an epoch builds its tree.
   */
  prove({ number, hash }: HeaderProofRequest): Uint8Array<ArrayBuffer> {
    const epoch = Math.floor(number / epochBlocks)
    const held = this.#rows.readEpoch(epoch)
    const header = this.#rows.readHeader(hash)
    const index = number - epoch * epochBlocks
    if (held?.accumulator === undefined || header === undefined || index >= held.count) {
      throw new FaultError({ kind: 'NoAccumulator', number })
    }
    const tree = this.#treeOf(epoch, held)
    const branch = tree.branchOf(index)
    const json = JSON.stringify({
      blockHash: bytesToHex(hash),
      blockNumber: toQuantity(number),
      epoch: toQuantity(epoch),
      accumulator: bytesToHex(held.accumulator),
      header: bytesToHex(header),
      branch: Array.from({ length: branchLength }, (_, at) =>
        bytesToHex(branch.subarray(at * 32, at * 32 + 32)),
      ),
    })
    return new Uint8Array(Buffer.from(json))
  }

  #treeOf(epoch: number, { count }: Epoch): EpochTree {
    let tree = this.#trees.get(epoch)
    // The last epoch of a chain may have grown since.
    if (tree === undefined || tree.records.length !== count) {
      tree = new EpochTree(readHeaderRecords(this.#rows, epoch * epochBlocks, count))
      this.#trees.set(epoch, tree)
    }
    return tree
  }
}
