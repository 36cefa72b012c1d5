/**
 * One request from its headers to its answer: takes the body in, within its limits, hands it to the endpoint and
 * sends what comes back. Owns the response object: after an abort or an answer nothing touches it again.
 */
import type { HttpResponse } from 'uWebSockets.js'
import type { Answer, AnswerBody } from '../rpc/answer.js'
import { Caller, type Identity } from '../rpc/caller.js'
import type { Endpoint } from '../rpc/dispatch.js'
import { type ExtraHeaders, lastingPieces, wholeBody, writeHead } from './sendAnswer.js'
import type { Total } from './totals.js'

/** What the exchanges of one server share. */
export interface ExchangePool {
  readonly bodyBytesMax: number
  /** Bytes of unfinished bodies of all connections. */
  readonly bufferedBytesMax: number
  readonly bufferedBytes: Total
  /** Exchanges that are not answered yet. */
  open: number
  /** The server is closing: answers end their connection. */
  isClosing: boolean
  /** Head and tail of the list of exchanges whose body has not arrived, oldest first. */
  readonly receiving: ReceivingList
  /** Called when the last open exchange of a closing server is over. */
  onIdle(): void
  /** An answer for a body that is too long; `bytes` is what was announced or has come so far. */
  tooLong(bytes: number): Answer
  /** An answer for a body that finds no room. */
  noRoom(): Answer
  /** Reports a thrown value that nothing on the way here expected. */
  defect(error: unknown): void
}

/** A list in which an exchange holds its own links, so that entering and leaving it allocates nothing. */
export class ReceivingList {
  #first: Exchange | undefined
  #last: Exchange | undefined

  add(exchange: Exchange): void {
    exchange.previous = this.#last
    if (this.#last === undefined) this.#first = exchange
    else this.#last.next = exchange
    this.#last = exchange
  }

  remove(exchange: Exchange): void {
    if (exchange.previous === undefined) this.#first = exchange.next
    else exchange.previous.next = exchange.next
    if (exchange.next === undefined) this.#last = exchange.previous
    else exchange.next.previous = exchange.previous
    exchange.previous = undefined
    exchange.next = undefined
  }

  /** Closes the connection of every exchange that began before `tick`. */
  closeBefore(tick: number): void {
    while (this.#first !== undefined && this.#first.startTick < tick) this.#first.giveUp()
  }
}

/**
 * Longest body that is left to the server's own buffer whole. Of longer ones (16 KiB is its unit of sending) a
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

export class Exchange extends Caller {
  previous: Exchange | undefined
  next: Exchange | undefined
  #res: HttpResponse
  #state: 'receiving' | 'waiting' | 'sending' | 'over' = 'receiving'
  #chunks: Uint8Array[] | undefined
  #bytes = 0
  /** This body's part of the pool's count. */
  #bufferedBytes = 0

  /**
   * Takes `res` over. Call it inside the handler that got the request. `startTick` counts the server's sweeps;
   * `at` is the block that the request is pinned to, empty for none.
   */
  constructor(
    res: HttpResponse,
    readonly pool: ExchangePool,
    readonly endpoint: Endpoint,
    identity: Identity,
    readonly headers: ExtraHeaders,
    readonly startTick: number,
    readonly at: string,
  ) {
    super(undefined, identity)
    this.#res = res
    pool.open++
    pool.receiving.add(this)
    res.onAborted(() => this.#finish())
    res.onData((chunk, isLast) => this.#take(chunk, isLast))
  }

  /** Closes the connection without an answer. */
  giveUp(): void {
    // Closing runs the abort handler, which does the rest.
    this.#res.close()
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    // Data may come in after an early answer.
    if (this.#state !== 'receiving') return
    this.#bytes += chunk.byteLength
    if (this.#bytes > this.pool.bodyBytesMax) this.#send(this.pool.tooLong(this.#bytes), true)
    else if (!isLast) this.#keep(chunk)
    else if (this.#chunks === undefined) this.#answer(new Uint8Array(chunk))
    else this.#answer(Buffer.concat([...this.#chunks, new Uint8Array(chunk)], this.#bytes))
  }

  #keep(chunk: ArrayBuffer): void {
    if (this.pool.bufferedBytes.value + chunk.byteLength > this.pool.bufferedBytesMax) {
      this.#send(this.pool.noRoom(), true)
      return
    }
    // uWebSockets.js takes the chunk's memory back when the handler returns.
    this.#chunks ??= []
    this.#chunks.push(new Uint8Array(chunk.slice(0)))
    this.pool.bufferedBytes.add(chunk.byteLength)
    this.#bufferedBytes += chunk.byteLength
  }

  #answer(body: Uint8Array): void {
    this.#stopReceiving()
    this.#state = 'waiting'
    const answer = this.endpoint.handle(body, this, this.at === '' ? undefined : this.at)
    if (answer instanceof Promise) void this.#answerLater(answer)
    else this.#send(answer, false)
  }

  async #answerLater(promise: Promise<Answer>): Promise<void> {
    const answer = await promise
    // Jobs that the answer did not wait for, past the time of its request, have nobody left.
    this.leave()
    if (this.#state === 'waiting') this.#res.cork(() => this.#send(answer, false))
  }

  #send(answer: Answer, close: boolean): void {
    if (this.#state === 'receiving') this.#stopReceiving()
    this.#state = 'sending'
    try {
      writeHead(this.#res, answer, this.headers)
      const closes = close || this.pool.isClosing
      if (!closes && isLong(answer.body)) this.#sendInParts(lastingPieces(answer.body))
      else {
        this.#finish()
        this.#res.end(wholeBody(answer.body), closes)
      }
    } catch (error) {
      // Whether anything was written is unknown, so the connection goes.
      this.pool.defect(error)
      this.#res.close()
    }
  }

  /** Sends what the connection takes and the rest as it drains, from where the pieces are: nothing is copied. */
  #sendInParts(pieces: readonly Uint8Array[]): void {
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
        if (isDone) this.#finish()
        if (isDone || !isTaken) return isTaken
        pieceStart += piece.length
        place++
      }
    }
    send(0)
    if (this.#state === 'sending') res.onWritable(send)
  }

  #stopReceiving(): void {
    this.pool.receiving.remove(this)
    if (this.#chunks === undefined) return
    this.pool.bufferedBytes.add(-this.#bufferedBytes)
    this.#bufferedBytes = 0
    this.#chunks = undefined
  }

  #finish(): void {
    if (this.#state === 'over') return
    if (this.#state === 'receiving') this.#stopReceiving()
    this.#state = 'over'
    this.leave()
    if (--this.pool.open === 0 && this.pool.isClosing) this.pool.onIdle()
  }
}
