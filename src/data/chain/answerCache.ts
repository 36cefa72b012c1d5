import { LRUCache } from 'lru-cache'
import type { SeenOnceFilter } from '../../primitives/seenOnceFilter.js'

/** Hits and misses of a cache since its creation, and the bytes in it. */
export interface CacheUse {
  readonly hits: number
  readonly misses: number
  readonly bytes: number
}

/** Largest share of the budget for one answer: a larger one would evict hundreds of others. */
const shareMax = 1 / 4

/**
 * An LRU cache of rendered answers with a budget of bytes. Keys name content (a block hash and the part rendered), so
 * entries never become stale.
 */
export class AnswerCache {
  /** Answers that were looked up and found, and not found. */
  #hits = 0
  #misses = 0
  /** Undefined if the budget is zero. */
  readonly #answers: LRUCache<string, Uint8Array> | undefined
  readonly #seenOnce: SeenOnceFilter | undefined

  /**
   * `bytesMax` limits the bytes of answers; keys and bookkeeping take about 200 bytes more per answer. With `filter`,
   * an answer is cached only when its key is requested a second time, for answers that are seldom repeated.
   */
  constructor(bytesMax: number, filter?: SeenOnceFilter) {
    const maxEntrySize = Math.floor(bytesMax * shareMax)
    this.#answers =
      maxEntrySize === 0
        ? undefined
        : new LRUCache({ maxSize: bytesMax, maxEntrySize, sizeCalculation: ({ length }) => length })
    this.#seenOnce = filter
  }

  /** The answer under `key`; renders it if it is not in the cache. Owned by the cache: never write to it. */
  getOrRender(key: string, render: () => string | Uint8Array): Uint8Array
  getOrRender(key: string, render: () => string | Uint8Array | undefined): Uint8Array | undefined
  getOrRender(key: string, render: () => string | Uint8Array | undefined): Uint8Array | undefined {
    const cached = this.read(key)
    if (cached !== undefined) return cached
    const rendered = render()
    if (rendered === undefined) return undefined
    // Rendered JSON is ASCII, which latin1 copies without checking each character.
    const answer = typeof rendered === 'string' ? Buffer.from(rendered, 'latin1') : rendered
    this.keep(key, answer)
    return answer
  }

  get use(): CacheUse {
    return { hits: this.#hits, misses: this.#misses, bytes: this.#answers?.calculatedSize ?? 0 }
  }

  /** Removes all answers, and sets the counts to zero. */
  clear(): void {
    this.#answers?.clear()
    this.#hits = 0
    this.#misses = 0
  }

  /** Whether the budget has room for any answer at all. */
  get keepsAny(): boolean {
    return this.#answers !== undefined
  }

  /** Counts an answer that was not looked up, because it cannot be in the cache. */
  countMiss(): void {
    this.#misses++
  }

  /** The answer under `key`, if it is in the cache. Owned by the cache: never write to it. */
  read(key: string): Uint8Array | undefined {
    const cached = this.#answers?.get(key)
    if (cached === undefined) this.#misses++
    else this.#hits++
    return cached
  }

  /**
   * Stores a non-empty `answer` under `key`, unless it takes more than {@link shareMax} of the budget. The cache
   * takes over its memory.
   */
  keep(key: string, answer: Uint8Array): void {
    if (this.#seenOnce?.admits(key) !== false) this.#answers?.set(key, answer)
  }
}
