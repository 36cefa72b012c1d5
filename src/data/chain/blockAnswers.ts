import { type Hash32, latin1Key } from '../../primitives/bytes.js'
import type { JsonBytes } from '../../primitives/jsonBytes.js'
import { SeenOnceFilter } from '../../primitives/seenOnceFilter.js'
import { AnswerCache, type CacheUse } from './answerCache.js'

/**
 * Number of remembered requests: an answer is cached at its second request among these. If a client requests the header
 * and ten hashes of each block once, caching each answer costs three times as much as writing it. Most of that is
 * garbage collection (scenario `cached-blocks` beside `block-random`).
 */
const askedAnswers = 2 ** 14

/** Kinds of answers about a block, each with its own number. */
const kinds = { block: 1, 'full block': 2, receipts: 3, 'access list': 4 } as const

/** Rendered answers about blocks, cached at their second request. */
export class BlockAnswers {
  readonly #answers: AnswerCache
  #seenOnce = new SeenOnceFilter(askedAnswers)
  /** Key of the last answer that was not found, if it is to be cached. */
  #missed: string | undefined

  constructor(bytesMax: number) {
    this.#answers = new AnswerCache(bytesMax)
  }

  get use(): CacheUse {
    return this.#answers.use
  }

  /** Like {@link AnswerCache.clear}, but forgets the requests, too. */
  clear(): void {
    this.#answers.clear()
    this.#seenOnce = new SeenOnceFilter(askedAnswers)
  }

  /**
   * A cached answer. Owned by the cache: never write to it. An answer that was never requested is not looked up. If the
   * filter dropped an answer for others, it is written once more.
   */
  find(hash: Hash32, kind: keyof typeof kinds): Uint8Array | undefined {
    this.#missed = undefined
    if (!this.#answers.keepsAny || !this.#seenOnce.admitsHash(hash, kinds[kind])) {
      this.#answers.countMiss()
      return undefined
    }
    const key = kinds[kind] + latin1Key(hash)
    const cached = this.#answers.read(key)
    if (cached !== undefined) this.#seenOnce.used()
    else if (this.#seenOnce.keeps()) this.#missed = key
    return cached
  }

  /**
   * Finishes the answer written after the last miss, and caches it if due. The memory of an uncached answer is reused.
   * With a budget of zero this saves a third of the time for receipts, mostly garbage collection.
   */
  finish(json: JsonBytes): Uint8Array {
    const key = this.#missed
    if (key === undefined) return json.finish(true)
    const answer = json.finish()
    this.#answers.keep(key, answer)
    return answer
  }
}
