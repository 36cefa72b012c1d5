import { type Hash32, zeroHash } from '../../primitives/bytes.js'
import { emptyTrieRoot, emptyUnclesHash } from '../../primitives/keccak.js'
import { nextDifficulty } from './feeMarket.js'
import type { ForkSchedule } from './forks.js'
import { emptyBlockAccessListHash, emptyRequestsHash, fieldsAt, type Header, toTimestamp } from './header.js'

/** The slot after the parent's; zero if the parent has none, because then it is unknown here. */
export function nextSlotNumber(parent: Header): bigint {
  return parent.slotNumber === undefined ? 0n : parent.slotNumber + 1n
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
  timestamp = toTimestamp(BigInt(parent.timestamp) + BigInt(schedule.family.headers.slotSeconds)),
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
