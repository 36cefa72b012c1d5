import { LRUCache } from 'lru-cache'
import type { AskedBefore } from '../primitives/askedBefore.js'

/** What one answer may take of a budget: one that took more would push out hundreds that others ask for. */
const shareMax = 1 / 4

/**
 * Answers rendered once, kept within a budget of bytes; the least recently used leaves first. Keys name content
 * (a block hash and what was rendered of it), so nothing here can become wrong.
 */
export class AnswerCache {
  /** Undefined where nothing is to be held. */
  readonly #answers: LRUCache<string, Uint8Array> | undefined
  readonly #asked: AskedBefore | undefined

  /**
   * `bytesMax` bounds the answers' bytes; keys and bookkeeping come to about 200 bytes an answer more. With `asked`
   * an answer is held only when its key came before, for answers of which few are asked for again.
   */
  constructor(bytesMax: number, asked?: AskedBefore) {
    const maxEntrySize = Math.floor(bytesMax * shareMax)
    this.#answers =
      maxEntrySize === 0
        ? undefined
        : new LRUCache({ maxSize: bytesMax, maxEntrySize, sizeCalculation: ({ length }) => length })
    this.#asked = asked
  }

  /**
   * The answer under `key`, rendered now if it is not held; `render` is told whether it will be. Owned by the cache:
   * never write to it.
   */
  getOrRender(key: string, render: (isKept: boolean) => string | Uint8Array): Uint8Array
  getOrRender(
    key: string,
    render: (isKept: boolean) => string | Uint8Array | undefined,
  ): Uint8Array | undefined
  getOrRender(
    key: string,
    render: (isKept: boolean) => string | Uint8Array | undefined,
  ): Uint8Array | undefined {
    const held = this.read(key)
    if (held !== undefined) return held
    const isKept = this.#isKept(key)
    const rendered = render(isKept)
    if (rendered === undefined) return undefined
    // Rendered JSON is hex and ASCII punctuation; latin1 copies it without looking at each character.
    const answer = typeof rendered === 'string' ? Buffer.from(rendered, 'latin1') : rendered
    if (isKept) this.#answers?.set(key, answer)
    return answer
  }

  /** The answer under `key`, if it is held. Owned by the cache: never write to it. */
  read(key: string): Uint8Array | undefined {
    return this.#answers?.get(key)
  }

  /**
   * Holds `answer`, which is not empty, under `key`, unless it alone takes more than {@link shareMax} of the budget; the
   * cache owns it from now on.
   */
  keep(key: string, answer: Uint8Array): void {
    if (this.#isKept(key)) this.#answers?.set(key, answer)
  }

  #isKept(key: string): boolean {
    return this.#answers !== undefined && this.#asked?.ask(key) !== false
  }
}
