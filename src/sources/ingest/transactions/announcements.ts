/**
 * Hashes of transactions that wait for a block: those sent from here, and those that an upstream announces. The
 * upstream is polled only while a caller wants hashes. Owns how many are kept and the rate limit. Hashes of an upstream
 * are not proved: such a transaction may not exist.
 */

import { type Hash32, hexToBytes, latin1Key } from '../../../primitives/bytes.js'
import { pause } from '../../../primitives/deferred.js'
import { excerpt } from '../../../primitives/jsonType.js'
import type { Announced } from '../../../primitives/upstreamCalls.js'
import { UpstreamFailure } from '../../upstream/line.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { type Asked, NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'

/** Number of kept hashes, for late callers: some minutes of mainnet's public transactions. */
const keptMax = 8_192
/** Time between two polls of the upstream. */
const pollMs = 250
/**
 * Most hashes of one poll, 1,000 per second: fifty times mainnet's rate. The rest is dropped, to limit a malicious
 * upstream.
 */
const perPollMax = 250
/** How long an upstream is polled after the last call: callers poll filters, some of them rarely. */
const wantedMs = 60_000
/** Longest wait of a call for the next hash. */
const announcedWaitMsMax = 1_000
/** Longest time of one request to the upstream. */
const askMs = 5_000
/** Wait after a failure; each further one doubles it, up to the longest. */
const retryMs = 500
const retryMsMax = 30_000
/** Longest id of a filter; go-ethereum's has 34 characters. */
const filterIdMax = 128

/**
 * Time between two messages about failures, and longest reason in one: a node may answer with a different text each
 * time.
 */
const reportMs = 60_000
const whyMax = 300

const hashPattern = /^0x[0-9a-f]{64}$/i

export class Announcements {
  readonly #upstreams: Upstreams | undefined
  readonly #log: (text: string) => void
  /** The newest hashes, oldest first; `#first` is the number of the first of them. */
  #hashes: Uint8Array[] = []
  #first = 0
  /** Keys of kept hashes, so that each is announced once. */
  readonly #known = new Set<string>()
  readonly #ending = new AbortController()
  #wake = new AbortController()
  #wantedAtMs = Number.NEGATIVE_INFINITY
  #listening: Promise<void> | undefined
  #reportedAtMs = Number.NEGATIVE_INFINITY

  /** Without upstreams only transactions sent from here are announced. `log` gets sentences for the operator. */
  constructor(upstreams?: Upstreams, log: (text: string) => void = () => {}) {
    this.#upstreams = upstreams
    this.#log = log
  }

  /** Announces a hash that is not kept yet. */
  add(hash: Uint8Array): void {
    const key = latin1Key(hash)
    if (this.#known.has(key)) return
    this.#known.add(key)
    this.#hashes.push(hash)
    if (this.#hashes.length >= 2 * keptMax) this.#forget(keptMax)
    this.#wake.abort()
    this.#wake = new AbortController()
  }

  /** Whether the transaction was announced and its hash is still stored. */
  has(hash: Uint8Array): boolean {
    return this.#known.has(latin1Key(hash))
  }

  /** See {@link UpstreamCalls.announced}. */
  async since(after: number | undefined, waitMs: number): Promise<Announced> {
    this.#wantedAtMs = performance.now()
    if (this.#upstreams !== undefined) {
      this.#listening ??= this.#listen(this.#upstreams).finally(() => {
        this.#listening = undefined
      })
    }
    const isWaiting = after === this.#next && waitMs > 0 && !this.#ending.signal.aborted
    if (isWaiting) await pause(Math.min(waitMs, announcedWaitMsMax), this.#wake.signal)
    // The number may come from an earlier process and be higher.
    const from = Math.min(Math.max(after ?? this.#next, this.#first), this.#next)
    return { next: this.#next, hashes: Buffer.concat(this.#hashes.slice(from - this.#first)) }
  }

  /** Ends waits. Resolves once no upstream is polled. The caller must also end the upstreams. */
  async close(): Promise<void> {
    this.#ending.abort()
    this.#wake.abort()
    await this.#listening
  }

  get #next(): number {
    return this.#first + this.#hashes.length
  }

  get #isWanted(): boolean {
    return !this.#ending.signal.aborted && performance.now() < this.#wantedAtMs + wantedMs
  }

  #forget(count: number): void {
    for (const hash of this.#hashes.splice(0, count)) this.#known.delete(latin1Key(hash))
    this.#first += count
  }

  /** Never rejects. */
  async #listen(upstreams: Upstreams): Promise<void> {
    let failures = 0
    /** Upstreams without such filters. */
    const unable: Upstream[] = []
    while (this.#isWanted) {
      let isMade = false
      try {
        const filter = await upstreams.ask('eth_newPendingTransactionFilter', [], {
          deadline: performance.now() + askMs,
          not: unable,
        })
        // A lost filter, as after a restart, is made again.
        isMade = true
        await this.#poll(upstreams, filter, () => {
          failures = 0
        })
      } catch (error) {
        if (error instanceof NodeError && !isMade) unable.push(error.upstream)
        // If none is left, all are asked again: one may have been upgraded.
        if (unable.length >= upstreams.count) unable.length = 0
        const isKnown = [NodeError, NoAnswerError, UpstreamFailure].some((kind) => error instanceof kind)
        this.#reportFailure(isKnown ? (error as Error).message : String((error as Error).stack))
        await pause(Math.min(retryMs * 2 ** failures++, retryMsMax), this.#ending.signal)
      }
    }
  }

  /** Polls one node as long as it answers and hashes are wanted. Rejects with the node's failure. */
  async #poll(
    upstreams: Upstreams,
    { result: id, upstream: only }: Asked,
    onAnswer: () => void,
  ): Promise<void> {
    const deadline = () => performance.now() + askMs
    if (typeof id !== 'string' || id.length > filterIdMax) {
      throw new UpstreamFailure('unreadable', 'a malformed id of a filter')
    }
    while (this.#isWanted) {
      const asked = await upstreams.ask('eth_getFilterChanges', [id], { deadline: deadline(), only })
      const { result } = asked
      if (!Array.isArray(result)) throw new UpstreamFailure('unreadable', 'changes that are no list')
      for (const hash of result.slice(0, perPollMax)) {
        if (typeof hash !== 'string' || !hashPattern.test(hash)) {
          throw new UpstreamFailure('unreadable', 'a malformed hash')
        }
        this.add(hexToBytes(hash.toLowerCase()) as Hash32)
      }
      onAnswer()
      await pause(pollMs, this.#ending.signal)
    }
    await upstreams.ask('eth_uninstallFilter', [id], { deadline: deadline(), only }).catch(() => undefined)
  }

  #reportFailure(why: string): void {
    const now = performance.now()
    if (now < this.#reportedAtMs + reportMs || this.#ending.signal.aborted) return
    this.#reportedAtMs = now
    this.#log(`pending transactions of upstreams are not announced: ${excerpt(why, whyMax)}`)
  }
}
