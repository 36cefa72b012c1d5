import { type Hash32, latin1Key } from '../../primitives/bytes.js'
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

  constructor(bytesMax: number) {
    this.#answers = new AnswerCache(bytesMax)
  }

  get use(): CacheUse {
    return this.#answers.use
  }

  /** An answer; `render` gets whether it will be kept. Owned by the cache: never write to it. */
  getOrRender(
    hash: Hash32,
    kind: keyof typeof kinds,
    render: (isKept: boolean) => Uint8Array | undefined,
  ): Uint8Array | undefined {
    // What was never asked for is not kept, nor looked for. An answer whose place the filter gave to
    // others is rendered once more. Memory of an answer that is not kept is used again: without a budget that is a third
    // of what receipts take, most of it the collector's.
    if (!this.#answers.keepsAny || !this.#seenOnce.admitsHash(hash, kinds[kind])) {
      this.#answers.countMiss()
      return render(false)
    }
    const key = kinds[kind] + latin1Key(hash)
    const held = this.#answers.read(key)
    if (held !== undefined) this.#seenOnce.used()
    if (held !== undefined || !this.#seenOnce.keeps()) return held ?? render(false)
    const answer = render(true)
    if (answer !== undefined) this.#answers.keep(key, answer)
    return answer
  }
}
