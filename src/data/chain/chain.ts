/** One network's chain, and its head as this process sees it. */
import { equalBytes, type Hash32, latin1Key } from '../../primitives/bytes.js'
import type { ChainRows } from '../store/chainRows.js'
import { ChainBlocks, type ChainOptions, ChainParts, type Head } from './chainBlocks.js'
import { type ChainCursor, type ChainStep, nextStep } from './chainSteps.js'
import { decodeHeader, headOf } from './header.js'
import { countLogs } from './logJson.js'

export class Chain extends ChainBlocks {
  readonly #store: ChainRows
  readonly #listeners = new Set<() => void>()
  #current: Head
  /** Which blocks were marked when the head was read last. */
  #markerKey = ''

  /** Throws OperatorError where the store holds no chain or one of another schema. */
  constructor(store: ChainRows, options: ChainOptions) {
    super(new ChainParts(store, options))
    this.#store = store
    this.#current = this.#readHead(0)
  }

  get head(): Head {
    return this.#current
  }

  /** Number of the newest block that is not replaced any more. */
  get finalizedNumber(): number {
    return this.#store.readMarker('finalized')?.number ?? this.head.number - this.parts.options.finalizedLag
  }

  /** Number of logs of a known block; 0 where it was never executed. */
  countLogs(hash: Hash32): number {
    const receipts = this.#store.readReceipts(hash, true)
    return receipts === undefined ? 0 : countLogs(receipts)
  }

  /**
   * Reads the newest head; if it changed, listeners run before this returns. New markers, and what callers of a developer
   * chain set by hand, are a new generation of it.
   */
  refreshHead(): void {
    this.#store.refresh()
    const stored = this.#store.readHead()
    const marked = markerKey(this.#store)
    const isSame = stored !== undefined && equalBytes(stored.hash, this.#current.hash)
    if (stored === undefined || (isSame && marked === this.#markerKey)) return
    this.#markerKey = marked
    this.parts.readOldest()
    this.#current = this.#readHead(this.#current.generation + 1)
    if (!isSame) for (const listener of this.#listeners) listener()
  }

  /** Calls `listener` after each change of the head. Returns a function that stops this. */
  onHead(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A known block as the head of the chain that ends with it; undefined where no block has this hash. */
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

/** Text that differs wherever the source marked other blocks, and after each change by hand. */
function markerKey(rows: ChainRows): string {
  const safe = rows.readMarker('safe')
  const finalized = rows.readMarker('finalized')
  const { revision = 0 } = rows.readByHand?.() ?? {}
  return `${safe && latin1Key(safe.hash)} ${finalized && latin1Key(finalized.hash)} ${revision}`
}
