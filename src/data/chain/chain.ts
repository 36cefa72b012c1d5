/** One network's chain, and its head in this process. */
import { equalBytes, type Hash32, latin1Key } from '../../primitives/bytes.js'
import type { ChainRows } from '../store/chainRows.js'
import {
  type BlockId,
  ChainBlocks,
  type ChainOptions,
  ChainParts,
  type Head,
  type ResolvedBlock,
} from './chainBlocks.js'
import { type ChainCursor, type ChainStep, nextStep } from './chainSteps.js'
import { decodeHeader, headOf } from './header.js'
import { countLogs } from './logJson.js'

export class Chain extends ChainBlocks {
  readonly #store: ChainRows
  readonly #listeners = new Set<() => void>()
  #current: Head
  /** The safe and finalized blocks at the last read of the head. */
  #markerKey = ''

  /** Throws OperatorError if the store has no chain or one of another schema. */
  constructor(store: ChainRows, options: ChainOptions) {
    super(new ChainParts(store, options))
    this.#store = store
    this.#current = this.#readHead(0)
  }

  get head(): Head {
    return this.#current
  }

  /** Number of the newest block that can no longer be replaced. */
  get finalizedNumber(): number {
    const { needsMarkers, finalizedLag } = this.parts.options
    const withoutMarker = needsMarkers === true ? this.firstNumber : this.head.number - finalizedLag
    return this.#store.readMarker('finalized')?.number ?? withoutMarker
  }

  /** Number of logs of a known block; 0 if it was never executed. */
  countLogs(hash: Hash32): number {
    const receipts = this.#store.readReceipts(hash, true)
    return receipts === undefined ? 0 : countLogs(receipts)
  }

  /**
   * Reads the newest head. If it changed, listeners run before this returns. New safe or finalized blocks, and changes that
   * callers of a developer chain make by hand, also start a new generation of it.
   */
  refreshHead(): void {
    this.#store.refresh()
    // Ready answers are also completed between two heads.
    this.parts.readReady()
    const stored = this.#store.readHead()
    const markers = markerKey(this.#store)
    const isSame = stored !== undefined && equalBytes(stored.hash, this.#current.hash)
    if (stored === undefined || (isSame && markers === this.#markerKey)) return
    this.#markerKey = markers
    this.parts.readOldest()
    // The store forgets blocks of a run of empty blocks that is taken back.
    const isTakenBack = stored.number < this.#current.number
    if (isTakenBack && this.#store.readByHand?.() !== undefined) this.parts.forgetBlocks()
    this.#current = this.#readHead(this.#current.generation + 1)
    if (!isSame) for (const listener of this.#listeners) listener()
  }

  /** Calls `listener` after each change of the head. Returns a function that stops this. */
  onHead(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A known block as the head of the chain that ends with it; undefined if no block has this hash. */
  readHeadAt(hash: Hash32): Head | undefined {
    const header = this.#store.readHeader(hash)
    if (header === undefined) return undefined
    const decoded = decodeHeader(header)
    return { number: decoded.number, hash, header: decoded, generation: this.#current.generation }
  }

  nextStep(cursor: ChainCursor): ChainStep | undefined {
    return nextStep(this.#store, cursor, this.#current.number)
  }

  #readHead(generation: number): Head {
    const head = headOf(this.#store)
    if (head === undefined) throw new Error('the store has no head')
    return { ...head, generation }
  }
}

/** A text that changes with the safe or finalized block, and with each change by hand. */
function markerKey(rows: ChainRows): string {
  const safe = rows.readMarker('safe')
  const finalized = rows.readMarker('finalized')
  const { revision = 0 } = rows.readByHand?.() ?? {}
  return `${safe && latin1Key(safe.hash)} ${finalized && latin1Key(finalized.hash)} ${revision}`
}

/** The chain that ends with one block, fixed for one request and unaffected by later writes. */
export class ChainView extends ChainBlocks {
  readonly #isPinned: boolean

  /** In a pinned view every tag means its head; in other views tags have their usual meaning. */
  constructor(
    chain: Chain,
    readonly head: Head,
    isPinned: boolean,
  ) {
    super(chain.parts)
    this.#isPinned = isPinned
  }

  override resolve(id: BlockId, argument: number | undefined): ResolvedBlock | undefined {
    const { number, hash } = this.head
    if (this.#isPinned && id.kind === 'tag') return { number, hash, isPending: false }
    return super.resolve(id, argument)
  }
}
