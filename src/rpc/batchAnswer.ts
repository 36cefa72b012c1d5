import type { AnswerBody } from './answer.js'

/** Collects the answers of a batch in order, as few pieces as possible, and watches their size. */
export class BatchAnswer {
  readonly #pieces: (string | Uint8Array)[] = []
  readonly #bytesMax: number
  #text = ''
  #bytes = 0
  #isFull = false

  /** `bytesMax` bounds all results together with their envelopes. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** True once a result did not fit: from then on no further call needs to run. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Adds a whole answer, or returns false because it does not fit. */
  add(body: AnswerBody): boolean {
    let bytes = 1
    if (typeof body === 'string') bytes += Buffer.byteLength(body)
    else
      for (const piece of body) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
    if (this.#bytes + bytes > this.#bytesMax) {
      this.#isFull = true
      return false
    }
    this.#append(body, bytes)
    return true
  }

  /** Adds an error answer. Every call gets its answer, so errors fit always; each has some hundred bytes. */
  addError(body: string): void {
    this.#append(body, Buffer.byteLength(body) + 1)
  }

  /** The body: an array of the answers, or nothing when there are none. */
  finish(): AnswerBody {
    if (this.#bytes === 0) return ''
    if (this.#pieces.length === 0) return `${this.#text}]`
    this.#pieces.push(`${this.#text}]`)
    return this.#pieces
  }

  #append(body: AnswerBody, bytes: number): void {
    this.#text += this.#bytes === 0 ? '[' : ','
    this.#bytes += bytes
    if (typeof body === 'string') {
      this.#text += body
      return
    }
    for (const piece of body) {
      if (typeof piece === 'string') this.#text += piece
      else {
        this.#pieces.push(this.#text, piece)
        this.#text = ''
      }
    }
  }
}
