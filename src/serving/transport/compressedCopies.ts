/**
 * Compressed copies of answers, each made once. Owns their memory, their names, and the queue for zlib's threads, so
 * that compressing never holds the edge. Does not own what of an answer is copied, nor what is sent meanwhile.
 */
import { createHash, webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Encoding } from './acceptEncoding.js'
import { type Deflated, describeDeflated, gzipMember } from './gzipMember.js'

/** Shortest answer that is worth it: a shorter one goes in one packet anyway. */
export const compressedBytesMin = 1024

/** What a copy takes besides its bytes: its name, an entry of the cache, small objects. */
const copyOverheadBytes = 500

/** Largest share of the budget for one copy. */
const shareMax = 1 / 4

/** Copies made at once: half of the threads that libuv has for this, for files and for names of hosts. */
const runningMax = 2

/** Bytes that wait to be compressed: a tenth of a second of work. */
const waitingBytesMax = 4 * 2 ** 20

/** Longest bytes that are hashed right here. */
const hashedHereMax = 16 * 1024

/** A block of 174 KB becomes 32 KB in some milliseconds. Brotli's highest level takes a hundred times as long. */
const brotliOptions: zlib.BrotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }

const deflateRaw = promisify<Uint8Array, Buffer>(zlib.deflateRaw)
const brotliCompress = promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliCompress)
/** Since Node.js 22.15. */
const { zstdCompress } = zlib as {
  zstdCompress?: (bytes: Uint8Array, done: (error: Error | null, result: Buffer) => void) => void
}
const zstd = zstdCompress && promisify(zstdCompress)

/** What this Node.js can make, the one with the shortest copies first. */
export const encodings: readonly Encoding[] = zstd === undefined ? ['br', 'gzip'] : ['br', 'zstd', 'gzip']

/** A copy: of `gzip` what a member is made from, otherwise the bytes to send. */
type Copy = Deflated | Uint8Array

export class CompressedCopies {
  /** Undefined where there is no budget, so that nothing is compressed. */
  readonly #copies: LRUCache<string, Copy> | undefined
  /** Bytes that were named before → their name, or its promise. */
  readonly #names = new WeakMap<Uint8Array, string | Promise<string>>()
  /** Bytes whose copies the budget has no room for. */
  readonly #tooLong = new WeakSet<Uint8Array>()
  /** Copies under way, by name. */
  readonly #underWay = new Map<string, Promise<Copy | undefined>>()
  readonly #waiting: (() => void)[] = []
  #waitingBytes = 0
  #running = 0

  constructor(bytesMax: number) {
    const maxEntrySize = Math.floor(bytesMax * shareMax)
    const sizeCalculation = (copy: Copy) =>
      copyOverheadBytes + (copy instanceof Uint8Array ? copy : copy.deflated).length
    this.#copies =
      maxEntrySize === 0 ? undefined : new LRUCache({ maxSize: bytesMax, maxEntrySize, sizeCalculation })
  }

  get bytes(): number {
    return this.#copies?.calculatedSize ?? 0
  }

  /** Encodings in which answers may go. */
  get offered(): readonly Encoding[] {
    return this.#copies === undefined ? [] : encodings
  }

  /** A name of what `bytes` contain, from their SHA-256; no two contents have the same. */
  nameOf(bytes: Uint8Array): string | Promise<string> {
    let name = this.#names.get(bytes)
    if (name !== undefined) return name
    if (bytes.length <= hashedHereMax) name = createHash('sha256').update(bytes).digest('base64url')
    else {
      name = webcrypto.subtle.digest('SHA-256', bytes).then((digest) => {
        const text = Buffer.from(digest).toString('base64url')
        this.#names.set(bytes, text)
        return text
      })
    }
    this.#names.set(bytes, name)
    return name
  }

  /** The pieces of `bytes` as they are sent in this encoding; undefined while too many others wait. */
  async compress(bytes: Uint8Array, encoding: Encoding): Promise<readonly Uint8Array[] | undefined> {
    const copy = await this.#copyOf(bytes, encoding)
    return copy === undefined || copy instanceof Uint8Array ? copy && [copy] : gzipMember('', copy)
  }

  /** What `bytes` (always the same object) are as DEFLATE, if made before; otherwise it is begun for the next call. */
  deflated(bytes: Uint8Array): Deflated | undefined {
    if (this.#copies === undefined) return undefined
    const name = this.#names.get(bytes)
    if (typeof name === 'string') {
      const copy = this.#copies.get(name)
      if (copy !== undefined) return copy as Deflated
      if (this.#underWay.has(name)) return undefined
    }
    if (!(name instanceof Promise)) this.#copyOf(bytes, 'gzip').catch(() => undefined)
    return undefined
  }

  async #copyOf(bytes: Uint8Array, encoding: Encoding): Promise<Copy | undefined> {
    if (this.#tooLong.has(bytes)) return undefined
    const contentName = await this.nameOf(bytes)
    const name = encoding === 'gzip' ? contentName : `${contentName}.${encoding}`
    return this.#copies?.get(name) ?? this.#underWay.get(name) ?? this.#begin(name, bytes, encoding)
  }

  #begin(name: string, bytes: Uint8Array, encoding: Encoding): Promise<Copy | undefined> | undefined {
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > waitingBytesMax) return undefined
    const made = this.#make(bytes, encoding).then((copy) => {
      this.#underWay.delete(name)
      if (copy === undefined) return undefined
      this.#copies?.set(name, copy)
      if (this.#copies?.has(name) !== true) this.#tooLong.add(bytes)
      return copy
    })
    this.#underWay.set(name, made)
    return made
  }

  /** Undefined where zlib fails, as without memory. Never rejects. */
  async #make(bytes: Uint8Array, encoding: Encoding): Promise<Copy | undefined> {
    if (this.#running === runningMax) {
      this.#waitingBytes += bytes.length
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
      this.#waitingBytes -= bytes.length
    } else this.#running++
    try {
      return await compressBytes(bytes, encoding)
    } catch {
      return undefined
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

async function compressBytes(bytes: Uint8Array, encoding: Encoding): Promise<Copy | undefined> {
  if (encoding === 'br') return await brotliCompress(bytes, brotliOptions)
  if (encoding === 'zstd') return await zstd?.(bytes)
  return describeDeflated(bytes, await deflateRaw(bytes))
}
