/** Headers of simulated blocks, from the parent's fields and the caller's overrides. */
import { initialBaseFee } from '../../../data/chain/feeMarket.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import {
  type BlobParameters,
  type ForkName,
  type ForkSchedule,
  includesFork,
} from '../../../data/chain/forks.js'
import { fieldsAt, type Header, type Timestamp } from '../../../data/chain/header.js'
import { nextSlotNumber } from '../../../data/chain/pendingHeader.js'
import { type Hash32, toHash32, zeroHash } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { emptyTrieRoot, emptyUnclesHash } from '../../../primitives/keccak.js'
import type { PlannedBlock } from './simulatedChain.js'

/** A header before its block is executed: roots, bloom and gas used are those of an empty block. */
export interface StartedHeader {
  readonly header: Header
  readonly fork: ForkName
  /** Undefined before Cancun. */
  readonly blobs: BlobParameters | undefined
}

/** The block on which another is built. */
export interface SimulatedParent {
  readonly header: Header
  readonly hash: Hash32
  /** Up to this block. */
  readonly totalDifficulty: bigint
}

/** The header of a block on `parent`. Without validation, the base fee is zero unless the caller sets it. */
export function startHeader(
  { number, timestamp, blockOverrides: chosen }: PlannedBlock,
  { header: parent, hash: parentHash, totalDifficulty }: SimulatedParent,
  schedule: ForkSchedule,
  validates: boolean,
): StartedHeader {
  const isProofOfWork = !isMerged(schedule, timestamp, totalDifficulty) && parent.difficulty !== 0n
  if (!isProofOfWork && chosen.difficulty !== undefined && chosen.difficulty !== 0n) {
    const why = `block override "difficulty" of block ${number}: after the Merge it is zero`
    throw new FaultError({ kind: 'SimulationRefused', rule: 'difficulty', why })
  }
  const difficulty = isProofOfWork ? (chosen.difficulty ?? parent.difficulty) : 0n
  const isLondon = (block: number) => schedule.londonBlock !== undefined && block >= schedule.londonBlock
  const fork = schedule.forkAt(number, timestamp, difficulty === 0n && isLondon(number))
  const blobs = includesFork(fork, 'cancun') ? schedule.blobParametersAt(fork) : undefined
  const { headers } = forkRules(fork)
  const validBaseFee = () =>
    isLondon(parent.number)
      ? headers.nextBaseFee(parent, { timestamp, config: schedule.config })
      : initialBaseFee
  const ownBaseFee = isLondon(number) ? (validates ? validBaseFee() : 0n) : undefined
  const baseFeePerGas = chosen.baseFeePerGas ?? ownBaseFee
  const header: Header = {
    parentHash,
    unclesHash: emptyUnclesHash,
    miner: chosen.feeRecipient ?? parent.miner,
    stateRoot: parent.stateRoot,
    transactionsRoot: emptyTrieRoot,
    receiptsRoot: emptyTrieRoot,
    logsBloom: new Uint8Array(256),
    difficulty,
    number,
    gasLimit: chosen.gasLimit ?? parent.gasLimit,
    gasUsed: 0n,
    timestamp,
    extraData: new Uint8Array(0),
    mixHash: toHash32(chosen.prevRandao ?? zeroHash),
    nonce: new Uint8Array(8),
    ...(baseFeePerGas === undefined ? {} : { baseFeePerGas }),
    ...fieldsAt(fork, {
      withdrawalsRoot: emptyTrieRoot,
      blobGasUsed: 0n,
      excessBlobGas:
        headers.child(parent, { number, timestamp, ...schedule.rulesAt(fork) }).excessBlobGas ?? 0n,
      parentBeaconBlockRoot: toHash32(chosen.beaconRoot ?? zeroHash),
      slotNumber: nextSlotNumber(parent),
    }),
  }
  return { header, fork, blobs }
}

/** Whether a block at this time, on this total difficulty, has proof of stake, independent of its parent. */
function isMerged(schedule: ForkSchedule, timestamp: Timestamp, totalDifficulty: bigint): boolean {
  const shanghai = schedule.config.times.get('shanghai')
  return schedule.isMerged(totalDifficulty) || (shanghai !== undefined && timestamp >= shanghai)
}
