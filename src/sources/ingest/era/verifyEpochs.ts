import { readHeaderRecords } from '../../../data/chain/headerProof.js'
import { EpochTree } from '../../../data/ssz/epochTree.js'
import { epochBlocks } from '../../../data/ssz/verifyHeaderProof.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { bytesToHex, equalBytes } from '../../../primitives/bytes.js'

export interface VerifiedEpoch {
  readonly first: number
  readonly last: number
  /** Hex; undefined if there is none. */
  readonly accumulator: string | undefined
  /** Whether the accumulator was in a list of trusted ones when it was imported. */
  readonly isTrusted: boolean
  /** The store's first block: the genesis, or a block whose ancestors are not known. */
  readonly link: 'genesis' | 'none'
}

/** Computes the accumulators of all epochs again and compares them; calls `fault` for each difference. */
export function* verifyEpochs(
  store: ChainReader,
  headNumber: number,
  fault: (sentence: string) => void,
): Generator<VerifiedEpoch> {
  const identity = store.readIdentity()
  const begin = identity?.history?.first ?? 0
  const link = begin === 0 ? 'genesis' : 'none'
  const genesis = begin === 0 ? store.readCanonicalHash(0) : undefined
  if (genesis !== undefined && bytesToHex(genesis) !== identity?.genesisHash) {
    fault(`block 0 is ${bytesToHex(genesis)}, the network's genesis is ${identity?.genesisHash}`)
  }
  for (let first = begin; first <= headNumber; first += epochBlocks) {
    const epoch = store.readEpoch(first / epochBlocks)
    if (epoch === undefined) {
      fault(`epoch ${first / epochBlocks}: it is not whole`)
      continue
    }
    const { count, accumulator, isTrusted } = epoch
    const last = first + count - 1
    const root = accumulator && new EpochTree(readHeaderRecords(store, first, count)).root
    if (accumulator !== undefined && root !== undefined && !equalBytes(root, accumulator)) {
      fault(
        `epoch ${first / epochBlocks}: its headers give the accumulator ${bytesToHex(root)}, the archive had ${bytesToHex(accumulator)}`,
      )
    }
    yield { first, last, accumulator: accumulator && bytesToHex(accumulator), isTrusted, link }
  }
}
