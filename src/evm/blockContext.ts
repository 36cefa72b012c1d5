import { LRUCache } from 'lru-cache'
import { blobBaseFee } from '../chain/feeMarket.js'
import { type ForkName, type ForkSchedule, includesFork } from '../chain/forks.js'
import { decodeHeader, type Header, unknownForkOf } from '../chain/header.js'
import { buildPendingHeader } from '../chain/pendingHeader.js'
import { bytesToBigInt, equalBytes, type Hash32, mapKey } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'

import type { ChainRows } from '../store/chainRows.js'
import type { BlockOverrides, BlockReference } from './executionRequest.js'

/** The block as a message sees it. */
export interface BlockContext {
  readonly fork: ForkName
  readonly chainId: bigint
  readonly number: bigint
  /** Unix seconds. */
  readonly timestamp: bigint
  readonly difficulty: bigint
  readonly prevRandao: Uint8Array
  readonly gasLimit: bigint
  /** 20 bytes. */
  readonly coinbase: Uint8Array
  /**
   * Wei; undefined where neither the block nor an override has one. A block keeps it even if overrides choose an
   * earlier fork.
   */
  readonly baseFee: bigint | undefined
  /** Wei; undefined before Cancun. */
  readonly blobBaseFee: bigint | undefined
  /** EIP-7843; undefined before Amsterdam. */
  readonly slotNumber: bigint | undefined
  /** Hash of an ancestor; undefined where there is none or none before the block itself. */
  readonly ancestorHash: (number: number) => Hash32 | undefined
}

/** The block in which a message runs, and the root of its state. */
export interface ResolvedContext {
  readonly context: BlockContext
  /** State root after the block; the pending block's is the head's. */
  readonly stateRoot: Hash32
}

/** Contexts kept: the head, its pending block, and some blocks in use. */
const contextsMax = 8

/** Reads contexts of one store's blocks, and caches the last ones; a block's context never changes. */
export class BlockContexts {
  readonly #kept = new LRUCache<string, ResolvedContext>({ max: contextsMax })
  /** The one read last, which most jobs use again: to make its key takes longer than to compare. */
  #last:
    | { readonly hash: Uint8Array; readonly isPending: boolean; readonly context: ResolvedContext }
    | undefined
  readonly #store: ChainRows
  readonly #schedule: ForkSchedule

  constructor(store: ChainRows, schedule: ForkSchedule) {
    this.#store = store
    this.#schedule = schedule
  }

  /** Reads the context of a block and applies overrides. Throws FaultError where the block is not known. */
  read(block: BlockReference, overrides?: BlockOverrides): ResolvedContext {
    if (overrides !== undefined) return readBlockContext(this.#store, this.#schedule, block, overrides)
    const last = this.#last
    if (last !== undefined && last.isPending === block.isPending && equalBytes(last.hash, block.hash)) {
      return last.context
    }
    // Copied, because the hash may be a view of the whole request.
    const own = { ...block, hash: Uint8Array.from(block.hash) }
    const key = (block.isPending ? 'p' : 'b') + mapKey(block.hash)
    let context = this.#kept.get(key)
    if (context === undefined) {
      context = readBlockContext(this.#store, this.#schedule, own, {})
      this.#kept.set(key, context)
    }
    this.#last = { hash: own.hash, isPending: own.isPending, context }
    return context
  }
}

/** Throws FaultError for a block of which it is not known by which rules it is executed. */
export function refuseUnknownFork(header: Header): void {
  const why = unknownForkOf(header)
  if (why !== undefined) throw new FaultError({ kind: 'ExecutionFailed', why })
}

function readBlockContext(
  store: ChainRows,
  schedule: ForkSchedule,
  { hash, isPending }: BlockReference,
  overrides: BlockOverrides,
): ResolvedContext {
  const row = store.readHeader(hash as Hash32)
  if (row === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
  const named = decodeHeader(row)
  refuseUnknownFork(named)
  const ownTotal = totalDifficulty(store, hash as Hash32)
  const header = isPending ? buildPendingHeader(named, hash as Hash32, schedule, ownTotal) : named
  const parentTotal = isPending ? ownTotal : totalDifficulty(store, named.parentHash)
  const number = overrides.number ?? BigInt(header.number)
  const timestamp = overrides.time ?? BigInt(header.timestamp)
  const isMerged = header.difficulty === 0n || schedule.isMerged(parentTotal)
  const ownFork = schedule.forkAt(header.number, header.timestamp, isMerged)
  const fork = forkOf(schedule, number, timestamp, isMerged, overrides) ?? ownFork
  const baseFee = overrides.baseFeePerGas ?? header.baseFeePerGas
  const blobBaseFee = overrides.blobBaseFee ?? blobPrice(header, schedule, ownFork)
  return {
    stateRoot: header.stateRoot,
    context: {
      fork,
      chainId: schedule.config.chainId,
      number,
      timestamp,
      difficulty: overrides.difficulty ?? header.difficulty,
      prevRandao: overrides.prevRandao ?? header.mixHash,
      gasLimit: overrides.gasLimit ?? header.gasLimit,
      coinbase: overrides.feeRecipient ?? header.miner,
      baseFee,
      blobBaseFee: includesFork(fork, 'cancun') ? blobBaseFee : undefined,
      slotNumber: header.slotNumber,
      ancestorHash: ancestorsOf(store, header, isPending ? undefined : hash),
    },
  }
}

/**
 * The fork that overrides choose, as in go-ethereum: below London's number no fork after the Merge applies, and a
 * block with `prevRandao` is after the Merge. Undefined where they choose none.
 */
function forkOf(
  schedule: ForkSchedule,
  number: bigint,
  timestamp: bigint,
  isMerged: boolean,
  overrides: BlockOverrides,
): ForkName | undefined {
  const { number: chosen, time, prevRandao } = overrides
  if (chosen === undefined && time === undefined && prevRandao === undefined) return undefined
  const at = [toForkInteger(number), toForkInteger(timestamp)] as const
  const byNumber = schedule.forkAt(...at, false)
  const hasMerged = isMerged || prevRandao !== undefined
  return hasMerged && includesFork(byNumber, 'london') ? schedule.forkAt(...at, true) : byNumber
}

export function totalDifficulty(store: ChainRows, hash: Hash32): bigint {
  const total = store.readTotalDifficulty(hash)
  return total === undefined ? 0n : bytesToBigInt(total)
}

/** Forks activate far below the largest safe integer; a larger override is after all of them. */
function toForkInteger(value: bigint): number {
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : value)
}

function blobPrice({ excessBlobGas }: Header, schedule: ForkSchedule, fork: ForkName): bigint {
  const parameters = schedule.blobParametersAt(fork)
  return parameters === undefined ? 0n : blobBaseFee(excessBlobGas ?? 0n, parameters)
}

/**
 * Ancestors of a block (`hash` undefined: of the pending one) by number: from the canonical chain where the block is on it, otherwise parent by parent.
 * BLOCKHASH reads at most 256 of them.
 */
export function ancestorsOf(
  store: ChainRows,
  header: Header,
  hash: Uint8Array | undefined,
): BlockContext['ancestorHash'] {
  const anchor = hash ?? header.parentHash
  const anchorNumber = hash === undefined ? header.number - 1 : header.number
  return (number) => {
    if (number >= header.number) return undefined
    const canonical = store.readCanonicalHash(anchorNumber)
    if (canonical !== undefined && equalBytes(canonical, anchor)) return store.readCanonicalHash(number)
    let ancestor: Hash32 | undefined = header.parentHash
    for (let at = header.number - 1; at > number && ancestor !== undefined; at--) {
      const row = store.readHeader(ancestor)
      ancestor = row && decodeHeader(row).parentHash
    }
    return ancestor
  }
}
