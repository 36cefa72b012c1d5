import { equalBytes, type Hash32, hexToBytes, toHash32, zeroHash } from '../../primitives/bytes.js'
import { emptyTrieRoot, emptyUnclesHash } from '../../primitives/keccak.js'
import type { ChainRows, NextBlock } from '../store/chainRows.js'
import { nextDifficulty } from './feeMarket.js'
import type { ForkSchedule } from './forks.js'
import {
  decodeHeader,
  emptyBlockAccessListHash,
  emptyRequestsHash,
  fieldsAt,
  type Header,
  type Timestamp,
  toTimestamp,
} from './header.js'

/** The slot after the parent's; zero if the parent has none, because then it is unknown here. */
export function nextSlotNumber(parent: Header): bigint {
  return parent.slotNumber === undefined ? 0n : parent.slotNumber + 1n
}

type PendingRows = Pick<ChainRows, 'readByHand' | 'readPending' | 'readRootByHand'>

/** The header of the stored block of waiting transactions on this parent; undefined if none waits. */
export function storedPendingHeader(rows: PendingRows, parentHash: Uint8Array): Header | undefined {
  const { block } = rows.readPending?.() ?? {}
  return block && equalBytes(block.parentHash, parentHash) ? decodeHeader(block.header) : undefined
}

/** The root of the state on which a message runs, at a block with this header or in the pending one on it. */
export function stateRootUnder(
  rows: PendingRows,
  { hash, isPending }: { readonly hash: Uint8Array; readonly isPending: boolean },
  header: Header,
): Hash32 {
  const stored = isPending ? storedPendingHeader(rows, hash) : undefined
  return stored?.stateRoot ?? rows.readRootByHand?.(hash as Hash32) ?? header.stateRoot
}

/**
 * Header of the block that is made next, as far as callers of a developer chain have set it; elsewhere that of
 * {@link buildPendingHeader}.
 */
export function readPendingHeader(
  rows: PendingRows,
  parent: Header,
  parentHash: Hash32,
  schedule: ForkSchedule,
  parentTotalDifficulty: bigint,
): Header {
  const stored = storedPendingHeader(rows, parentHash)
  if (stored !== undefined) return stored
  const next = rows.readByHand?.()?.next
  if (next === undefined) return buildPendingHeader(parent, parentHash, schedule, parentTotalDifficulty)
  const timestamp = nextTimestamp(next, parent, slotAfter(parent, schedule))
  return withNext(buildPendingHeader(parent, parentHash, schedule, parentTotalDifficulty, timestamp), next)
}

function nextTimestamp(
  { timestamp, interval, clock = 0 }: NextBlock,
  parent: Header,
  usual: Timestamp,
): Timestamp {
  if (timestamp !== undefined) return timestamp
  if (interval !== undefined) return toTimestamp(BigInt(parent.timestamp) + BigInt(Math.max(interval, 1)))
  return clock > usual ? clock : usual
}

/**
 * A header with what callers have set for the next block, except for its time. Fields that its fork lacks are omitted.
 */
export function withNext(header: Header, next: NextBlock | undefined): Header {
  if (next === undefined) return header
  const { baseFeePerGas, prevRandao, gasLimit, coinbase } = next
  const isMerged = header.difficulty === 0n
  return {
    ...header,
    ...(coinbase !== undefined && { miner: hexToBytes(coinbase) }),
    ...(gasLimit !== undefined && { gasLimit: BigInt(gasLimit) }),
    ...(prevRandao !== undefined && isMerged && { mixHash: toHash32(hexToBytes(prevRandao)) }),
    ...(baseFeePerGas !== undefined &&
      header.baseFeePerGas !== undefined && { baseFeePerGas: BigInt(baseFeePerGas) }),
  }
}

function slotAfter(parent: Header, schedule: ForkSchedule): Timestamp {
  return toTimestamp(BigInt(parent.timestamp) + BigInt(schedule.family.headers.slotSeconds))
}

/**
 * Header of an empty block on top of `parent`. Values follow from the parent; others are zero or the parent's. Its time
 * is one slot after the parent's: without a clock, an answer depends only on the head.
 */
export function buildPendingHeader(
  parent: Header,
  parentHash: Hash32,
  schedule: ForkSchedule,
  parentTotalDifficulty: bigint,
  timestamp = slotAfter(parent, schedule),
): Header {
  const number = parent.number + 1
  const child = schedule.childAt(number, timestamp, parentTotalDifficulty)
  const { fork, isMerged } = child
  const { headers } = schedule.family
  const { gasLimit, extraData, ...own } = headers.child(parent, child)
  const parentHasUncles = Buffer.compare(parent.unclesHash, emptyUnclesHash) !== 0
  return {
    parentHash,
    unclesHash: emptyUnclesHash,
    miner: new Uint8Array(20),
    stateRoot: parent.stateRoot,
    transactionsRoot: emptyTrieRoot,
    receiptsRoot: emptyTrieRoot,
    logsBloom: new Uint8Array(256),
    difficulty: isMerged
      ? 0n
      : nextDifficulty(parent, parentHasUncles, timestamp, fork, schedule.config.blocks),
    number,
    gasLimit,
    gasUsed: 0n,
    timestamp,
    extraData,
    mixHash: zeroHash,
    nonce: new Uint8Array(8),
    ...fieldsAt(fork, {
      baseFeePerGas: headers.nextBaseFee(parent, child),
      withdrawalsRoot: emptyTrieRoot,
      parentBeaconBlockRoot: zeroHash,
      requestsHash: emptyRequestsHash,
      blockAccessListHash: emptyBlockAccessListHash,
      slotNumber: nextSlotNumber(parent),
      ...own,
    }),
  }
}
