/**
 * The answer to a request on uWebSockets.js. Owns the response object: after an abort or an answer nothing touches it
 * again, and an answer is corked, so that it leaves in one piece.
 */
import type { HttpResponse } from 'uWebSockets.js'
import type { Answer, AnswerBody } from '../../rpc/answer.js'
import { lastingPieces, wholeBody } from '../answerBytes.js'
import { statusReason } from '../statusReason.js'
import { type BodyReceiver, type ExtraHeaders, noHeaders, type Reply } from '../wire.js'

/**
 * Longest body that is left to the library's own buffer whole. Of longer ones (16 KiB is its unit of sending) a
 * connection holds one at a time: a client that asked for 3,000 blocks of 169 KB in one packet and read none had
 * half a gigabyte waiting for it. Its next request meets an unfinished answer and so ends the connection.
 */
const wholeBytesMax = 16 * 1024

/** Whether a body has more than {@link wholeBytesMax} bytes; characters of text count for one. */
function isLong(body: AnswerBody): boolean {
  if (typeof body === 'string') return body.length > wholeBytesMax
  let bytes = 0
  for (const piece of body) bytes += piece.length
  return bytes > wholeBytesMax
}

export class UwsReply implements Reply {
  readonly #res: HttpResponse
  readonly #isHead: boolean
  #receiver: BodyReceiver | undefined
  #isPaused = false
  #isSending = false
  #isOver = false

  /** Takes `res` over. Make it inside the handler that got the request. */
  constructor(res: HttpResponse, isHead: boolean) {
    this.#res = res
    this.#isHead = isHead
  }

  receive(receiver: BodyReceiver): void {
    this.#receiver = receiver
    this.#res.onAborted(this.#end)
    this.#res.onData((chunk, isLast) => {
      // Data may come in after an early answer.
      if (this.#isSending || this.#isOver) return
      receiver.take(new Uint8Array(chunk), isLast)
    })
  }

  wait(): void {
    this.#res.onAborted(this.#end)
    this.pause()
  }

  pause(): void {
    if (this.#isOver || this.#isSending || this.#isPaused) return
    this.#isPaused = true
    this.#res.pause()
  }

  resume(): void {
    if (this.#isOver || !this.#isPaused) return
    this.#isPaused = false
    this.#res.resume()
  }

  send(answer: Answer, headers: ExtraHeaders, isLast: boolean): void {
    if (this.#isOver) return
    this.resume()
    this.#isSending = true
    // The library corks the first answer to what it has read at once; of a further one each piece would be sent alone.
    this.#res.cork(() => this.#write(answer, headers, isLast))
  }

  refuse(answer: Answer): void {
    // While this answer waits, a further request ends the connection; had it gone out, one in the same packet would run.
    this.#res.onAborted(this.#end)
    setImmediate(() => this.send(answer, noHeaders, true))
  }

  cut(): void {
    if (this.#isOver) return
    this.#end()
    this.#res.close()
  }

  #write(answer: Answer, headers: ExtraHeaders, isLast: boolean): void {
    const res = this.#res
    writeHead(res, answer, headers)
    if (answer.status === 204 || (this.#isHead && !isLast)) {
      if (this.#isHead) res.writeHeader('content-length', String(Buffer.byteLength(wholeBody(answer.body))))
      this.#end()
      // Without arguments: given a length or undefined, this binary leaves the response open and then aborts.
      res.endWithoutBody()
    } else if (this.#isHead) {
      this.#end()
      res.end('', true)
    } else if (!isLast && isLong(answer.body)) this.#writeInParts(lastingPieces(answer.body))
    else {
      const body = wholeBody(answer.body)
      this.#end()
      res.end(body, isLast)
    }
  }

  /** Sends what the connection takes and the rest as it drains, from where the pieces are: nothing is copied. */
  #writeInParts(pieces: readonly Uint8Array[]): void {
    const res = this.#res
    let bytes = 0
    for (const piece of pieces) bytes += piece.length
    let place = 0
    let pieceStart = 0
    /** Goes on at `offset` of the body; false once the connection takes no more. */
    const send = (offset: number): boolean => {
      for (let from = offset; ; from = pieceStart) {
        const piece = pieces[place] as Uint8Array
        const [isTaken, isDone] = res.tryEnd(piece.subarray(from - pieceStart), bytes)
        if (isDone) this.#end()
        if (isDone || !isTaken) return isTaken
        pieceStart += piece.length
        place++
      }
    }
    send(0)
    if (!this.#isOver) res.onWritable(send)
  }

  readonly #end = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#receiver?.over()
  }
}

const contentTypeName = Buffer.from('content-type')
const contentType = Buffer.from('application/json')

/** Blocks whose {@link headerLines} are kept: the heads of all networks, and some that requests are pinned to. */
const headerLinesMax = 64

const headerLines = new Map<string, Uint8Array>()

/**
 * The value of the content type with the line that names the block after it: the library writes a value as it is
 * given. Each header is a call into it, and text is measured and copied first, so that one header of bytes made
 * before takes 0.1 µs, and two of text 0.5 µs.
 */
function contentTypeAndBlock(block: string): Uint8Array {
  const known = headerLines.get(block)
  if (known !== undefined) return known
  const lines = Buffer.from(`application/json\r\ntidegate-block: ${block}`)
  if (headerLines.size === headerLinesMax) headerLines.clear()
  headerLines.set(block, lines)
  return lines
}

/** Writes status and headers; the body has to follow. */
function writeHead(res: HttpResponse, answer: Answer, headers: ExtraHeaders): void {
  if (answer.status !== 200) res.writeStatus(`${answer.status} ${statusReason(answer.status)}`)
  if (answer.status !== 204) {
    res.writeHeader(
      contentTypeName,
      answer.block === undefined ? contentType : contentTypeAndBlock(answer.block),
    )
  }
  if (headers !== noHeaders) for (const [name, value] of headers) res.writeHeader(name, value)
  if (answer.retryAfterMs !== undefined) {
    res.writeHeader('retry-after', String(Math.ceil(answer.retryAfterMs / 1000)))
  }
}
