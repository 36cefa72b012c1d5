/**
 * Hashes of submitted transactions, each computed once: a transaction that is submitted again, by whomever and however
 * it is written, costs a digest of its fields. Owns which hashes are known and under way, and for whom; whether a
 * duplicate is refused is decided where it is stored.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Felt } from './felt.js'
import { type HashedFields, type InvokeTransaction, toHashedFields } from './invokeTransaction.js'

/** Whoever waits for a hash, and may go away. */
export interface HashWaiter {
  /** Of their API key. */
  readonly keyId: string
  readonly isGone: boolean
  onGone(listener: () => void): void
  forget(listener: () => void): void
  /** The work took so much CPU. */
  ran(cpuMs: number): void
}

/** Computes a hash, on another thread as a rule. May give up with any error once `waiter` is gone. */
export type ComputeHash = (fields: HashedFields, waiter: HashWaiter) => Promise<Felt>

/** Hashes that are known: those of a queue of the usual length, some 3 MB. */
const knownMaxDefault = 10_000

/** A hash that is being computed. */
interface Work {
  readonly waiters: Waiters
  readonly hash: Promise<Felt>
}

export class InvokeHashes {
  readonly #compute: ComputeHash
  /** By digest. */
  readonly #known: LRUCache<string, Felt>
  readonly #underWay = new Map<string, Work>()

  constructor(compute: ComputeHash, knownMax = knownMaxDefault) {
    this.#compute = compute
    this.#known = new LRUCache({ max: knownMax })
  }

  /** Rejects with whatever the computation rejects with. 10 µs where the hash is known, 1 ms for 5,000 felts. */
  async hashOf(transaction: InvokeTransaction, waiter: HashWaiter): Promise<Felt> {
    const fields = toHashedFields(transaction)
    const digest = createHash('sha256').update(JSON.stringify(fields)).digest('base64')
    for (;;) {
      const known = this.#known.get(digest)
      if (known !== undefined) return known
      const underWay = this.#underWay.get(digest)
      const isShared = underWay !== undefined && !underWay.waiters.isGone
      if (isShared) underWay.waiters.add(waiter)
      try {
        // All wait for it in the same way, so they go on in the order in which they came.
        return await (isShared ? underWay.hash : this.#start(digest, fields, new Waiters(waiter)))
      } catch (error) {
        // One that was begun for somebody else had their deadline and their place in a queue.
        if (!isShared || waiter.isGone) throw error
      }
    }
  }

  #start(digest: string, fields: HashedFields, waiters: Waiters): Promise<Felt> {
    const hash = this.#compute(fields, waiters)
      .then((computed) => {
        this.#known.set(digest, computed)
        return computed
      })
      .finally(() => {
        waiters.release()
        if (this.#underWay.get(digest)?.waiters === waiters) this.#underWay.delete(digest)
      })
    this.#underWay.set(digest, { waiters, hash })
    return hash
  }
}

/** All who wait for one hash, as one who is gone when they all are. The work is the first one's, and its cost. */
class Waiters implements HashWaiter {
  readonly #first: HashWaiter
  /** By what is called when they go; one may wait several times, by a batch. */
  readonly #waiting = new Map<() => void, HashWaiter>()
  readonly #listeners = new Set<() => void>()

  constructor(first: HashWaiter) {
    this.#first = first
    this.add(first)
  }

  get keyId(): string {
    return this.#first.keyId
  }

  ran(cpuMs: number): void {
    this.#first.ran(cpuMs)
  }

  get isGone(): boolean {
    return this.#waiting.size === 0
  }

  add(waiter: HashWaiter): void {
    if (waiter.isGone) return
    const leave = () => {
      this.#waiting.delete(leave)
      if (this.isGone) for (const listener of this.#listeners) listener()
    }
    this.#waiting.set(leave, waiter)
    waiter.onGone(leave)
  }

  /** Waits no more for any of them to go. */
  release(): void {
    for (const [leave, waiter] of this.#waiting) waiter.forget(leave)
  }

  onGone(listener: () => void): void {
    this.#listeners.add(listener)
  }

  forget(listener: () => void): void {
    this.#listeners.delete(listener)
  }
}
