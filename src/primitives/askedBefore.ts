/**
 * Which questions came before, in fixed memory. What is asked once is not worth an entry of a cache: entries that
 * nobody reads again push out those that are read, and the garbage collector copies each of them twice before it
 * lets it rest. With 1,200 proofs and estimates a second, each asked once, that held the edge up for 5 ms, twice a
 * second (node --trace-gc, 2 cores).
 *
 * Each question has the one cell that its hash names. Where two claim a cell the later one has it, and where two
 * have one hash the second passes for asked before: a cache may be a turn late or early, never wrong.
 */
export class AskedBefore {
  readonly #hashes: Uint32Array

  /** `places`: a power of two. */
  constructor(places = placesDefault) {
    this.#hashes = new Uint32Array(places)
  }

  /** Whether `question` came before, which from now on it has. */
  ask(question: string): boolean {
    const hash = hashText(question)
    const cell = hash & (this.#hashes.length - 1)
    if (this.#hashes[cell] === hash) return true
    this.#hashes[cell] = hash
    return false
  }
}

/** Room for what is asked in a second under load, in 256 KiB. */
const placesDefault = 2 ** 16

/** FNV-1a over the character codes, never zero, which is what an empty cell holds. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  // FNV carries upwards only, and the low bits choose the cell.
  const mixed = (hash ^ (hash >>> 15)) >>> 0
  return mixed === 0 ? 1 : mixed
}
