/** Joins the pieces of an answer for sending. Owns the memory in which they are joined. */
import type { AnswerBody } from '../rpc/answer.js'

/**
 * Largest joined body whose memory is kept for the next one: a block of 200 full transactions has 169 KB and its
 * receipts 334 KB. A longer one, up to a batch's 25 MB, is rare and gets memory of its own.
 */
const scratchBytesMax = 1024 * 1024

/** Longest text that is written letter by letter: up to there it takes less time than the call that can do it at once. */
const spelledMax = 64

/** Writes text as UTF-8 at an offset; returns the end. There is room for three bytes a character. */
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
 * From this length on a piece is sent by itself, although that takes a further call of the system: joined with what
 * stands around it into memory of its own, a block of 174 KB took four times the CPU (200 µs instead of 50).
 */
const longBytesMin = 32 * 1024

let scratch = Buffer.allocUnsafeSlow(64 * 1024)
/** The same memory. A part of it takes 60 ns to make, and of a Buffer, whose own constructor is called, 140 ns. */
let scratchBytes = plainView(scratch)

/** The body as one piece, valid until the next call: uWebSockets.js copies or sends it before `end` returns. */
export function wholeBody(body: AnswerBody): string | Uint8Array {
  if (typeof body === 'string') return body
  const bytesMax = roomFor(body)
  if (bytesMax > scratchBytesMax) {
    const target = Buffer.allocUnsafe(bytesMax)
    return target.subarray(0, join(body, target))
  }
  if (bytesMax > scratch.length) growScratch(bytesMax)
  return scratchBytes.subarray(0, join(body, scratch))
}

/** The body in pieces that stay what they are: long ones themselves, and joined what stands between them. */
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

type Pieces = readonly (string | Uint8Array)[]

/** Bytes in which all pieces find room, however their text is encoded. */
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
  scratchBytes = plainView(scratch)
}

function plainView({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length)
}
