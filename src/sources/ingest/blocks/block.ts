import { type Header, headerFromItems, headerHash, unknownForkOf } from '../../../data/chain/header.js'
import type { BlockName } from '../../../data/store/chainRows.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import {
  decodeRlpList,
  encodeRlpListOfEncoded,
  RlpError,
  type RlpItem,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../../../primitives/rlp.js'

/** A decoded block, as it travels from its source into the store. */
export interface Block {
  readonly hash: Hash32
  readonly header: Header
  readonly headerRlp: Uint8Array
  readonly bodyRlp: Uint8Array
  /** The items of the block without the block access list. */
  readonly items: readonly RlpItem[]
  /** RLP of the block access list (EIP-7928) if it came with the block, unchecked; it is not part of the block. */
  readonly blockAccessList: Uint8Array | undefined
  /** Whether its body was compared with the commitments of its header. */
  readonly isContentChecked?: boolean
  /**
   * Resolves to the keys of its signatures found so far, in the encoding of {@link RecoveredKeys}. Undefined if no
   * thread recovers them. Rejects if that thread failed.
   */
  readonly takeKeys?: (() => Promise<Uint8Array>) | undefined
}

/** Index of the block access list after header, transactions, uncles and withdrawals, as go-ethereum exports it. */
export const accessListIndex = 4

/** A block and its parent. */
export interface BlockLink extends BlockName {
  readonly parentHash: Hash32
  /** See {@link unknownForkOf}. */
  readonly unknownFork?: string | undefined
}

export function linkOf({ header, hash }: Pick<Block, 'header' | 'hash'>): BlockLink {
  const { number, parentHash } = header
  return { number, hash, parentHash, unknownFork: unknownForkOf(header) }
}

/** Decodes a block. Throws InvalidBlockError for malformed data. */
export function parseBlock(rlp: Uint8Array): Block {
  try {
    const items = decodeRlpList(rlp)
    const spans = rlpListSpans(rlp, rlpSpanAt(rlp, 0))
    const parts = spans.map(({ start, end }) => rlp.subarray(start, end))
    const headerRlp = parts[0] ?? new Uint8Array(0)
    const hasList = items.length === accessListIndex + 1
    const ownParts = hasList ? accessListIndex : items.length
    return {
      hash: headerHash(headerRlp),
      header: headerFromItems(rlpList(items[0])),
      headerRlp,
      bodyRlp: encodeRlpListOfEncoded(parts.slice(1, ownParts)),
      items: items.slice(0, ownParts),
      blockAccessList: parts[ownParts],
    }
  } catch (error) {
    if (error instanceof RlpError) throw new InvalidBlockError(`not a block: ${error.message}`)
    throw error
  }
}
