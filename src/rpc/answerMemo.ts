/**
 * Remembers rendered results by the text of their question while a network's head stays the same. Bounded in
 * bytes, in two generations: a hit is one Map read; when the young generation is full it becomes the old one, and
 * what is still asked for moves back. Only what was asked before is remembered. Owns no knowledge of what may be remembered.
 */
import { AskedBefore } from '../primitives/askedBefore.js'
import type { Json } from './method.js'

/** A result as it is kept. */
export interface Remembered {
  readonly json: Json
  /** Units that each repetition of the call costs, as the first one did. */
  readonly price: number
}

/** What an entry costs beside its text and result: two strings' headers, a small object and a Map slot, rounded up. */
const entryOverheadBytes = 192

export class AnswerMemo {
  readonly #asked = new AskedBefore()
  #young = new Map<string, Remembered>()
  #old = new Map<string, Remembered>()
  #youngBytes = 0
  #headGeneration: number
  readonly #generationBytesMax: number

  /** `bytesMax` bounds both generations together. */
  constructor(bytesMax: number, headGeneration: number) {
    this.#generationBytesMax = bytesMax / 2
    this.#headGeneration = headGeneration
  }

  /** The result kept for `key`, unless the head has changed since. */
  read(key: string, headGeneration: number): Remembered | undefined {
    if (headGeneration !== this.#headGeneration) {
      this.#clear(headGeneration)
      return undefined
    }
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) {
      this.#old.delete(key)
      this.#insert(flatText(key), old)
    }
    return old
  }

  /** Keeps the result of the call that `key` tells, if it was asked for before, holds for the current head and leaves room for others. */
  write(key: string, json: Json, price: number, headGeneration: number): void {
    if (headGeneration !== this.#headGeneration || !this.#asked.ask(key)) return
    const flat = typeof json === 'string' ? flatText(json) : json
    if (entryBytes(key, flat) > this.#generationBytesMax / 4) return
    this.#insert(flatText(key), { json: flat, price })
  }

  #insert(key: string, remembered: Remembered): void {
    if (this.#young.has(key)) return
    const bytes = entryBytes(key, remembered.json)
    if (this.#youngBytes + bytes > this.#generationBytesMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(key, remembered)
    this.#youngBytes += bytes
  }

  #clear(headGeneration: number): void {
    this.#headGeneration = headGeneration
    this.#old = new Map()
    this.#young = new Map()
    this.#youngBytes = 0
  }
}

function entryBytes(key: string, json: Json): number {
  return entryOverheadBytes + key.length + json.length
}

/**
 * A copy in memory of its own. A slice of a request keeps the whole request alive, and a string joined from pieces
 * keeps the pieces and is walked at every use.
 */
function flatText(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  return bytes.toString(bytes.length === text.length ? 'latin1' : 'utf8')
}
