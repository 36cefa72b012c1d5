/**
 * One GET or HEAD of a resource (rpc/reading/resources.ts), from its name to its answer: the result alone, with headers
 * for caching and compression.
 */
import type { Answer, AnswerBody } from '../rpc/answers/answer.js'
import { isNull } from '../rpc/answers/outcome.js'
import { type Identity, RequestContext } from '../rpc/contexts/requestContext.js'
import type { Endpoint } from '../rpc/dispatch/endpoint.js'
import { resourceStatus } from '../rpc/reading/resources.js'
import { chooseEncoding } from './acceptEncoding.js'
import { refusal } from './admission.js'
import { compressedBytesMin } from './compressedCopies.js'
import type { ExchangePool } from './exchange.js'
import { UnreadAnswer } from './unreadAnswer.js'
import { type ExtraHeaders, noHeaders, type Reply } from './wire.js'

export interface Wanted {
  readonly acceptEncoding: string
  readonly ifNoneMatch: string
}

const absent = refusal(404, -32000, 'there is nothing of this name here')

/** Errors are not cached: an error may be temporary. */
export const notKept: ExtraHeaders = [['cache-control', 'no-store']]

/** A year, the maximum of caches. Private, because the address contains a key. */
const keptForever = ['cache-control', 'private, max-age=31536000, immutable'] as const

/** Also sent with an uncompressed answer, because the choice depends on the accepted codings. */
const vary = ['vary', 'accept-encoding'] as const

export class ResourceExchange extends RequestContext {
  readonly #reply: Reply
  readonly #pool: ExchangePool
  readonly #headers: ExtraHeaders
  #isOver = false
  #unread: UnreadAnswer | undefined

  /** Takes over `reply`. Call it inside the handler of the request, and then {@link answer}. */
  constructor(reply: Reply, pool: ExchangePool, identity: Identity, headers: ExtraHeaders) {
    super(undefined, identity)
    this.#reply = reply
    this.#pool = pool
    this.#headers = headers
    pool.open++
    reply.wait(this)
  }

  /** Answers with the result of the call in `body`. Never rejects. */
  async answer(endpoint: Endpoint, body: string, wanted: Wanted): Promise<void> {
    try {
      const answer = await endpoint.handle(Buffer.from(body), this, undefined, true)
      // Cancels jobs that a timed-out answer did not wait for.
      this.finish()
      await this.#send(answer, wanted)
    } catch (error) {
      this.#pool.defect(error)
      this.#reply.cut()
    }
  }

  over(): void {
    this.#isOver = true
    this.#unread?.over()
    this.finish()
    if (--this.#pool.open === 0 && this.#pool.isClosing) this.#pool.onIdle()
  }

  async #send({ result, fault, body, retryAfterMs, trust }: Answer, wanted: Wanted): Promise<void> {
    if (result === undefined) {
      return this.#sendUnkept({ status: resourceStatus(fault), body, retryAfterMs, trust })
    }
    if (isNull(result)) return this.#sendUnkept({ ...absent, trust })
    const { copies } = this.#pool
    const bytes = typeof result === 'string' ? Buffer.from(result) : result
    const name = await copies.nameOf(bytes)
    const encoding =
      bytes.length < compressedBytesMin ? undefined : chooseEncoding(wanted.acceptEncoding, copies.offered)
    const tag = `"${name}${encoding === undefined ? '' : `-${encoding}`}"`
    if (isNamedIn(wanted.ifNoneMatch, tag)) return this.#sendResult(304, '', trust, tag)
    // Waits for the copy: an answer that is cached for a year should be short, and later clients get the same copy.
    const copy = encoding && (await copies.compress(bytes, encoding))
    if (copy === undefined) return this.#sendResult(200, [bytes], trust, `"${name}"`)
    this.#sendResult(200, copy, trust, tag, encoding)
  }

  /** Only these answers contain the key's remaining limits: a cached answer would repeat outdated ones. */
  #sendUnkept(answer: Answer): void {
    const limits = this.identity.allowance?.headers?.() ?? noHeaders
    this.#reply.send(answer, [...notKept, ...limits, ...this.#headers], this.#pool.isClosing)
  }

  #sendResult(
    status: number,
    body: AnswerBody,
    trust: Answer['trust'],
    tag: string,
    encoding?: string,
  ): void {
    const headers: (readonly [string, string])[] = [['etag', tag], keptForever, vary, ...this.#headers]
    if (encoding !== undefined) headers.push(['content-encoding', encoding])
    this.#reply.send({ status, body, retryAfterMs: undefined, trust }, headers, this.#pool.isClosing)
    if (this.#isOver) return
    this.#unread = new UnreadAnswer(this.#pool, () => this.#reply.cut())
    this.#unread.count({ body })
  }
}

/* Entity tags of RFC 9110, section 8.8.3. */

/** Whether `If-None-Match` names this tag, by weak comparison. Empty: no such header was sent. */
export function isNamedIn(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === '') return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.match(/"[^"]*"/g)?.some((named) => named === tag) ?? false
}
