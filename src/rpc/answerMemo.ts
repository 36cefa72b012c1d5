/**
 * Remembers rendered results by the bytes of their question while a network's head stays the same. Bounded in
 * bytes, in two generations: a hit is one Map read; when the young generation is full it becomes the old one, and
 * what is still asked for moves back. Only what was asked before is remembered. Owns no knowledge of what may be remembered.
 *
 * A question is looked up in the request's own bytes: hashed four at a time and compared with those kept, 130 bytes
 * take 0.15 µs. Making a string of them, which the Map then hashes, takes 0.5 µs.
 */
import { randomInt } from 'node:crypto'
import { AskedBefore } from '../primitives/askedBefore.js'
import type { Question } from './envelope.js'
import type { Json } from './method.js'
import { resultInTail, resultTail } from './outcome.js'

/** A result as it is kept. */
export interface Remembered {
  readonly json: Json
  /** {@link resultTail} of it, so that a repeated answer is two pieces, however long. */
  readonly tail: Uint8Array
  /** Units that each repetition of the call costs, as the first one did. */
  readonly price: number
}

interface Entry extends Remembered {
  /** The question's text. */
  readonly question: Uint8Array
  readonly idAt: number
}

/** What an entry costs beside its question and result: three byte arrays, a small object and a Map slot, rounded up. */
const entryOverheadBytes = 512

export class AnswerMemo {
  readonly #asked = new AskedBefore()
  /** By the hash of their question: of two that have one hash the second is not kept, which costs time alone. */
  #young = new Map<number, Entry>()
  #old = new Map<number, Entry>()
  #youngBytes = 0
  #headGeneration: number
  readonly #generationBytesMax: number

  /** `bytesMax` bounds both generations together. */
  constructor(bytesMax: number, headGeneration: number) {
    this.#generationBytesMax = bytesMax / 2
    this.#headGeneration = headGeneration
  }

  /** The result kept for a question that stands in `bytes` as in {@link Lookup}, unless the head has changed since. */
  read(
    bytes: Uint8Array,
    start: number,
    idStart: number,
    idEnd: number,
    end: number,
    headGeneration: number,
  ): Remembered | undefined {
    if (headGeneration !== this.#headGeneration) {
      this.#clear(headGeneration)
      return undefined
    }
    const hash = hashBytes(bytes, idEnd, end, hashBytes(bytes, start, idStart, hashSeed))
    const young = this.#young.get(hash)
    const entry = young ?? this.#old.get(hash)
    if (entry === undefined) return undefined
    const { question, idAt } = entry
    if (idAt !== idStart - start || question.length - idAt !== end - idEnd) return undefined
    if (!hasBytes(bytes, start, question, 0, idAt)) return undefined
    if (!hasBytes(bytes, idEnd, question, idAt, question.length)) return undefined
    if (young === undefined) {
      this.#old.delete(hash)
      this.#insert(hash, entry)
    }
    return entry
  }

  /** Keeps the result of a call, if it was asked for before, holds for the current head and leaves room for others. */
  write({ text, idAt }: Question, json: Json, price: number, headGeneration: number): void {
    if (headGeneration !== this.#headGeneration || !this.#asked.ask(text)) return
    if (json.length > this.#generationBytesMax / 4) return
    const tail = resultTail(json)
    const question = new Uint8Array(Buffer.from(text, 'latin1'))
    // Text is kept as text too: answers of a batch are joined from it.
    const kept = typeof json === 'string' ? flatText(json) : resultInTail(tail)
    const entry = { question, idAt, json: kept, tail, price }
    if (entryBytes(entry) > this.#generationBytesMax / 4) return
    const hash = hashBytes(question, idAt, question.length, hashBytes(question, 0, idAt, hashSeed))
    this.#insert(hash, entry)
  }

  #insert(hash: number, entry: Entry): void {
    if (this.#young.has(hash)) return
    const bytes = entryBytes(entry)
    if (this.#youngBytes + bytes > this.#generationBytesMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(hash, entry)
    this.#youngBytes += bytes
  }

  #clear(headGeneration: number): void {
    this.#headGeneration = headGeneration
    this.#old = new Map()
    this.#young = new Map()
    this.#youngBytes = 0
  }
}

function entryBytes({ question, json, tail }: Entry): number {
  return entryOverheadBytes + question.length + tail.length + (typeof json === 'string' ? json.length : 0)
}

/** So that nobody outside can make up a question whose hash is another's, and keep that one from being remembered. */
const hashSeed = randomInt(2 ** 32)

/** The body of MurmurHash3 (32 bits); at the end up to three bytes singly. The result is a small integer to V8. */
function hashBytes(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed
  let at = start
  for (; at + 4 <= end; at += 4) {
    hash = mixed(
      hash,
      (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24),
    )
  }
  for (; at < end; at++) hash = mixed(hash, bytes[at] as number)
  return hash
}

function mixed(hash: number, word: number): number {
  const spread = Math.imul(word, 0xcc9e2d51)
  const turned = hash ^ Math.imul((spread << 15) | (spread >>> 17), 0x1b873593)
  return (Math.imul((turned << 13) | (turned >>> 19), 5) + 0xe6546b64) | 0
}

/** Whether `bytes` hold from `at` on what `expected` holds between `from` and `to`. There are as many bytes. */
function hasBytes(bytes: Uint8Array, at: number, expected: Uint8Array, from: number, to: number): boolean {
  const shift = at - from
  for (let i = from; i < to; i++) if (bytes[i + shift] !== expected[i]) return false
  return true
}

/**
 * A copy in memory of its own. A slice of a request keeps the whole request alive, and a string joined from pieces
 * keeps the pieces and is walked at every use.
 */
function flatText(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  return bytes.toString(bytes.length === text.length ? 'latin1' : 'utf8')
}
