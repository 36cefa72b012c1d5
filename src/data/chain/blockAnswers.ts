import { type Hash32, latin1Key } from '../../primitives/bytes.js'
import type { JsonBytes } from '../../primitives/jsonBytes.js'
import { SeenOnceFilter } from '../../primitives/seenOnceFilter.js'
import { AnswerCache, type CacheUse } from './answerCache.js'

/**
 * Answers that are kept when they are asked for a second time, among so many. To keep each block of which the header
 * and ten hashes are asked for once costs three times what writing it does, most of it the garbage collector's (scenario
 * `cached-blocks` beside `block-random`).
 */
const askedAnswers = 2 ** 14

/** What an answer shows of a block, each with a number of its own. */
const kinds = { block: 1, 'full block': 2, receipts: 3, 'access list': 4 } as const

/** Rendered answers about blocks, kept when they are requested a second time. */
export class BlockAnswers {
  readonly #answers: AnswerCache
  readonly #seenOnce = new SeenOnceFilter(askedAnswers)
  /** Key of the answer that was not found last, if it is to be kept. */
  #missed: string | undefined

  constructor(bytesMax: number) {
    this.#answers = new AnswerCache(bytesMax)
  }

  get use(): CacheUse {
    return this.#answers.use
  }

  /**
   * An answer, if it is kept. Owned by the cache: never write to it. What was never asked for is not kept, nor looked for;
   * an answer whose place the filter gave to others is written once more.
   */
  find(hash: Hash32, kind: keyof typeof kinds): Uint8Array | undefined {
    this.#missed = undefined
    if (!this.#answers.keepsAny || !this.#seenOnce.admitsHash(hash, kinds[kind])) {
      this.#answers.countMiss()
      return undefined
    }
    const key = kinds[kind] + latin1Key(hash)
    const held = this.#answers.read(key)
    if (held !== undefined) this.#seenOnce.used()
    else if (this.#seenOnce.keeps()) this.#missed = key
    return held
  }

  /**
   * What was written in place of the answer that was not found last. Memory of one that is not kept is used again: without
   * a budget that is a third of what receipts take, most of it the collector's.
   */
  finish(json: JsonBytes): Uint8Array {
    const key = this.#missed
    if (key === undefined) return json.finish(true)
    const answer = json.finish()
    this.#answers.keep(key, answer)
    return answer
  }
}
