/**
 * Remembers in fixed memory which requests came before, so that a cache keeps only answers to repeated requests (the
 * "doorkeeper" of TinyLFU). Answers to one-time requests would evict answers in use. The garbage collector would also
 * copy each of them twice: 1,200 proofs and estimates per second give pauses of 5 ms.
 *
 * The hash of a request selects a pair of cells, which store the last two requests of the pair. Two requests with the
 * same hash count as a repetition. So an answer may enter the cache one request too late or too early, which is never
 * wrong.
 */
export class SeenOnceFilter {
  readonly #hashes: Uint32Array
  /** One in this many of the admissible entries is kept. */
  #keptOneIn = 1
  #passed = 0
  /** Entries kept since the last adjustment, and how often any entry was used meanwhile. */
  #kept = 0
  #uses = 0

  /** `places` is the number of cells, a power of two and at least 2. */
  constructor(places = placesDefault) {
    this.#hashes = new Uint32Array(places)
  }

  /** Whether `question` came before; remembers it. */
  admits(question: string): boolean {
    return this.admitsNumber(hashText(question))
  }

  /**
   * Like {@link admits}, but for a request that is identified by a hash of 32 bytes and a small number. Costs a tenth
   * of making a text of these.
   */
  admitsHash(hash: Uint8Array, what: number): boolean {
    const [a, b, c, d] = hash as unknown as [number, number, number, number]
    return this.#admits(notZero((a | (b << 8) | (c << 16) | (d << 24)) ^ what))
  }

  /** Like {@link admits}, but for a request that is named by a hash of 32 bits. */
  admitsNumber(hash: number): boolean {
    // Products carry only upwards, so the high bits are mixed into the low ones, which choose the cell.
    return this.#admits(notZero(hash ^ (hash >>> 15)))
  }

  /** Notes that an entry of the cache was used. */
  used(): void {
    this.#uses++
  }

  /**
   * Whether an entry for a repeated request must be kept: all are, as long as each is used once on average. If more
   * entries are requested in turn than there is room for, they would be evicted before they are used. Keeping each
   * would cost more than computing it again (scenario `cached-blocks`). So fewer are kept, and stay until they are
   * used.
   */
  keeps(): boolean {
    if (++this.#passed < this.#keptOneIn) return false
    this.#passed = 0
    if (++this.#kept === keptPerLook) {
      const wanted = this.#uses < this.#kept ? this.#keptOneIn * step : this.#keptOneIn / step
      this.#keptOneIn = Math.min(Math.max(wanted, 1), keptOneInMax)
      this.#kept = 0
      this.#uses = 0
    }
    return true
  }

  #admits(hash: number): boolean {
    const hashes = this.#hashes
    const newer = 2 * (hash & (hashes.length / 2 - 1))
    const older = newer + 1
    if (hashes[newer] === hash || hashes[older] === hash) return true
    hashes[older] = hashes[newer] as number
    hashes[newer] = hash
    return false
  }
}

/** A moderate number of entries in turn, such as the blocks of an hour, are all kept before the first adjustment. */
const keptPerLook = 1_024
const step = 8
/** With more, a cache would adapt too slowly to new requests. */
const keptOneInMax = 512

/** Room for the requests of a second under load; 256 KiB. */
const placesDefault = 2 ** 16

/** FNV-1a over the character codes. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** The hash as an unsigned number of 32 bits, but not zero, which means an empty cell. */
function notZero(hash: number): number {
  return hash === 0 ? 1 : hash >>> 0
}
