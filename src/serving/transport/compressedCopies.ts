/**
 * Compressed copies of answers, each made once. Owns their memory, their names, and the queue for zlib's threads, so
 * that compressing never blocks the edge. Does not own the choice of the copied part, nor the answer sent meanwhile.
 */
import { createHash, webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Encoding } from './acceptEncoding.js'
import { type Deflated, describeDeflated, gzipMember } from './gzipMember.js'

/** Minimum length of a compressed answer: a shorter one fits one packet anyway. */
export const compressedBytesMin = 1024

/** Memory of a copy besides its bytes: its name, an entry of the cache, small objects. */
const copyOverheadBytes = 500

/** Maximum share of the budget for one copy. */
const shareMax = 1 / 4

/** Copies made at once: half of libuv's threads, which also serve files and host names. */
const runningMax = 2

/** Bytes that wait to be compressed: a tenth of a second of work. */
const waitingBytesMax = 4 * 2 ** 20

/** Maximum length that is hashed on this thread. */
const hashedHereMax = 16 * 1024

/** A block of 174 KB becomes 32 KB in some milliseconds. Brotli's highest level takes a hundred times as long. */
const brotliOptions: zlib.BrotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }

const deflateRaw = promisify<Uint8Array, Buffer>(zlib.deflateRaw)
const brotliCompress = promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliCompress)
/** Function of Node.js 22.15 and later. */
const { zstdCompress } = zlib as {
  zstdCompress?: (bytes: Uint8Array, done: (error: Error | null, result: Buffer) => void) => void
}
const zstd = zstdCompress && promisify(zstdCompress)

/** The encodings that this Node.js supports, shortest copies first. */
export const encodings: readonly Encoding[] = zstd === undefined ? ['br', 'gzip'] : ['br', 'zstd', 'gzip']

/** A copy: for `gzip` the parts of a member, otherwise the bytes to send. */
type Copy = Deflated | Uint8Array

export class CompressedCopies {
  /** Undefined without a budget: nothing is compressed then. */
  readonly #copies: LRUCache<string, Copy> | undefined
  /** Bytes with a known name → the name, or its promise. */
  readonly #names = new WeakMap<Uint8Array, string | Promise<string>>()
  /** Bytes whose copies exceed the budget. */
  readonly #tooLong = new WeakSet<Uint8Array>()
  /** Running copies, by name. */
  readonly #inFlight = new Map<string, Promise<Copy | undefined>>()
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

  get offered(): readonly Encoding[] {
    return this.#copies === undefined ? [] : encodings
  }

  /** A name for the contents of `bytes`, from their SHA-256; different contents have different names. */
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

  /** The pieces of `bytes` in this encoding; undefined while too many bytes wait. */
  async compress(bytes: Uint8Array, encoding: Encoding): Promise<readonly Uint8Array[] | undefined> {
    const copy = await this.#copyOf(bytes, encoding)
    return copy === undefined || copy instanceof Uint8Array ? copy && [copy] : gzipMember('', copy)
  }

  /**
   * The DEFLATE copy of `bytes` (always the same object), if it exists; otherwise starts making it for a later call.
   */
  deflated(bytes: Uint8Array): Deflated | undefined {
    if (this.#copies === undefined) return undefined
    const name = this.#names.get(bytes)
    if (typeof name === 'string') {
      const copy = this.#copies.get(name)
      if (copy !== undefined) return copy as Deflated
      if (this.#inFlight.has(name)) return undefined
    }
    if (!(name instanceof Promise)) this.#copyOf(bytes, 'gzip').catch(() => undefined)
    return undefined
  }

  async #copyOf(bytes: Uint8Array, encoding: Encoding): Promise<Copy | undefined> {
    if (this.#tooLong.has(bytes)) return undefined
    const contentName = await this.nameOf(bytes)
    const name = encoding === 'gzip' ? contentName : `${contentName}.${encoding}`
    return this.#copies?.get(name) ?? this.#inFlight.get(name) ?? this.#begin(name, bytes, encoding)
  }

  #begin(name: string, bytes: Uint8Array, encoding: Encoding): Promise<Copy | undefined> | undefined {
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > waitingBytesMax) return undefined
    const made = this.#make(bytes, encoding).then((copy) => {
      this.#inFlight.delete(name)
      if (copy === undefined) return undefined
      this.#copies?.set(name, copy)
      if (this.#copies?.has(name) !== true) this.#tooLong.add(bytes)
      return copy
    })
    this.#inFlight.set(name, made)
    return made
  }

  /** Undefined if zlib fails, for example without memory. Never rejects. */
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
