/**
 * One request from its headers to its answer: takes the body in, within its limits, hands it to the endpoint and
 * sends what comes back.
 */
import type { Answer } from '../rpc/answer.js'
import { Caller, type Identity } from '../rpc/caller.js'
import type { Endpoint } from '../rpc/dispatch.js'
import type { BodyTurns } from './bodyTurns.js'
import type { HoldOffs } from './holdOffs.js'
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
  readonly holdOffs: HoldOffs
  readonly bodyTurns: BodyTurns
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
 * Parts of a body, beyond which they have to have some length on average. Each costs a microsecond however short it is:
 * a body of 5 MiB in chunks of one byte held everybody for five seconds. A client that writes its JSON call by call
 * sends 100 bytes at a time.
 */
const piecesMax = 1_024
const pieceBytesMin = 64

const noMemory = Buffer.alloc(0)

export class Exchange extends Caller implements BodyReceiver {
  previous: Exchange | undefined
  next: Exchange | undefined
  readonly #reply: Reply
  #state: 'receiving' | 'waiting' | 'sending' | 'over' = 'receiving'
  /** What has come of a body that is not whole yet lies at the beginning; its length is counted in the pool. */
  #memory = noMemory
  #bytes = 0
  /** Parts in which the body has come so far. */
  #pieces = 0

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
    if (++this.#pieces > piecesMax && this.#pieces * pieceBytesMin > this.#bytes) {
      this.pool.holdOffs.begin(this.keyId, 'parts of a body shorter than its share', piecesMax)
      return this.giveUp()
    }
    const bytes = this.#bytes + chunk.length
    if (bytes > this.pool.bodyBytesMax) return this.#send(this.pool.tooLong(bytes), true)
    if (isLast && this.#bytes === 0) return this.#answer(chunk)
    if (!this.#makeRoom(bytes)) return this.#send(this.pool.noRoom(), true)
    this.#memory.set(chunk, this.#bytes)
    this.#bytes = bytes
    if (isLast) this.#answer(this.#memory.subarray(0, bytes))
    else if (!this.pool.bodyTurns.take(this, chunk.length)) this.#reply.pause()
  }

  onTurn(): void {
    this.#reply.resume()
  }

  over(): void {
    if (this.#state === 'over') return
    if (this.#state === 'receiving') this.#stopReceiving()
    this.#state = 'over'
    this.leave()
    if (--this.pool.open === 0 && this.pool.isClosing) this.pool.onIdle()
  }

  /** Has the memory grow to `bytes` at least, and to twice what it was where there is room, so that bytes are copied once on average. */
  #makeRoom(bytes: number): boolean {
    const { bufferedBytes, bufferedBytesMax, bodyBytesMax } = this.pool
    const held = this.#memory.length
    if (bytes <= held) return true
    const free = bufferedBytesMax - bufferedBytes.value
    if (bytes - held > free) return false
    const grown = Math.max(bytes, Math.min(2 * held, bodyBytesMax, held + free))
    // Memory of its own: part of a pool would keep all of that.
    const memory = Buffer.allocUnsafeSlow(grown)
    memory.set(this.#memory.subarray(0, this.#bytes))
    this.#memory = memory
    bufferedBytes.add(grown - held)
    return true
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
    this.pool.bodyTurns.forget(this)
    if (this.#memory === noMemory) return
    this.pool.bufferedBytes.add(-this.#memory.length)
    this.#memory = noMemory
  }
}
