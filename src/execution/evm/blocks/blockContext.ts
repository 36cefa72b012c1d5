import { LRUCache } from 'lru-cache'
import { blobBaseFee } from '../../../data/chain/feeMarket.js'
import { type BlobParameters, type ForkName, ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, unknownForkOf } from '../../../data/chain/header.js'
import { readPendingHeader, stateRootUnder } from '../../../data/chain/pendingHeader.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import { bytesToBigInt, equalBytes, type Hash32, latin1Key, toHash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import type { BlockWords } from '../engine/kernel.js'
import type { BlockOverrides, BlockReference } from '../messages/executionRequest.js'

/** The rules and values of a block that its transactions use. */
export interface BlockRules extends BlockWords {
  readonly fork: ForkName
}

/** The block in which a message runs. */
export interface BlockContext extends BlockRules {
  /** Whether the block or an override has a base fee; a block keeps it even if overrides choose an earlier fork. */
  readonly hasBaseFee: boolean
  /** Hash of an ancestor; undefined if there is none. The block itself is not its own ancestor. */
  readonly ancestorHash: (number: number) => Hash32 | undefined
}

/** The block in which a message runs, and the root of its state. */
interface ResolvedContext {
  readonly context: BlockContext
  /** State root after the block; the pending block's is the head's. */
  readonly stateRoot: Hash32
}

/** The forks of a store's chain, and whether it may lack the protocol's contracts. */
export function readRules(store: Pick<ChainRows, 'readIdentity'>) {
  const identity = store.readIdentity()
  if (identity === undefined) throw new Error('execution needs a store with a genesis')
  return { schedule: ForkSchedule.of(identity), isDevelopment: identity.development !== undefined }
}

/** Contexts kept: the head, its pending block, and some blocks in use. */
const contextsMax = 8

/** Reads contexts of one store's blocks, and caches the last ones; a block's context changes only by hand. */
export class BlockContexts {
  readonly #kept = new LRUCache<string, ResolvedContext>({ max: contextsMax })
  /** The context read last, which most jobs use again: making its key takes longer than a comparison. */
  #last:
    | {
        readonly hash: Uint8Array
        readonly isPending: boolean
        readonly revision: number
        readonly context: ResolvedContext
      }
    | undefined
  readonly #store: ChainRows
  readonly #schedule: ForkSchedule

  constructor(store: ChainRows, schedule: ForkSchedule) {
    this.#store = store
    this.#schedule = schedule
  }

  /** Reads the context of a block and applies overrides. Throws FaultError if the block is unknown. */
  read(block: BlockReference, overrides?: BlockOverrides): ResolvedContext {
    if (overrides !== undefined) return readBlockContext(this.#store, this.#schedule, block, overrides)
    const { revision = 0 } = this.#store.readByHand?.() ?? {}
    const last = this.#last
    const isSame = last?.isPending === block.isPending && last.revision === revision
    if (isSame && equalBytes(last.hash, block.hash)) return last.context
    // Copied, because the hash may be a view of the whole request.
    const own = { ...block, hash: Uint8Array.from(block.hash) }
    const key = `${block.isPending ? 'p' : 'b'}${latin1Key(block.hash)}${revision}`
    let context = this.#kept.get(key)
    if (context === undefined) {
      context = readBlockContext(this.#store, this.#schedule, own, {})
      this.#kept.set(key, context)
    }
    this.#last = { hash: own.hash, isPending: own.isPending, revision, context }
    return context
  }
}

/** Throws FaultError for a block of an unknown fork, because its execution rules are unknown. */
export function refuseUnknownFork(header: Header): void {
  const why = unknownForkOf(header)
  if (why !== undefined) throw new FaultError({ kind: 'ExecutionFailed', why })
}

/** Throws FaultError if the rules by which calls run at this time are unknown. */
function requireCallRules({ family: { execution, calls } }: ForkSchedule, timestamp: bigint): void {
  if (execution !== undefined || (calls.rules !== undefined && timestamp >= calls.rules.from)) return
  throw new FaultError({ kind: 'NotProved', why: 'the rules for calls at this block are unknown here' })
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
  const header = isPending ? readPendingHeader(store, named, hash as Hash32, schedule, ownTotal) : named
  const parentTotal = isPending ? ownTotal : ownTotal - named.difficulty
  const number = overrides.number ?? BigInt(header.number)
  const timestamp = overrides.time ?? BigInt(header.timestamp)
  requireCallRules(schedule, timestamp)
  const isMerged = header.difficulty === 0n || schedule.isMerged(parentTotal)
  const ownFork = schedule.forkAt(header.number, header.timestamp, isMerged)
  const fork = forkOf(schedule, number, timestamp, isMerged, overrides) ?? ownFork
  const baseFeePerGas = overrides.baseFeePerGas ?? header.baseFeePerGas
  const seen = {
    ...header,
    difficulty: overrides.difficulty ?? header.difficulty,
    mixHash: toHash32(overrides.prevRandao ?? header.mixHash),
    gasLimit: overrides.gasLimit ?? header.gasLimit,
    miner: overrides.feeRecipient ?? header.miner,
  }
  const rules = blockRules(seen, fork, schedule.config.chainId, schedule.blobParametersAt(ownFork))
  return {
    stateRoot: stateRootUnder(store, { hash, isPending }, header),
    context: {
      ...rules,
      number,
      timestamp,
      hasBaseFee: baseFeePerGas !== undefined,
      baseFee: baseFeePerGas ?? 0n,
      blobBaseFee: overrides.blobBaseFee ?? rules.blobBaseFee,
      ancestorHash: ancestorsOf(store, header, isPending ? undefined : hash),
    },
  }
}

/** The fork that overrides choose, as in go-ethereum: a block with `prevRandao` is after the Merge. */
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

/** The block values that transactions of a header use. Prices that it lacks are 0. */
export function blockRules(
  header: Header,
  fork: ForkName,
  chainId: bigint,
  blobs: BlobParameters | undefined,
): BlockRules {
  return {
    fork,
    coinbase: header.miner,
    timestamp: BigInt(header.timestamp),
    number: BigInt(header.number),
    random: includesFork(fork, 'paris') ? bytesToBigInt(header.mixHash) : header.difficulty,
    gasLimit: header.gasLimit,
    chainId,
    baseFee: header.baseFeePerGas ?? 0n,
    blobBaseFee: blobs === undefined ? 0n : blobBaseFee(header.excessBlobGas ?? 0n, blobs),
    slotNumber: header.slotNumber ?? 0n,
  }
}

/** Ancestors of a block by number, up to 256; if `hash` is undefined, those of the pending block. */
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
