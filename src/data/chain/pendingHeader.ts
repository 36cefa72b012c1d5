import { type Hash32, zeroHash } from '../../primitives/bytes.js'
import { emptyTrieRoot, emptyUnclesHash } from '../../primitives/keccak.js'
import { nextBaseFee, nextDifficulty, nextExcessBlobGas } from './feeMarket.js'
import { type ForkSchedule, includesFork } from './forks.js'
import { emptyBlockAccessListHash, emptyRequestsHash, type Header, toTimestamp } from './header.js'

/**
 * Seconds from the head to the pending block: one slot of proof of stake. The clock is not used, so that an answer
 * depends only on the head.
 */
const slotSeconds = 12n

/** The slot after the parent's; zero where the parent has none, because it is not known here. */
export function nextSlotNumber(parent: Header): bigint {
  return parent.slotNumber === undefined ? 0n : parent.slotNumber + 1n
}

/**
 * Header of an empty block on top of `parent`: values that follow from the parent; others are zero or the parent's. The
 * first block with a base fee has twice the gas limit (EIP-1559).
 */
export function buildPendingHeader(
  parent: Header,
  parentHash: Hash32,
  schedule: ForkSchedule,
  parentTotalDifficulty: bigint,
  timestamp = toTimestamp(BigInt(parent.timestamp) + slotSeconds),
): Header {
  const number = parent.number + 1
  const isMerged = schedule.isMerged(parentTotalDifficulty)
  const fork = schedule.forkAt(number, timestamp, isMerged)
  const blobParameters = schedule.blobParametersAt(fork)
  const parentHasUncles = Buffer.compare(parent.unclesHash, emptyUnclesHash) !== 0
  return {
    parentHash,
    unclesHash: emptyUnclesHash,
    miner: new Uint8Array(20),
    stateRoot: parent.stateRoot,
    transactionsRoot: emptyTrieRoot,
    receiptsRoot: emptyTrieRoot,
    logsBloom: new Uint8Array(256),
    difficulty: isMerged ? 0n : nextDifficulty(parent, parentHasUncles, timestamp, fork),
    number,
    gasLimit: number === schedule.londonBlock ? 2n * parent.gasLimit : parent.gasLimit,
    gasUsed: 0n,
    timestamp,
    extraData: new Uint8Array(0),
    mixHash: zeroHash,
    nonce: new Uint8Array(8),
    ...(includesFork(fork, 'london') ? { baseFeePerGas: nextBaseFee(parent) } : {}),
    ...(includesFork(fork, 'shanghai') ? { withdrawalsRoot: emptyTrieRoot } : {}),
    ...(includesFork(fork, 'cancun') && blobParameters !== undefined
      ? {
          blobGasUsed: 0n,
          excessBlobGas: nextExcessBlobGas(parent, fork, blobParameters),
          parentBeaconBlockRoot: zeroHash,
        }
      : {}),
    ...(includesFork(fork, 'prague') ? { requestsHash: emptyRequestsHash } : {}),
    ...(includesFork(fork, 'amsterdam')
      ? { blockAccessListHash: emptyBlockAccessListHash, slotNumber: nextSlotNumber(parent) }
      : {}),
  }
}
