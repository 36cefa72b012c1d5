import { LRUCache } from 'lru-cache'
import { bytesToBigInt, bytesToHex, type Hash32, toHash32, toQuantity } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { EpochTree, type HeaderRecord } from '../ssz/epochTree.js'
import { branchLength, epochBlocks } from '../ssz/verifyHeaderProof.js'
import type { ChainRows, Epoch } from '../store/chainRows.js'
import type { StoredBlock } from '../store/storedBlock.js'

/** Rows of a chain that was partly imported from archives. */
interface ArchivedRows extends ChainRows {
  readEpoch(epoch: number): Epoch | undefined
  blocksFrom(first: number, count: number): Iterable<StoredBlock>
}

/** The records in an epoch's accumulator, from the rows. */
export function readHeaderRecords(rows: ArchivedRows, first: number, count: number): HeaderRecord[] {
  const records: HeaderRecord[] = []
  for (const { hash, totalDifficulty } of rows.blocksFrom(first, count)) {
    // Copied, because views would keep the whole rows in memory.
    records.push({ hash: toHash32(hash.slice()), totalDifficulty: bytesToBigInt(totalDifficulty) })
  }
  if (records.length !== count) throw new Error(`an epoch has ${records.length} of ${count} blocks`)
  return records
}

export interface HeaderProofRequest {
  readonly number: number
  readonly hash: Hash32
}

/** Cached trees per thread, of some 6 MB each: a client usually requests many proofs of one epoch. */
const treesMax = 4

/** Proves headers in the accumulators of their epochs. Caches the trees of the last epochs. */
export class HeaderProver {
  readonly #rows: ArchivedRows
  readonly #trees = new LRUCache<number, EpochTree>({ max: treesMax })

  constructor(rows: ArchivedRows) {
    this.#rows = rows
  }

  /**
   * The JSON of a `tidegate_getHeaderProof` result, in memory that the caller may transfer. Throws FaultError for a
   * block outside the epochs with a verified accumulator. The first proof of an epoch builds its tree.
   */
  prove({ number, hash }: HeaderProofRequest): Uint8Array<ArrayBuffer> {
    const epoch = Math.floor(number / epochBlocks)
    const record = this.#rows.readEpoch(epoch)
    const header = this.#rows.readHeader(hash)
    const index = number - epoch * epochBlocks
    if (record?.accumulator === undefined || header === undefined || index >= record.count) {
      throw new FaultError({ kind: 'NoAccumulator', number })
    }
    const tree = this.#treeOf(epoch, record)
    const branch = tree.branchOf(index)
    const json = JSON.stringify({
      blockHash: bytesToHex(hash),
      blockNumber: toQuantity(number),
      epoch: toQuantity(epoch),
      accumulator: bytesToHex(record.accumulator),
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
