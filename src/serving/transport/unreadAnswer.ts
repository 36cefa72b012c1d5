/**
 * Counts the bytes of an HTTP answer that its client has not read yet, together with those of arriving bodies. Owns the
 * counts; the exchange owns the connection.
 */
import type { Answer } from '../rpc/answers/answer.js'
import { longBytesMin } from './answerBytes.js'
import type { Total } from './totals.js'

/** Shared by all answers of an edge. */
export interface UnreadPool {
  readonly bufferedBytesMax: number
  /** Bytes of arriving bodies and of unread answers. */
  readonly bufferedBytes: Total
  /**
   * Pieces of unread answers → number of these answers. Each piece is in memory once, whether a cache has it or not.
   */
  readonly sharedPieces: Map<Uint8Array, number>
  /** Number of unfinished exchanges. */
  readonly open: number
}

export class UnreadAnswer {
  readonly #pool: UnreadPool
  /** Ends the connection; called if all together have too many bytes and this answer has more than the average. */
  readonly #cut: () => void
  readonly #shared: Uint8Array[] = []
  #bytes = 0
  #isOver = false

  constructor(pool: UnreadPool, cut: () => void) {
    this.#pool = pool
    this.#cut = cut
  }

  /** Counts an answer that was not sent at once, including its later parts. */
  count({ body, rest }: Pick<Answer, 'body' | 'rest'>): void {
    let bytes = 0
    for (const piece of typeof body === 'string' ? [body] : body) {
      if (typeof piece === 'string') bytes += Buffer.byteLength(piece)
      else if (piece.length < longBytesMin) bytes += piece.length
      else this.#share(piece)
    }
    this.#add(bytes)
    rest?.stream.countWaiting((change) => this.#add(change))
  }

  /** Removes the answer's bytes from the count: the answer is read, or the connection is over. */
  over(): void {
    this.#isOver = true
    this.#pool.bufferedBytes.add(-this.#bytes)
    const { sharedPieces } = this.#pool
    for (const piece of this.#shared) {
      const others = (sharedPieces.get(piece) ?? 1) - 1
      if (others > 0) sharedPieces.set(piece, others)
      else {
        sharedPieces.delete(piece)
        this.#pool.bufferedBytes.add(-piece.length)
      }
    }
  }

  /** Counts a long piece, which is not copied. */
  #share(piece: Uint8Array): void {
    const { sharedPieces, bufferedBytes } = this.#pool
    const others = sharedPieces.get(piece) ?? 0
    sharedPieces.set(piece, others + 1)
    this.#shared.push(piece)
    if (others === 0) bufferedBytes.add(piece.length)
  }

  #add(change: number): void {
    if (this.#isOver) return
    const { bufferedBytes, bufferedBytesMax, open } = this.#pool
    this.#bytes += change
    if (bufferedBytes.add(change) <= bufferedBytesMax || change < 0) return
    const shared = this.#shared.reduce((sum, piece) => sum + piece.length, 0)
    if (this.#bytes + shared > bufferedBytesMax / open) this.#cut()
  }
}
