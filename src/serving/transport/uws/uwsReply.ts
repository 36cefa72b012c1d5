/**
 * The answer to a request on uWebSockets.js. Owns the response object: after an abort or an answer nothing uses it. An
 * answer is corked, so that it is sent in one piece.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { giveBack } from '../../../primitives/bufferPool.js'
import type { Place } from '../../../primitives/timeSlices.js'
import type { Answer, AnswerBody } from '../../rpc/answers/answer.js'
import { lastingPieces, lengthOf, wholeBody } from '../answerBytes.js'
import { type LongSend, sendSlices, sentBytesMax } from '../sendSlices.js'
import {
  type BodyReceiver,
  type ExtraHeaders,
  isBodiless,
  noHeaders,
  type Receiver,
  type Reply,
  statusReason,
} from '../wire.js'

/**
 * Maximum body that is passed to the library as a whole; 16 KiB is its unit of sending. Longer ones are sent in parts,
 * and a further request ends a connection with an unfinished answer. Otherwise a client that requests 3,000 blocks of
 * 169 KB in one packet and reads none would take half a gigabyte.
 */
const wholeBytesMax = 16 * 1024

/**
 * Maximum body that is joined before it is sent in parts. For a compressed block of 30 KB, one part takes half the CPU
 * of three parts, or of memory of its own.
 */
const joinedBytesMax = 64 * 1024

export class UwsReply implements Reply, LongSend {
  /** Place of the reply in {@link sendSlices}. */
  place: Place | undefined
  readonly #res: HttpResponse
  readonly #isHead: boolean
  #receiver: Receiver | undefined
  /** Whether the handler for an aborted connection is set. */
  #isAwaited = false
  #isPaused = false
  #isSending = false
  #isOver = false
  /** Pieces of the answer that are sent as the connection drains. */
  #pieces: readonly Uint8Array[] = noPieces
  /** A long answer, its bytes, and the number of bytes that the connection has accepted. */
  #parts: readonly Uint8Array[] = noPieces
  #bytes = 0
  #offset = 0

  /** Takes over `res`. Create it inside the handler of the request. */
  constructor(res: HttpResponse, isHead: boolean) {
    this.#res = res
    this.#isHead = isHead
  }

  get flow(): string {
    return this.#receiver?.keyId ?? ''
  }

  receive(receiver: BodyReceiver): void {
    this.#receiver = receiver
    this.#isAwaited = true
    this.#res.onAborted(this.#end)
    this.#res.onData((chunk, isLast) => {
      // Data may still arrive after an early answer.
      if (this.#isSending || this.#isOver) return
      receiver.take(new Uint8Array(chunk), isLast)
    })
  }

  wait(end?: Receiver): void {
    this.#receiver = end
    this.#isAwaited = true
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
    // The library corks only the first answer to the data of one read; it would send the pieces of a later one
    // separately.
    this.#res.cork(() => this.#write(answer, headers, isLast))
  }

  refuse(answer: Answer): void {
    // Sent later: while this answer is open, a further request in the same packet ends the connection instead of being
    // handled.
    this.#isAwaited = true
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
    writeHead(res, answer, headers, isLast)
    if (isBodiless(answer.status) || (this.#isHead && !isLast)) {
      if (!isBodiless(answer.status))
        res.writeHeader('content-length', String(Buffer.byteLength(wholeBody(answer.body))))
      this.#end()
      // Without arguments: with a length or undefined, this binary leaves the response open and aborts later.
      res.endWithoutBody()
    } else if (this.#isHead) {
      this.#end()
      res.end('', true)
    } else if (answer.rest !== undefined) {
      res.write(wholeBody(answer.body))
      this.#writeRest(answer.rest, isLast)
    } else if (lengthOf(answer.body) > wholeBytesMax) {
      // The library would keep the rest of a whole body and not report when it is sent.
      if (isLast) res.writeHeader('connection', 'close')
      this.#writeInParts(answer.body)
    } else {
      const body = wholeBody(answer.body)
      this.#end()
      res.end(body, isLast)
    }
  }

  /** Sends the bytes that the connection and the turn accept, and the rest as it drains. */
  #writeInParts(body: AnswerBody): void {
    const res = this.#res
    const isJoined = typeof body !== 'string' && lengthOf(body) <= joinedBytesMax
    this.#parts = isJoined ? [wholeBody(body) as Uint8Array] : lastingPieces(body)
    this.#bytes = lengthOf(this.#parts)
    if (!isJoined) this.#pieces = this.#parts
    sendSlices.send(this, this.#bytes)
    if (this.#isOver) return
    // For a page, whose answer did not wait: the library ends the process if a handler returns without this.
    if (!this.#isAwaited) res.onAborted(this.#end)
    if (isJoined) this.#pieces = this.#parts = lastingPieces(body)
    res.onWritable((offset) => {
      this.#offset = offset
      sendSlices.send(this, this.#bytes - offset)
      return true
    })
  }

  /** Sends the next part; the library calls again if the connection does not accept all of it. */
  sendOn(): void {
    this.#res.cork(this.#sendPart)
  }

  readonly #sendPart = (): void => {
    let left = sentBytesMax
    let start = 0
    for (const piece of this.#parts) {
      const end = start + piece.length
      if (end > this.#offset) {
        const part = piece.subarray(
          Math.max(this.#offset - start, 0),
          Math.max(this.#offset - start, 0) + left,
        )
        const [isTaken, isDone] = this.#res.tryEnd(part, this.#bytes)
        if (isDone) this.#end()
        if (isDone || !isTaken) return
        this.#offset += part.length
        left -= part.length
        if (left === 0) return sendSlices.sendLater(this)
      }
      start = end
    }
  }

  /** Sends a stream, each part as soon as the connection has accepted the parts before it. */
  #writeRest({ stream, end }: NonNullable<Answer['rest']>, isLast: boolean): void {
    const res = this.#res
    /** Callbacks of parts that the library stores. */
    let unsent: (() => void)[] = []
    const finish = () => {
      if (this.#isOver) return
      this.#end()
      res.cork(() => res.end(end, isLast))
    }
    res.onWritable(() => {
      for (const taken of unsent.splice(0)) taken()
      return true
    })
    const put = (part: Uint8Array, taken: () => void) => {
      if (this.#isOver) return
      let isSent = false
      res.cork(() => {
        isSent = res.write(part)
      })
      if (isSent) taken()
      else unsent.push(taken)
    }
    stream.pipe({
      put,
      end: (last) => put(last, finish),
      fail: () => {
        unsent = []
        this.cut()
      },
    })
  }

  readonly #end = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    if (this.place !== undefined) sendSlices.forget(this)
    for (const piece of this.#pieces) giveBack(piece)
    this.#receiver?.over()
  }
}

const noPieces: readonly Uint8Array[] = []
const contentTypeName = Buffer.from('content-type')
const lastContentType = Buffer.from('application/json')
/**
 * The library ends a connection that was idle for 10 s, counted in steps of 4 s. Clients that follow this header do not
 * send a request on one that is about to end.
 */
const contentType = Buffer.from('application/json\r\nkeep-alive: timeout=7')

/** Maximum entries of {@link headerLines}: the heads of all networks, and some blocks that requests are pinned to. */
const headerLinesMax = 64

const headerLines = new Map<string, Uint8Array>()
/** The last requested entry. */
let lastBlock: string | undefined
let lastLines = contentType as Uint8Array

/**
 * The value of the content type, followed by the header line that names the block; the library writes values unchanged.
 * One header of prepared bytes takes a fifth of the time of two headers of text (scenario `slot-cached`). Each of those
 * is a call into the library that copies its text.
 */
function contentTypeAndBlock(block: string): Uint8Array {
  if (block === lastBlock) return lastLines
  const known = headerLines.get(block)
  if (known !== undefined) {
    lastBlock = block
    lastLines = known
    return known
  }
  const lines = Buffer.from(`${contentType}\r\ntidegate-block: ${block}`)
  if (headerLines.size === headerLinesMax) headerLines.clear()
  headerLines.set(block, lines)
  return lines
}

/** Writes status and headers; the body must follow. */
function writeHead(res: HttpResponse, answer: Answer, headers: ExtraHeaders, isLast: boolean): void {
  const { status, block } = answer
  if (status !== 200) res.writeStatus(`${status} ${statusReason(status)}`)
  if (!isBodiless(status)) {
    const kept = block === undefined ? contentType : contentTypeAndBlock(block)
    res.writeHeader(contentTypeName, isLast ? lastContentType : kept)
    if (isLast && block !== undefined) res.writeHeader('tidegate-block', block)
  }
  if (answer.trust !== undefined) res.writeHeader('tidegate-trust', answer.trust)
  if (headers !== noHeaders) for (const [name, value] of headers) res.writeHeader(name, value)
  if (answer.retryAfterMs !== undefined) {
    res.writeHeader('retry-after', String(Math.ceil(answer.retryAfterMs / 1000)))
  }
}
