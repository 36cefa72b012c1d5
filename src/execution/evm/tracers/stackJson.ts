/**
 * The operand stack of one instruction after another, as JSON. Most words of a stack stay from one instruction to the
 * next, so only the others are written again. Writing all of them takes two fifths of a trace (scenario
 * `geth-opcodes`).
 */
import { ascii, closeBracket, comma, JsonBytes } from '../../../primitives/jsonBytes.js'
import type { KernelStep } from '../engine/kernelTrace.js'

const wordBytes = 32
/** Parts of a word that are compared at once: 32 bits each. */
const wordParts = 8
/** The most words of a stack: yellow paper, section 9.1. */
const wordsMax = 1024

const start = ascii(',"stack":[')

export class StackJson {
  readonly #json = new JsonBytes(4096)
  /** The words that were written last, as the kernel stores them. */
  readonly #written = new Int32Array(wordsMax * wordParts)
  /** For each of these words the end of its text. */
  readonly #ends = new Uint32Array(wordsMax)
  #words = 0
  readonly #startLength: number

  constructor() {
    this.#json.constant(start)
    this.#startLength = this.#json.length
  }

  /** `,"stack":["0x…",…]` before the instruction; a view, valid until the next call. */
  of({ stackWords, stackAt, linear, parts }: KernelStep): Uint8Array {
    const json = this.#json
    const firstPart = stackAt / Int32Array.BYTES_PER_ELEMENT
    const kept = this.#countKept(stackWords, parts, firstPart)
    json.cut(kept > 0 ? (this.#ends[kept - 1] as number) : this.#startLength)
    for (let i = kept; i < stackWords; i++) {
      if (i > 0) json.constant(comma)
      json.quantityOfWord(linear, stackAt + i * wordBytes)
      this.#ends[i] = json.length
    }
    const written = this.#written
    for (let i = kept * wordParts; i < stackWords * wordParts; i++)
      written[i] = parts[firstPart + i] as number
    this.#words = stackWords
    json.constant(closeBracket)
    return json.written
  }

  /** How many words at the bottom are the same as the last time. */
  #countKept(stackWords: number, parts: Int32Array, firstPart: number): number {
    const written = this.#written
    const most = Math.min(stackWords, this.#words) * wordParts
    let same = 0
    while (same < most && parts[firstPart + same] === written[same]) same++
    return Math.floor(same / wordParts)
  }
}
