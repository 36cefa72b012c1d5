/**
 * A cache of rendered results by method and the bytes of the parameters, valid while a network's head stays the
 * same. Limited in bytes, in two generations: a hit is one Map read; when the young generation is full it becomes the
 * old one, and entries that are used move back. Only repeated calls are stored, and those of quick methods are looked for
 * where enough of them repeat. The caller decides which results may be stored.
 *
 * A call is looked up in the request's own bytes, which are hashed and compared four at a time (scenario
 * `slot-cached`): byte by byte takes more than twice as long, and so does a string as key of a Map.
 */
import { randomInt } from 'node:crypto'
import { SeenOnceFilter } from '../../../primitives/seenOnceFilter.js'
import type { Json, NamedMethod } from '../method.js'
import { type CallLookup, cachedCallBytesMax } from '../reading/envelope.js'
import { resultInTail, resultTail } from './outcome.js'

export interface CachedAnswer {
  readonly json: Json
  /** Its {@link resultTail}, so that a repeated answer is two pieces, however long. */
  readonly tail: Uint8Array
  /** Units that each repetition costs, the same as the first call. */
  readonly price: number
  readonly method: string
  /** Where its method is counted; see `metrics/edgeCounts.ts`. */
  readonly slot: number
}

/** A call by the text of its parameters. */
export interface AskedCall {
  readonly hash: number
  /** In the layout of {@link readWords}. */
  readonly words: Int32Array
  /** Length of the text, which may differ between two with the same words. */
  readonly paramsBytes: number
}

type Entry = CachedAnswer & AskedCall

/**
 * Bytes of an entry besides its call and result: two arrays with memory outside the heap, a small object and a Map
 * slot. V8 counts 500, and the allocator needs more for the arrays.
 */
const entryOverheadBytes = 800

export class AnswerMemo implements CallLookup<CachedAnswer, AskedCall> {
  readonly #seenOnce = new SeenOnceFilter()
  /** Hash of the call → entry. Of two calls with the same hash the second is not stored. */
  #young = new Map<number, Entry>()
  #old = new Map<number, Entry>()
  #youngBytes = 0
  /** Of no head before the first look: there may be none yet. */
  #headGeneration = -1
  /** The call that was looked for last; its words are in {@link words}. */
  #hash = 0
  #paramsBytes = 0
  /** Whether it was looked for at all. */
  #isAsked = false
  /** By {@link NamedMethod.number}, of quick methods. */
  readonly #worths: LookupWorth[] = []
  readonly #generation: () => number
  readonly #generationBytesMax: number

  /** `generation` returns that of the head: answers are found as long as it is the same. */
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

  /** Undefined for a call that comes for the first time, and for others where answers that are kept are not used. */
  missed(): AskedCall | undefined {
    if (!this.#isAsked || !this.#seenOnce.admitsNumber(this.#hash) || !this.#seenOnce.keeps())
      return undefined
    return {
      hash: this.#hash,
      words: words.slice(0, wordCount),
      paramsBytes: this.#paramsBytes,
    }
  }

  /** Stores a result of the current head, unless that changed since the call was looked for, or it is too large. */
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
      // Text is also kept as text, because answers of a batch are joined from it.
      json: typeof json === 'string' ? flatText(json) : resultInTail(tail),
      tail,
      method,
      price,
      slot,
    }
    if (entryBytes(entry) <= this.#generationBytesMax / 4) this.#insert(entry)
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
 * Whether the calls of a quick method repeat so often that to look for their answers pays. To look takes an eighth of the
 * time of the whole call (scenario `cached-slots`), so where few are found, a part of the calls is looked for, until more
 * are found again.
 */
class LookupWorth {
  #looks = 0
  #found = 0
  /** Calls that are not looked for. */
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

/** Calls that are looked for before it is judged: blocks of an hour that are asked for three times are some 900. */
const looksMin = 1_024
/** A look takes an eighth of a quick call, and what it finds saves most of one. */
const foundOneIn = 8
/** So calls that begin to repeat are answered anew for half a second under load, 15,360 of them. */
const skipsPerLook = 15

function entryBytes({ words, json, tail }: Entry): number {
  return entryOverheadBytes + words.byteLength + tail.length + (typeof json === 'string' ? json.length : 0)
}

/** The current call: each four bytes are one word, and the last one to three bytes are one word each. */
const words = new Int32Array(cachedCallBytesMax)
let wordCount = 0

/** Random, so that nobody can construct a call with the hash of another, which would then not be stored. */
const hashSeed = randomInt(2 ** 31)

/** Reads a text into {@link words}; returns its hash, which begins with `seed`. */
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

/** A flat copy: a slice would keep the whole request in memory, a joined string its pieces. */
function flatText(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  return bytes.toString(bytes.length === text.length ? 'latin1' : 'utf8')
}
