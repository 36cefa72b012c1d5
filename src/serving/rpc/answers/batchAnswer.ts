import type { AnswerBody } from './answer.js'

/**
 * A result stays where the error in its place would save no more: so short are the ids and hashes by which a client
 * knows what its calls have done, such as a subscription. All of 1,000 calls are a hundredth of a batch's answer.
 */
const keptBytesMax = 256

/** Collects the answers of a batch, in any order, and limits their size. */
export class BatchAnswer {
  readonly #bytesMax: number
  /** Call index → answer; undefined for a notification and for an answer that is not ready. */
  readonly #bodies: (AnswerBody | undefined)[]
  /** Bytes of each result, zero for an error. Results of notifications count although they are not sent. */
  readonly #resultBytes: Uint32Array
  #bytes = 0

  constructor(calls: number, bytesMax: number) {
    this.#bodies = new Array(calls).fill(undefined)
    this.#resultBytes = new Uint32Array(calls)
    this.#bytesMax = bytesMax
  }

  /** Whether the results do not fit, so that no further call needs to run. */
  get isFull(): boolean {
    return this.#bytes > this.#bytesMax
  }

  putResult(index: number, body: AnswerBody): void {
    const bytes = bodyBytes(body) + 1
    this.#bodies[index] = body
    this.#resultBytes[index] = bytes
    this.#bytes += bytes
  }

  /** Counts the result of a notification, which takes memory and time like any other. */
  countUnsent(index: number, bytes: number): void {
    this.#resultBytes[index] = bytes
    this.#bytes += bytes
  }

  /** Adds an error answer. Every call gets an answer, so errors, of about a hundred bytes each, always fit. */
  putError(index: number, body: string): void {
    this.#bodies[index] = body
    this.#bytes += Buffer.byteLength(body) + 1
  }

  /**
   * The body: an array of the answers in order, in as few pieces as possible; empty where there are none. From the
   * first result that does not fit, `renderTooLarge` replaces each result, but for those that are hardly longer.
   */
  finish(renderTooLarge: (index: number) => string): AnswerBody {
    const isFull = this.isFull
    const pieces: (string | Uint8Array)[] = []
    let text = ''
    let bytes = 0
    let isOver = false
    for (const [index, body] of this.#bodies.entries()) {
      if (body === undefined) {
        bytes += this.#resultBytes[index] as number
        continue
      }
      text += text === '' && pieces.length === 0 ? '[' : ','
      let fitting = body
      if (isFull) {
        const resultBytes = this.#resultBytes[index] as number
        isOver ||= bytes + resultBytes > this.#bytesMax
        if (isOver && resultBytes > 0) fitting = this.#replaced(index, body, renderTooLarge(index))
        bytes += bodyBytes(fitting) + 1
      }
      if (typeof fitting === 'string') text += fitting
      else {
        for (const piece of fitting) {
          if (typeof piece === 'string') text += piece
          else {
            pieces.push(text, piece)
            text = ''
          }
        }
      }
    }
    if (pieces.length === 0) return text === '' ? '' : `${text}]`
    pieces.push(`${text}]`)
    return pieces
  }

  #replaced(index: number, body: AnswerBody, error: string): AnswerBody {
    const saved = (this.#resultBytes[index] as number) - Buffer.byteLength(error)
    return saved > keptBytesMax ? error : body
  }
}

function bodyBytes(body: AnswerBody): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  let bytes = 0
  for (const piece of body) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  return bytes
}
