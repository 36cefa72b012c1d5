/**
 * One HTTP request from its headers to its answer: reads the body within the limits, passes it to the endpoint and
 * sends the answer.
 */

import type { Linked, LinkedList } from '../../primitives/linkedList.js'
import { type Place, type Share, TimeSlices } from '../../primitives/timeSlices.js'
import type { Answer, AnswerBody } from '../rpc/answers/answer.js'
import { anonymousId, type Identity, RequestContext } from '../rpc/contexts/requestContext.js'
import type { Endpoint } from '../rpc/dispatch/endpoint.js'
import { chooseEncoding, type Encoding } from './acceptEncoding.js'
import { type CompressedCopies, compressedBytesMin } from './compressedCopies.js'
import type { FloodPenalties } from './floodPenalties.js'
import { gzipMember } from './gzipMember.js'
import { UnreadAnswer, type UnreadPool } from './unreadAnswer.js'
import { type BodyReceiver, type ExtraHeaders, noHeaders, type Reply } from './wire.js'

export interface ExchangePool extends UnreadPool {
  readonly bodyBytesMax: number
  /** Key id → bytes of the key's unfinished bodies on this edge; keys without any are absent. */
  readonly bufferedOfKeys: Map<string, number>
  /** Number of unfinished exchanges. */
  open: number
  /** Whether the server is closing; answers then end their connection. */
  isClosing: boolean
  /** Exchanges whose body has not arrived, oldest first. */
  readonly receiving: LinkedList<Exchange>
  /** Called when the last open exchange of a closing server is over. */
  onIdle(): void
  readonly floodPenalties: FloodPenalties
  /** Turns of bodies that are still arriving, and the bytes that all of them have read in this turn. */
  readonly bodySlices: TimeSlices<Exchange>
  readonly bodyShare: Share
  readonly copies: CompressedCopies
  /** The answer to a body that is too long; `bytes` is the announced length or the length so far. */
  tooLong(bytes: number): Answer
  /** The answer to a body for which {@link bufferedBytesMax} leaves no room. */
  noRoom(): Answer
  /** Reports an exception that nothing else caught. */
  defect(error: unknown): void
}

/** Bytes of bodies read in one turn: 3 ms, mostly for memory from the operating system. */
const bytesPerTurn = 2 ** 20

/** Maximum share of one key in the memory for unfinished bodies, so that others have some: 64 MiB by default. */
const shareOfKey = 1 / 4

/** Waiting bodies that continue in one turn: one takes 1.5 ms, because uWebSockets.js reads 512 KiB at once. */
const bodiesPerTurn = 1

/**
 * If a hundred clients send 5 MiB each, some bytes are read, then other requests are answered, then reading continues.
 */
export function slicesOfBodies(): TimeSlices<Exchange> {
  return new TimeSlices({
    goOn: (exchange) => exchange.readOn(),
    flowOf: ({ keyId }) => keyId,
    tasksMax: bodiesPerTurn,
    share: { tasksMax: Number.POSITIVE_INFINITY, costMax: bytesPerTurn },
  })
}

/**
 * After this number of parts, their average length must be {@link pieceBytesMin}. A short part takes as long as a long
 * one, so 5 MiB in chunks of one byte would take five seconds. A client that writes its JSON call by call sends 100
 * bytes at a time.
 */
const piecesMax = 1_024
const pieceBytesMin = 64

const noMemory = Buffer.alloc(0)

/** brotli and zstd streams can be joined too, but some clients read only the first stream. */
const joinable: readonly Encoding[] = ['gzip']
const gzipHeaders: ExtraHeaders = [
  ['content-encoding', 'gzip'],
  ['vary', 'accept-encoding'],
]

export class Exchange extends RequestContext implements BodyReceiver, Linked<Exchange> {
  /** Place of the exchange in {@link TimeSlices}. */
  place: Place | undefined
  list: LinkedList<Exchange> | undefined
  previous: Exchange | undefined
  next: Exchange | undefined
  readonly #reply: Reply
  #state: 'receiving' | 'waiting' | 'sending' | 'over' = 'receiving'
  /** Memory for a body in several parts, filled from the beginning; the pool counts its length. */
  #memory = noMemory
  #bytes = 0
  #pieces = 0
  #unread: UnreadAnswer | undefined

  /** `startTick` is the server's sweep counter; `at` the block that the request is pinned to, empty for none. */
  constructor(
    reply: Reply,
    readonly pool: ExchangePool,
    readonly endpoint: Endpoint,
    identity: Identity,
    readonly headers: ExtraHeaders,
    readonly startTick: number,
    readonly at: string,
    /** Announced length of the body; NaN if it is not announced. */
    readonly announcedBytes: number,
    readonly acceptEncoding: string,
  ) {
    super(undefined, identity)
    this.#reply = reply
    pool.open++
    pool.receiving.add(this)
    reply.receive(this)
  }

  override get takesStreams(): boolean {
    return true
  }

  giveUp(): void {
    this.#reply.cut()
  }

  take(chunk: Uint8Array, isLast: boolean): void {
    if (this.#state !== 'receiving') return
    if (++this.#pieces > piecesMax && this.#pieces * pieceBytesMin > this.#bytes) {
      this.pool.floodPenalties.begin(this.keyId, 'parts of a body shorter than its share', piecesMax)
      return this.giveUp()
    }
    const bytes = this.#bytes + chunk.length
    if (bytes > this.pool.bodyBytesMax) return this.#send(this.pool.tooLong(bytes), true)
    if (isLast && this.#bytes === 0) return this.#answer(chunk, false)
    if (!this.#makeRoom(bytes)) return this.#send(this.pool.noRoom(), true)
    this.#memory.set(chunk, this.#bytes)
    this.#bytes = bytes
    if (isLast) this.#answer(this.#memory.subarray(0, bytes), true)
    else if (!this.pool.bodySlices.take(this.pool.bodyShare, chunk.length)) {
      this.pool.bodySlices.wait(this)
      this.#reply.pause()
    }
  }

  readOn(): void {
    this.#reply.resume()
  }

  over(): void {
    if (this.#state === 'over') return
    if (this.#state === 'receiving') this.#stopReceiving()
    this.#state = 'over'
    this.#unread?.over()
    this.finish()
    if (--this.pool.open === 0 && this.pool.isClosing) this.pool.onIdle()
  }

  /**
   * Makes the memory at least `bytes` long. If there is room, doubles it, or uses the announced length if that is less,
   * so that each byte is copied about once. False if there is no room.
   */
  #makeRoom(bytes: number): boolean {
    const { bufferedBytes, bufferedBytesMax, bodyBytesMax } = this.pool
    const owned = this.#memory.length
    if (bytes <= owned) return true
    const free = Math.min(bufferedBytesMax - bufferedBytes.value, this.#freeOfKey())
    if (bytes - owned > free) return false
    const wanted = this.announcedBytes <= 2 * bytes ? this.announcedBytes : 2 * owned
    const grown = Math.max(bytes, Math.min(wanted, bodyBytesMax, owned + free))
    // Node's pool is not used: a slice would keep the whole pool in memory.
    const memory = Buffer.allocUnsafeSlow(grown)
    memory.set(this.#memory.subarray(0, this.#bytes))
    this.#memory = memory
    this.#hold(grown - owned)
    return true
  }

  /** Bytes that its key may still use; without keys all callers share one id. */
  #freeOfKey(): number {
    const { bufferedOfKeys, bufferedBytesMax, bodyBytesMax } = this.pool
    if (this.keyId === anonymousId) return bufferedBytesMax
    const most = Math.max(bufferedBytesMax * shareOfKey, bodyBytesMax)
    return most - (bufferedOfKeys.get(this.keyId) ?? 0)
  }

  #hold(change: number): void {
    const { bufferedBytes, bufferedOfKeys } = this.pool
    bufferedBytes.add(change)
    const ofKey = (bufferedOfKeys.get(this.keyId) ?? 0) + change
    if (ofKey > 0) bufferedOfKeys.set(this.keyId, ofKey)
    else bufferedOfKeys.delete(this.keyId)
  }

  /** `isOwn`: the body is in memory of its own. */
  #answer(body: Uint8Array, isOwn: boolean): void {
    this.#stopReceiving()
    this.#state = 'waiting'
    const answer = this.endpoint.handle(body, this, this.at === '' ? undefined : this.at, isOwn)
    if (answer instanceof Promise) void this.#answerLater(answer)
    else this.#send(answer, false)
  }

  async #answerLater(promise: Promise<Answer>): Promise<void> {
    const answer = await promise
    // Cancels jobs that a timed-out answer did not wait for; the job of a stream continues.
    if (answer.rest === undefined) this.finish()
    if (this.#state === 'waiting') this.#send(answer, false)
  }

  #send(answer: Answer, isLast: boolean): void {
    if (this.#state === 'receiving') this.#stopReceiving()
    this.#state = 'sending'
    if (answer.status === 503) this.pool.floodPenalties.reportedBusy(this.keyId)
    try {
      const isEnd = isLast || this.pool.isClosing
      const body = answer.isKept === true ? this.#gzip(answer) : undefined
      const { allowance } = this.identity
      const own = allowance === undefined ? this.headers : [...this.headers, ...(allowance.headers?.() ?? [])]
      const sent = body === undefined ? answer : { ...answer, body }
      const headers = body === undefined ? own : own === noHeaders ? gzipHeaders : [...own, ...gzipHeaders]
      this.#reply.send(sent, headers, isEnd)
      // A short answer is sent by now.
      if (this.#state !== 'sending') return
      this.#unread = new UnreadAnswer(this.pool, () => this.giveUp())
      this.#unread.count(sent)
    } catch (error) {
      // Part of the answer may have been written, so the connection is closed.
      this.pool.defect(error)
      this.#reply.cut()
    }
  }

  /**
   * The compressed body of an answer whose last piece is stored, if the client accepts it. Undefined if the answer is
   * sent uncompressed. That is also so while the copy is being made, because the client gains nothing by waiting.
   */
  #gzip({ body }: Answer): AnswerBody | undefined {
    const kept = body.at(-1)
    if (!(kept instanceof Uint8Array) || kept.length < compressedBytesMin) return undefined
    const { acceptEncoding, pool } = this
    if (acceptEncoding === '' || chooseEncoding(acceptEncoding, joinable) === undefined) return undefined
    const copy = pool.copies.deflated(kept)
    // Calls with long ids are not repeated (rpc/reading/envelope.ts), so the text before fits into a stored block.
    return copy && gzipMember((body.slice(0, -1) as string[]).join(''), copy)
  }

  #stopReceiving(): void {
    this.pool.receiving.remove(this)
    this.pool.bodySlices.forget(this)
    if (this.#memory === noMemory) return
    this.#hold(-this.#memory.length)
    this.#memory = noMemory
  }
}
