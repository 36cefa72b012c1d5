/**
 * Subscriptions to pending transactions, by hash or whole. Owns the one request for the next hashes, open while there
 * is a subscription. The hashes come through `UpstreamCalls`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { asBuffer, bytesToHex, type Hash32, toHash32 } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import type { UpstreamCalls } from '../../primitives/upstreamCalls.js'
import { type KeptEvents, keepEvents } from './eventMessage.js'
import { deliverAll, keptSubscription } from './keptSubscription.js'
import type { OpenedStream } from './networkStreams.js'
import type { Subscriber } from './subscriber.js'
import type { Delivery, Subscription } from './subscription.js'

/** How long a request waits for the next hash. */
const waitMs = 1_000
/** Wait after a failed request. */
const retryMs = 1_000
/** Whole transactions fetched at a time. */
const wholeMax = 32
/** Whole transactions that wait to be fetched; beyond this, the oldest are dropped. */
const waitingMax = 1_024

export class PendingStreams {
  readonly #calls: UpstreamCalls
  readonly #headNumber: () => number
  readonly #reportDefect: (error: unknown) => void
  readonly #hashes = new Set<Subscription<KeptEvents>>()
  readonly #whole = new Set<Subscription<KeptEvents>>()
  #watching: Promise<void> | undefined
  /** Hashes of transactions to send whole. */
  readonly #wanted: Hash32[] = []
  #looking: Promise<void> | undefined

  constructor(calls: UpstreamCalls, headNumber: () => number, reportDefect: (error: unknown) => void) {
    this.#calls = calls
    this.#headNumber = headNumber
    this.#reportDefect = reportDefect
  }

  /** Subscribes to transactions announced from now on. Throws FaultError for too many subscriptions. */
  subscribe(subscriber: Subscriber, delivery: Delivery, isWhole: boolean): OpenedStream {
    const members = isWhole ? this.#whole : this.#hashes
    const subscription = keptSubscription(subscriber, delivery, members)
    const start = () => {
      if (subscription.isEnded) return
      members.add(subscription)
      this.#watching ??= this.#watch()
        .catch(this.#reportDefect)
        .finally(() => {
          this.#watching = undefined
        })
    }
    return { id: subscription.id, start }
  }

  get #isWatched(): boolean {
    return this.#hashes.size + this.#whole.size > 0
  }

  async #watch(): Promise<void> {
    let after: number | undefined
    while (this.#isWatched) {
      try {
        const { next, hashes } = await this.#calls.announced(after, waitMs)
        after = next
        await this.#deliver(hashesOf(hashes))
      } catch (error) {
        if (!(error instanceof FaultError)) throw error
        await sleep(retryMs)
      }
    }
  }

  async #deliver(hashes: readonly Hash32[]): Promise<void> {
    // All hashes of one answer are of one origin: the policy for slow readers counts only earlier ones that still wait.
    if (this.#hashes.size > 0) {
      const results = hashes.map((hash) => `"${bytesToHex(hash)}"`)
      await deliverAll(keepEvents(this.#headNumber(), results), this.#hashes)
    }
    if (this.#whole.size === 0) return
    for (const hash of hashes) this.#wanted.push(hash)
    this.#wanted.splice(0, this.#wanted.length - waitingMax)
    this.#looking ??= this.#lookUp()
      .catch(this.#reportDefect)
      .finally(() => {
        this.#looking = undefined
      })
  }

  /** Sends whole transactions, some at a time, while hashes continue. */
  async #lookUp(): Promise<void> {
    while (this.#wanted.length > 0 && this.#whole.size > 0) {
      const asked = this.#wanted.splice(0, wholeMax).map((hash) => wholePending(this.#calls, hash))
      const found = (await Promise.all(asked)).filter((json) => json !== undefined)
      await deliverAll(keepEvents(this.#headNumber(), found), this.#whole)
    }
    this.#wanted.length = 0
  }
}

/** Splits the 32-byte hashes of an answer of `announced`. */
export function hashesOf(bytes: Uint8Array): Hash32[] {
  const hashes: Hash32[] = []
  for (let at = 0; at < bytes.length; at += 32) hashes.push(toHash32(bytes.slice(at, at + 32)))
  return hashes
}

/** The object of an announced transaction, JSON; undefined if no node has it any more. */
export async function wholePending(calls: UpstreamCalls, hash: Hash32): Promise<Buffer | undefined> {
  try {
    const json = await calls.pending(hash)
    return json && asBuffer(json)
  } catch (error) {
    if (error instanceof FaultError) return undefined
    throw error
  }
}
