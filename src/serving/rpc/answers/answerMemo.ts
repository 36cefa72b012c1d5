/**
 * A cache of rendered results by method and the bytes of the parameters, valid while a network's head stays the same.
 * It is limited in bytes and has two generations: a hit is one Map read. When the young generation is full it becomes
 * the old one, and entries that are used move back. Only repeated calls are stored. Calls of quick methods are looked
 * up only while enough of them repeat. The caller decides which results may be stored.
 *
 * The lookup hashes and compares the request's own bytes, four at a time (scenario `slot-cached`). Byte by byte takes
 * more than twice as long, and so does a string as key of a Map.
 */
import { randomInt } from 'node:crypto'
import { SeenOnceFilter } from '../../../primitives/seenOnceFilter.js'
import type { Json, NamedMethod } from '../method.js'
import { type CallLookup, cachedCallBytesMax } from '../reading/envelope.js'
import { resultInTail, resultTail } from './outcome.js'

export interface CachedAnswer {
  readonly json: Json
  /** The {@link resultTail}, so that a repeated answer of any length is two pieces. */
  readonly tail: Uint8Array
  /** Units of each repetition: the price of the first call. */
  readonly price: number
  readonly method: string
  /** The counter of its method; see `metrics/edgeCounts.ts`. */
  readonly slot: number
}

/** A call, identified by the text of its parameters. */
export interface AskedCall {
  readonly hash: number
  /** The parameters in the layout of {@link readWords}. */
  readonly words: Int32Array
  /** Length of the text: two texts of different lengths may have the same words. */
  readonly paramsBytes: number
}

type Entry = CachedAnswer & AskedCall

/**
 * Bytes of an entry besides its call and result: two arrays with memory outside the heap, a small object and a Map
 * slot. V8 counts 500; the allocator needs more for the arrays.
 */
const entryOverheadBytes = 800

export class AnswerMemo implements CallLookup<CachedAnswer, AskedCall> {
  #seenOnce = new SeenOnceFilter()
  /** Hash of the call → entry. The second of two calls with the same hash is not stored. */
  #young = new Map<number, Entry>()
  #old = new Map<number, Entry>()
  #youngBytes = 0
  /** −1 before the first lookup: there may be no head yet. */
  #headGeneration = -1
  /** Hash of the last call; its words are in {@link words}. */
  #hash = 0
  #paramsBytes = 0
  /** Whether the last call was looked up. */
  #isAsked = false
  /** Lookups of quick methods, by {@link NamedMethod.number}. */
  readonly #worths: LookupWorth[] = []
  readonly #generation: () => number
  readonly #generationBytesMax: number

  /** `generation` returns the head's generation: answers are valid while it is the same. */
  constructor(bytesMax: number, generation: () => number) {
    this.#generationBytesMax = bytesMax / 2
    this.#generation = generation
  }

  find(method: NamedMethod, bytes: Uint8Array, start: number, end: number): CachedAnswer | undefined {
    if (this.#generation() !== this.#headGeneration) this.#clear()
    const worth = method.isQuick ? this.#worthOf(method.number) : undefined
    this.#isAsked = worth?.looks() !== false
    if (!this.#isAsked) return undefined
    const paramsBytes = end - start
    const hash = readWords(bytes, start, end, mixed(mixed(hashSeed, method.number), paramsBytes))
    this.#hash = hash
    this.#paramsBytes = paramsBytes
    const young = this.#young.get(hash)
    const entry = young ?? this.#old.get(hash)
    if (entry === undefined) return undefined
    if (entry.method !== method.name || entry.paramsBytes !== paramsBytes) return undefined
    const { words: kept } = entry
    for (let i = 0; i < kept.length; i++) if (kept[i] !== words[i]) return undefined
    this.#seenOnce.used()
    worth?.found()
    if (young === undefined) {
      this.#old.delete(hash)
      this.#insert(entry)
    }
    return entry
  }

  /** Undefined for a call seen for the first time, and for other calls while stored answers are rarely used. */
  missed(): AskedCall | undefined {
    if (!this.#isAsked || !this.#seenOnce.admitsNumber(this.#hash) || !this.#seenOnce.keeps())
      return undefined
    return {
      hash: this.#hash,
      words: words.slice(0, wordCount),
      paramsBytes: this.#paramsBytes,
    }
  }

  /** Stores a result of the current head, unless the head changed since the lookup, or the result is too large. */
  write(
    asked: AskedCall,
    json: Json,
    { method, price, slot }: Pick<CachedAnswer, 'method' | 'price' | 'slot'>,
  ): void {
    const isLate = this.#generation() !== this.#headGeneration
    if (isLate || json.length > this.#generationBytesMax / 4) return
    const tail = resultTail(json)
    const entry: Entry = {
      ...asked,
      // Text is also stored as text, because answers of a batch are joined from it.
      json: typeof json === 'string' ? flatText(json) : resultInTail(tail),
      tail,
      method,
      price,
      slot,
    }
    if (entryBytes(entry) <= this.#generationBytesMax / 4) this.#insert(entry)
  }

  /** Removes all answers, and forgets which calls came before. Call it while there is a head. */
  forget(): void {
    this.#clear()
    this.#seenOnce = new SeenOnceFilter()
    this.#worths.length = 0
  }

  #worthOf(method: number): LookupWorth {
    this.#worths[method] ??= new LookupWorth()
    return this.#worths[method] as LookupWorth
  }

  #insert(entry: Entry): void {
    if (this.#young.has(entry.hash)) return
    const bytes = entryBytes(entry)
    if (this.#youngBytes + bytes > this.#generationBytesMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(entry.hash, entry)
    this.#youngBytes += bytes
  }

  #clear(): void {
    this.#headGeneration = this.#generation()
    this.#old = new Map()
    this.#young = new Map()
    this.#youngBytes = 0
  }
}

/**
 * Decides whether calls of a quick method repeat so often that lookups are worth their time. A lookup takes an eighth
 * of the whole call's time (scenario `cached-slots`). If few calls repeat, only some are looked up, until more repeat
 * again.
 */
class LookupWorth {
  #looks = 0
  #found = 0
  /** Remaining calls that are not looked up. */
  #skips = 0

  looks(): boolean {
    if (this.#skips > 0) {
      this.#skips--
      return false
    }
    if (++this.#looks > looksMin) {
      if (this.#found * foundOneIn < looksMin) this.#skips = skipsPerLook * looksMin
      this.#looks = 0
      this.#found = 0
    }
    return true
  }

  found(): void {
    this.#found++
  }
}

/** Lookups before each decision: an hour of blocks, each requested three times, gives about 900. */
const looksMin = 1_024
/** A lookup takes an eighth of a quick call's time, and a hit saves most of it. */
const foundOneIn = 8
/** Calls that begin to repeat are not stored for half a second under load: 15,360 of them. */
const skipsPerLook = 15

function entryBytes({ words, json, tail }: Entry): number {
  return entryOverheadBytes + words.byteLength + tail.length + (typeof json === 'string' ? json.length : 0)
}

/** The current call: each four bytes are one word, and the last one to three bytes are one word each. */
const words = new Int32Array(cachedCallBytesMax)
let wordCount = 0

/** Random, so that nobody can construct a call with the hash of another; that other call would not be stored. */
const hashSeed = randomInt(2 ** 31)

/** Reads bytes into {@link words}; returns their hash, which begins with `seed`. */
function readWords(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed
  let count = 0
  let at = start
  for (; at + 4 <= end; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    words[count++] = word
    hash = mixed(hash, word)
  }
  for (; at < end; at++) {
    const word = bytes[at] as number
    words[count++] = word
    hash = mixed(hash, word)
  }
  wordCount = count
  return hash
}

/** Rotated before the multiplication, because a product carries only upwards. */
function mixed(hash: number, word: number): number {
  return Math.imul(((hash << 13) | (hash >>> 19)) ^ word, 0x9e3779b1)
}

/** A flat copy: a slice would keep the whole request in memory, and a joined string its pieces. */
function flatText(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  return bytes.toString(bytes.length === text.length ? 'latin1' : 'utf8')
}
