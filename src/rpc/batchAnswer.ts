import type { AnswerBody } from './answer.js'

/** Collects the answers of a batch in whatever order they come, and watches their size. */
export class BatchAnswer {
  readonly #bytesMax: number
  /** By the index of their call; undefined for a notification and for what is not there yet. */
  readonly #bodies: (AnswerBody | undefined)[]
  /** Bytes of each result, zero for an error; that of a notification counts, and is not sent. */
  readonly #resultBytes: Uint32Array
  #bytes = 0

  /** `bytesMax` bounds all results together with their envelopes. */
  constructor(calls: number, bytesMax: number) {
    this.#bodies = new Array(calls).fill(undefined)
    this.#resultBytes = new Uint32Array(calls)
    this.#bytesMax = bytesMax
  }

  /** True once what is there does not fit: no call after those that have been begun needs to run. */
  get isFull(): boolean {
    return this.#bytes > this.#bytesMax
  }

  /** Puts the answer with a result in its place. */
  putResult(index: number, body: AnswerBody): void {
    const bytes = bodyBytes(body) + 1
    this.#bodies[index] = body
    this.#resultBytes[index] = bytes
    this.#bytes += bytes
  }

  /** Counts the result of a notification: it was made, which costs memory and time as any other does. */
  countUnsent(index: number, bytes: number): void {
    this.#resultBytes[index] = bytes
    this.#bytes += bytes
  }

  /** Puts an error answer in its place. Every call gets its answer, so errors fit always; each has some hundred bytes. */
  putError(index: number, body: string): void {
    this.#bodies[index] = body
    this.#bytes += Buffer.byteLength(body) + 1
  }

  /**
   * The body: an array of the answers in order, as few pieces as possible; nothing when there are none. From the
   * first result on that does not fit, `renderTooLarge` says what stands in a result's place.
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
        if (isOver && resultBytes > 0) fitting = renderTooLarge(index)
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
}

function bodyBytes(body: AnswerBody): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  let bytes = 0
  for (const piece of body) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  return bytes
}
