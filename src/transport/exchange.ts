/**
 * One request from its headers to its answer: takes the body in, within its limits, hands it to the endpoint and
 * sends what comes back.
 */
import type { Answer } from '../rpc/answer.js'
import { Caller, type Identity } from '../rpc/caller.js'
import type { Endpoint } from '../rpc/dispatch.js'
import type { Total } from './totals.js'
import type { BodyReceiver, ExtraHeaders, Reply } from './wire.js'

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

export class Exchange extends Caller implements BodyReceiver {
  previous: Exchange | undefined
  next: Exchange | undefined
  readonly #reply: Reply
  #state: 'receiving' | 'waiting' | 'sending' | 'over' = 'receiving'
  #chunks: Uint8Array[] | undefined
  #bytes = 0
  /** This body's part of the pool's count. */
  #bufferedBytes = 0

  /**
   * Takes `reply` over. Call it inside the handler that got the request. `startTick` counts the server's sweeps;
   * `at` is the block that the request is pinned to, empty for none.
   */
  constructor(
    reply: Reply,
    readonly pool: ExchangePool,
    readonly endpoint: Endpoint,
    identity: Identity,
    readonly headers: ExtraHeaders,
    readonly startTick: number,
    readonly at: string,
  ) {
    super(undefined, identity)
    this.#reply = reply
    pool.open++
    pool.receiving.add(this)
    reply.receive(this)
  }

  /** Closes the connection without an answer. */
  giveUp(): void {
    this.#reply.cut()
  }

  take(chunk: Uint8Array, isLast: boolean): void {
    if (this.#state !== 'receiving') return
    this.#bytes += chunk.length
    if (this.#bytes > this.pool.bodyBytesMax) this.#send(this.pool.tooLong(this.#bytes), true)
    else if (!isLast) this.#keep(chunk)
    else if (this.#chunks === undefined) this.#answer(chunk)
    else this.#answer(Buffer.concat([...this.#chunks, chunk], this.#bytes))
  }

  over(): void {
    if (this.#state === 'over') return
    if (this.#state === 'receiving') this.#stopReceiving()
    this.#state = 'over'
    this.leave()
    if (--this.pool.open === 0 && this.pool.isClosing) this.pool.onIdle()
  }

  #keep(chunk: Uint8Array): void {
    if (this.pool.bufferedBytes.value + chunk.length > this.pool.bufferedBytesMax) {
      this.#send(this.pool.noRoom(), true)
      return
    }
    this.#chunks ??= []
    this.#chunks.push(chunk.slice())
    this.pool.bufferedBytes.add(chunk.length)
    this.#bufferedBytes += chunk.length
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
    if (this.#state === 'waiting') this.#send(answer, false)
  }

  #send(answer: Answer, isLast: boolean): void {
    if (this.#state === 'receiving') this.#stopReceiving()
    this.#state = 'sending'
    try {
      this.#reply.send(answer, this.headers, isLast || this.pool.isClosing)
    } catch (error) {
      // Whether anything was written is unknown, so the connection goes.
      this.pool.defect(error)
      this.#reply.cut()
    }
  }

  #stopReceiving(): void {
    this.pool.receiving.remove(this)
    if (this.#chunks === undefined) return
    this.pool.bufferedBytes.add(-this.#bufferedBytes)
    this.#bufferedBytes = 0
    this.#chunks = undefined
  }
}
