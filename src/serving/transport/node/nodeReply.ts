import type { IncomingMessage, ServerResponse } from 'node:http'
import { noBytes } from '../../../primitives/bytes.js'
import type { Place } from '../../../primitives/timeSlices.js'
import type { Answer } from '../../rpc/answers/answer.js'
import { lastingPieces, lengthOf } from '../answerBytes.js'
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
import type { NodeConnection } from './nodeConnection.js'

export class NodeReply implements Reply, LongSend {
  /** Place of the reply in {@link sendSlices}. */
  place: Place | undefined
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #connection: NodeConnection
  #receiver: Receiver | undefined
  /** The rest of a long answer, and the offset in its first piece. */
  #parts: Uint8Array[] = []
  #offset = 0
  #sendingBytes = 0
  #isSending = false
  #isOver = false

  constructor(req: IncomingMessage, res: ServerResponse, connection: NodeConnection) {
    this.#req = req
    this.#res = res
    this.#connection = connection
    connection.add(this)
  }

  get flow(): string {
    return this.#receiver?.keyId ?? ''
  }

  receive(receiver: BodyReceiver): void {
    const req = this.#req
    this.#receiver = receiver
    if (req.headers.expect !== undefined) this.#res.writeContinue()
    const announced = Number(req.headers['content-length'])
    let received = 0
    const take = (chunk: Uint8Array, isLast: boolean) => {
      // Data may still arrive after an early answer.
      if (!this.#isSending && !this.#isOver) receiver.take(chunk, isLast)
    }
    req.on('data', (chunk: Uint8Array) => {
      received += chunk.length
      take(chunk, received === announced)
    })
    req.on('end', () => {
      if (received !== announced || received === 0) take(noBytes, true)
    })
  }

  wait(end?: Receiver): void {
    this.#receiver = end
  }

  pause(): void {
    this.#req.pause()
  }

  resume(): void {
    this.#req.resume()
  }

  send(answer: Answer, headers: ExtraHeaders, isLast: boolean): void {
    if (this.#isOver || this.#isSending) return
    this.#isSending = true
    const res = this.#res
    const pieces = lastingPieces(answer.body)
    const bytes = answer.rest === undefined ? lengthOf(pieces) : undefined
    if (isLast) {
      this.#connection.isEnding = true
      // Sends `connection: close` and closes.
      res.shouldKeepAlive = false
    }
    res.writeHead(answer.status, statusReason(answer.status), headerLines(answer, headers, bytes))
    if (answer.rest !== undefined) {
      for (const piece of pieces) res.write(piece)
      this.#writeRest(answer.rest)
    } else if (bytes !== undefined && !isBodiless(answer.status) && this.#req.method !== 'HEAD') {
      this.#sendingBytes = bytes
      this.#connection.addUnsent(bytes)
      this.#parts = pieces.filter(({ length }) => length > 0)
      if (bytes > sentBytesMax) sendSlices.send(this, bytes)
      else this.sendOn()
    } else res.end(() => this.over())
  }

  /** Sends the next part of an answer; the following ones as the connection accepts them. */
  sendOn(): void {
    const res = this.#res
    if (this.#isOver) return
    let isTaken = true
    for (let left = sentBytesMax; left > 0; ) {
      const [piece] = this.#parts
      if (piece === undefined) return void res.end(() => this.over())
      const part = piece.subarray(this.#offset, this.#offset + left)
      left -= part.length
      this.#offset += part.length
      if (this.#offset === piece.length) {
        this.#parts.shift()
        this.#offset = 0
      }
      if (this.#parts.length === 0) return void res.end(part, () => this.over())
      isTaken = res.write(part)
    }
    if (isTaken) sendSlices.sendLater(this)
    else res.once('drain', () => sendSlices.send(this, sentBytesMax))
  }

  #writeRest({ stream, end }: NonNullable<Answer['rest']>): void {
    const res = this.#res
    stream.pipe({
      put: (part, taken) => {
        if (!this.#isOver) res.write(part, () => taken())
      },
      end: (last) => {
        if (this.#isOver) return
        res.write(last)
        res.end(end, () => this.over())
      },
      fail: () => this.cut(),
    })
  }

  refuse(answer: Answer): void {
    this.send(answer, noHeaders, true)
  }

  cut(): void {
    if (this.#isOver) return
    this.#connection.isEnding = true
    this.#connection.socket.destroy()
    this.over()
  }

  /** The answer is sent, or the connection is over. */
  over(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.place !== undefined) sendSlices.forget(this)
    this.#connection.addUnsent(-this.#sendingBytes)
    this.#receiver?.over()
    this.#connection.remove(this)
  }
}

/** Names and values alternating: the fastest form for node:http. Without `bytes` the length is unknown. */
export function headerLines(answer: Answer, headers: ExtraHeaders, bytes: number | undefined): string[] {
  const lines: string[] = []
  if (!isBodiless(answer.status)) lines.push('content-type', 'application/json')
  if (!isBodiless(answer.status) && bytes !== undefined) lines.push('content-length', String(bytes))
  if (answer.block !== undefined) lines.push('tidegate-block', answer.block)
  if (answer.trust !== undefined) lines.push('tidegate-trust', answer.trust)
  for (const header of headers) lines.push(header[0], header[1])
  if (answer.retryAfterMs !== undefined) {
    lines.push('retry-after', String(Math.ceil(answer.retryAfterMs / 1000)))
  }
  return lines
}
