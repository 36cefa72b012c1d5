/**
 * The chain as a consensus client drives it (execution-apis, src/engine): takes its blocks, and makes the chosen ones
 * head, safe and finalized. Owns the answers to blocks and choices. The importer checks and executes blocks; the store
 * keeps those of all branches. Calls must come one after the other.
 */
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, headOf } from '../../../data/chain/header.js'
import type { BlockName } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { readBody } from '../../../execution/evm/blocks/blockParts.js'
import { bytesToHex, equalBytes, type Hash32, hexToBytes, toHash32 } from '../../../primitives/bytes.js'
import { InvalidBlockError, OperatorError } from '../../../primitives/faults.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import type { Block } from '../blocks/block.js'
import { BadBlockError, type ChainImporter } from '../blocks/importer.js'
import { markers } from '../blocks/markers.js'
import type { BlockMaker } from '../develop/blockMaker.js'
import { checkAttributes, type PayloadAttributes } from './attributes.js'
import { EngineError } from './engineError.js'
import { PayloadBuilds } from './payloadBuilds.js'
import { RejectedBlocks, type Rejection } from './rejectedBlocks.js'

/**
 * Most blocks that leave the chain at once and whose transactions wait again: finality ends reorganisations of public
 * chains after about as many.
 */
const givenBackMax = 64

export interface PayloadStatus {
  readonly status: 'VALID' | 'INVALID' | 'SYNCING' | 'ACCEPTED'
  readonly latestValidHash: Hash32 | undefined
  readonly validationError: string | undefined
}

/** The blocks that a consensus client chooses; a zero hash is undefined, and keeps the safe or finalized block. */
export interface Forkchoice {
  readonly head: Hash32 | undefined
  readonly safe: Hash32 | undefined
  readonly finalized: Hash32 | undefined
}

export interface EngineParts {
  readonly store: ChainWriter
  readonly schedule: ForkSchedule
  readonly importer: ChainImporter
  readonly maker: BlockMaker
  readonly events: EngineEvents
}

export interface EngineEvents {
  /** Called once a new head or marker is on disk. */
  onChoice(): Promise<void>
  /** Gets sentences for the operator. */
  say(text: string): void
  /** Gets the block of a payload whose parent is not stored. */
  onUnlinked?(block: Block): void
  /** Gets a chosen head that is not stored; undefined once a stored one is chosen. */
  onUnknownHead?(head: Hash32 | undefined): void
}

const syncing: PayloadStatus = { status: 'SYNCING', latestValidHash: undefined, validationError: undefined }
const accepted: PayloadStatus = { ...syncing, status: 'ACCEPTED' }

export class Engine {
  readonly builds: PayloadBuilds
  readonly rejected = new RejectedBlocks()
  readonly #parts: EngineParts
  readonly #store: ChainWriter

  constructor(parts: EngineParts) {
    this.#parts = parts
    this.#store = parts.store
    this.builds = new PayloadBuilds(parts.store, parts.schedule, parts.maker)
  }

  /**
   * Checks, executes and stores a block, whose head stays. `read` makes the block of a payload; it throws
   * InvalidBlockError if the payload is no block.
   */
  async newPayload(read: () => Block): Promise<PayloadStatus> {
    let block: Block
    try {
      block = read()
    } catch (error) {
      if (error instanceof InvalidBlockError) return invalid(error.message, undefined)
      throw error
    }
    const { hash } = block
    const { parentHash } = block.header
    if (this.#store.hasHeader(hash)) return valid(hash)
    const rejection = this.rejected.findBranch(hash, parentHash)
    if (rejection !== undefined) return rejected(rejection)
    if (!this.#store.hasHeader(parentHash)) {
      this.#parts.events.onUnlinked?.(block)
      return syncing
    }
    try {
      const outcome = await this.#parts.importer.importBeside(block)
      return outcome === 'unexecuted' ? accepted : valid(hash)
    } catch (error) {
      if (!(error instanceof BadBlockError)) throw error
      return rejected(this.reject(error, hash, parentHash))
    }
  }

  /**
   * Makes a stored block the head, and others safe and finalized, in one transaction. Resolves once it is on disk. Throws
   * EngineError, and then the store is unchanged.
   */
  async choose({ head, safe, finalized }: Forkchoice): Promise<PayloadStatus> {
    if (head === undefined) return invalid(undefined, undefined)
    const rejection = this.rejected.find(head)
    if (rejection !== undefined) return rejected(rejection)
    const chosen = this.#find(head)
    if (chosen === undefined) {
      this.#parts.events.onUnknownHead?.(head)
      return syncing
    }
    if (this.#isBelowFinalized(chosen)) return valid(head)
    this.#parts.events.onUnknownHead?.(undefined)
    const branch = this.#branchOf(chosen)
    const chosenMarkers = [safe, finalized].map((hash, index) => {
      const marker = markers[index] as (typeof markers)[number]
      return hash && ([marker, branch.require(hash, marker)] as const)
    })
    const moved = chosenMarkers.filter((each) => each !== undefined && !this.#hasMarkerAt(...each))
    if (moved.length === 0 && equalBytes(head, this.#store.head.hash)) return valid(head)
    const left = this.#transactionsAbove(branch.base)
    this.#store.beginBatch()
    try {
      await this.#parts.importer.makeHead(chosen)
      for (const each of moved) if (each !== undefined) this.#store.writeMarker(...each)
    } catch (error) {
      await this.#store.abandonDelayed()
      if (error instanceof BadBlockError) return rejected(this.reject(error, head, chosen.parentHash))
      if (error instanceof OperatorError) throw new EngineError('tooDeepReorg', error.message)
      throw error
    }
    await this.#store.commitBatch()
    this.#parts.maker.waiting.removePast()
    this.#giveBack(left)
    await this.#parts.events.onChoice()
    return valid(head)
  }

  /** Starts to build a block on `head`, if that is the head. Returns its payload id. Throws EngineError. */
  build(head: Hash32, attributes: PayloadAttributes): string | undefined {
    const parent = headOf(this.#store)
    // A head below the finalized block is not taken, and nothing is built on it.
    if (parent === undefined || !equalBytes(parent.hash, head)) return undefined
    checkAttributes(attributes, parent.header, this.#parts.schedule)
    return this.builds.start(attributes)
  }

  #find(hash: Hash32): (BlockName & { readonly parentHash: Hash32 }) | undefined {
    const header = this.#store.readHeader(hash)
    if (header === undefined) return undefined
    const { number, parentHash } = decodeHeader(header)
    return { number, hash, parentHash }
  }

  #hasMarkerAt(marker: (typeof markers)[number], { hash }: BlockName): boolean {
    const before = this.#store.readMarker(marker)
    return before !== undefined && equalBytes(before.hash, hash)
  }

  /** The specification lets a client skip an update to such an ancestor of the head. */
  #isBelowFinalized({ number, hash }: BlockName): boolean {
    const finalized = this.#store.readMarker('finalized')
    const isKnown = finalized !== undefined && this.#store.isCanonical(finalized.number, finalized.hash)
    return isKnown && number < finalized.number && this.#store.isCanonical(number, hash)
  }

  /** The chain that ends with a block: its members that are not canonical, and the canonical block below them. */
  #branchOf(chosen: BlockName & { readonly parentHash: Hash32 }) {
    const store = this.#store
    const members = new Map<string, BlockName>()
    let at: (BlockName & { readonly parentHash: Hash32 }) | undefined = chosen
    while (at !== undefined && !store.isCanonical(at.number, at.hash)) {
      members.set(bytesToHex(at.hash), at)
      at = this.#find(at.parentHash)
    }
    if (at === undefined) throw new Error(`the branch of ${bytesToHex(chosen.hash)} has no canonical block`)
    const base = at.number
    return {
      base,
      /** The block of the chain with this hash. Throws EngineError. */
      require: (hash: Hash32, marker: string): BlockName => {
        const named = members.get(bytesToHex(hash)) ?? this.#find(hash)
        const isOn =
          named !== undefined &&
          (members.has(bytesToHex(hash)) || (named.number <= base && store.isCanonical(named.number, hash)))
        if (isOn) return { number: named.number, hash }
        const why = named === undefined ? 'is not known' : 'is not an ancestor of the head'
        throw new EngineError('invalidState', `the ${marker} block ${bytesToHex(hash)} ${why}`)
      },
    }
  }

  /** Remembers an invalid block, and the one that was asked about. `parentHash` is the invalid block's parent if that is not stored. */
  reject({ hash, why, message }: BadBlockError, asked: Hash32, parentHash: Hash32): Rejection {
    const bad = toHash32(hexToBytes(hash))
    const latestValidHash = equalBytes(bad, asked) ? parentHash : (this.#find(bad)?.parentHash ?? parentHash)
    const rejection = { latestValidHash, why }
    this.rejected.add(bad, rejection)
    this.rejected.add(asked, rejection)
    this.#parts.events.say(`the consensus client's chain has a bad block: ${message}`)
    return rejection
  }

  /** Transactions of the canonical blocks above one, oldest first; none of a longer branch than {@link givenBackMax}. */
  #transactionsAbove(base: number): readonly Uint8Array[] {
    const { number: last } = this.#store.head
    if (last - base > givenBackMax) return []
    const found: Uint8Array[] = []
    for (let number = base + 1; number <= last; number++) {
      const hash = this.#store.readCanonicalHash(number) as Hash32
      const body = this.#store.readBody(hash)
      const header = this.#store.readHeader(hash)
      if (body === undefined || header === undefined) return []
      for (const item of readBody(body, decodeHeader(header)).transactions)
        found.push(item instanceof Uint8Array ? item : encodeRlp(item))
    }
    return found
  }

  /** Transactions of blocks that left the chain wait again, unless the new branch has them. */
  #giveBack(transactions: readonly Uint8Array[]): void {
    const { maker } = this.#parts
    for (const bytes of transactions) maker.takeAgain(bytes, Number(maker.head.timestamp) + 1)
  }
}

function valid(latestValidHash: Hash32): PayloadStatus {
  return { status: 'VALID', latestValidHash, validationError: undefined }
}

function invalid(validationError: string | undefined, latestValidHash: Hash32 | undefined): PayloadStatus {
  return { status: 'INVALID', latestValidHash, validationError }
}

function rejected({ latestValidHash, why }: Rejection): PayloadStatus {
  return invalid(why, latestValidHash)
}
