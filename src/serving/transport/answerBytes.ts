/** Joins the pieces of an answer for sending. Owns the memory in which they are joined. */
import type { AnswerBody } from '../rpc/answers/answer.js'

/**
 * Maximum joined body for which memory is reused: a block of 200 full transactions has 169 KB, its receipts 334 KB.
 * Longer bodies, up to a batch's 25 MB, are rare and get their own memory.
 */
const scratchBytesMax = 1024 * 1024

/** Maximum text that is written byte by byte: up to this length that is faster than a call of `Buffer.write`. */
const spelledMax = 64

/** Writes text as UTF-8 at an offset and returns its end. `target` must have room for three bytes per character. */
function writeText(target: Buffer, text: string, offset: number): number {
  if (text.length <= spelledMax) {
    let at = 0
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code >= 0x80) break
      target[offset + at] = code
    }
    if (at === text.length) return offset + at
  }
  return offset + target.write(text, offset, 'utf8')
}

/**
 * A piece of at least this length is sent by itself, although each piece takes a system call. Copying a block of 174 KB
 * to join it with its neighbours takes four times the CPU (scenario `block-full`).
 */
export const longBytesMin = 32 * 1024

let scratch = Buffer.allocUnsafeSlow(64 * 1024)
/** Stored, because reading `buffer` is a call of V8's runtime. */
let scratchMemory = scratch.buffer
/** Answers below this length share a view for each length: creating a view takes longer than joining them. */
const shortBytes = 256
let shortViews: (Uint8Array | undefined)[] = new Array(shortBytes)

/** Length of a body; each character of text counts as one byte. */
export function lengthOf(body: AnswerBody): number {
  if (typeof body === 'string') return body.length
  let bytes = 0
  for (const piece of body) bytes += piece.length
  return bytes
}

/** The body as one piece, valid until the next call. uWebSockets.js copies or sends it before `end` returns. */
export function wholeBody(body: AnswerBody): string | Uint8Array {
  if (typeof body === 'string') return body
  const bytesMax = roomFor(body)
  if (bytesMax > scratchBytesMax) {
    const target = Buffer.allocUnsafe(bytesMax)
    return target.subarray(0, join(body, target))
  }
  if (bytesMax > scratch.length) growScratch(bytesMax)
  const length = join(body, scratch)
  if (length >= shortBytes) return new Uint8Array(scratchMemory, 0, length)
  shortViews[length] ??= new Uint8Array(scratchMemory, 0, length)
  return shortViews[length] as Uint8Array
}

/** The body in pieces that stay valid: long pieces unchanged, the short ones between them joined. */
export function lastingPieces(body: AnswerBody): Uint8Array[] {
  if (typeof body === 'string') return [Buffer.from(body)]
  const pieces: Uint8Array[] = []
  let short: (string | Uint8Array)[] = []
  const joinShort = (): void => {
    if (short.length > 0) {
      const target = Buffer.allocUnsafe(roomFor(short))
      pieces.push(target.subarray(0, join(short, target)))
    }
    short = []
  }
  for (const piece of body) {
    if (typeof piece === 'string' || piece.length < longBytesMin) short.push(piece)
    else {
      joinShort()
      pieces.push(piece)
    }
  }
  joinShort()
  return pieces
}

/** The unsent rest of an answer in parts. Joins short pieces when their turn comes: a batch has up to 25 MB. */
export class BodyParts {
  readonly #pieces: Pieces
  /** Of {@link #pieces}, and within the first that is left. */
  #at = 0
  #offset = 0
  bytesLeft = 0

  constructor(body: AnswerBody) {
    const pieces = typeof body === 'string' ? [body] : body
    this.#pieces = pieces
      .filter(({ length }) => length > 0)
      .map((piece) => (piece.length < longBytesMin ? piece : asBytes(piece)))
    for (const piece of this.#pieces) this.bytesLeft += Buffer.byteLength(piece)
  }

  /** The next bytes, which stay valid: at most `bytesMax`, but the next short piece at least. */
  next(bytesMax: number): Uint8Array {
    const start = this.#at
    let room = 0
    for (let piece = this.#pieces[this.#at]; isShort(piece); piece = this.#pieces[this.#at]) {
      const most = roomFor([piece])
      if (room > 0 && room + most > bytesMax) break
      room += most
      this.#at++
    }
    const part = room > 0 ? this.#joined(start, room) : this.#ofLong(bytesMax)
    this.bytesLeft -= part.length
    return part
  }

  #joined(start: number, room: number): Uint8Array {
    const target = Buffer.allocUnsafe(room)
    return target.subarray(0, join(this.#pieces.slice(start, this.#at), target))
  }

  #ofLong(bytesMax: number): Uint8Array {
    const piece = this.#pieces[this.#at] as Uint8Array
    const part = piece.subarray(this.#offset, this.#offset + bytesMax)
    this.#offset += part.length
    if (this.#offset === piece.length) {
      this.#at++
      this.#offset = 0
    }
    return part
  }
}

const asBytes = (piece: string | Uint8Array) => (typeof piece === 'string' ? Buffer.from(piece) : piece)

function isShort(piece: string | Uint8Array | undefined): piece is string | Uint8Array {
  return piece !== undefined && piece.length < longBytesMin
}

type Pieces = readonly (string | Uint8Array)[]

/** Enough bytes for all pieces, with three per character of text. */
function roomFor(pieces: Pieces): number {
  let bytes = 0
  for (const piece of pieces) bytes += typeof piece === 'string' ? piece.length * 3 : piece.length
  return bytes
}

/** Writes the pieces to the beginning of `target` and returns how many bytes they take. */
function join(pieces: Pieces, target: Buffer): number {
  let length = 0
  for (const piece of pieces) {
    if (typeof piece === 'string') length = writeText(target, piece, length)
    else {
      target.set(piece, length)
      length += piece.length
    }
  }
  return length
}

function growScratch(bytes: number): void {
  scratch = Buffer.allocUnsafeSlow(Math.min(bytes * 2, scratchBytesMax))
  scratchMemory = scratch.buffer
  shortViews = new Array(shortBytes)
}
