/**
 * Computes the hash of each submitted transaction once: a repeated submission, by anyone and in any spelling, only
 * takes a digest of its fields. Owns the hashes that are known or being computed, and their waiters; whether a
 * duplicate is refused is decided by the queue.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Waiter } from '../../primitives/deferred.js'
import type { Felt } from './felt.js'
import { type HashedFields, type InvokeTransaction, toHashedFields } from './invokeTransaction.js'

/** A caller that waits for a hash and may leave. */
export interface HashWaiter extends Waiter {
  readonly keyId: string
  readonly isFinished: boolean
  /** Called with the CPU time that the work took. */
  ran(cpuMs: number): void
}

/** Computes a hash, usually on another thread. May reject with any error once `waiter` is gone. */
export type ComputeHash = (fields: HashedFields, waiter: HashWaiter) => Promise<Felt>

/** Hashes remembered: as many as the queue takes by default; some 3 MB. */
const knownMaxDefault = 10_000

/** A hash that is being computed. */
interface Work {
  readonly waiters: Waiters
  readonly hash: Promise<Felt>
}

export class InvokeHashes {
  readonly #compute: ComputeHash
  /** Digest of the fields → hash. */
  readonly #known: LRUCache<string, Felt>
  readonly #inFlight = new Map<string, Work>()

  constructor(compute: ComputeHash, knownMax = knownMaxDefault) {
    this.#compute = compute
    this.#known = new LRUCache({ max: knownMax })
  }

  /** The hash of a transaction. Rejects with the error of the computation. Quick if the hash is known. */
  async hashOf(transaction: InvokeTransaction, waiter: HashWaiter): Promise<Felt> {
    const fields = toHashedFields(transaction)
    const digest = createHash('sha256').update(JSON.stringify(fields)).digest('base64')
    for (;;) {
      const known = this.#known.get(digest)
      if (known !== undefined) return known
      const inFlight = this.#inFlight.get(digest)
      const isShared = inFlight !== undefined && !inFlight.waiters.isFinished
      if (isShared) inFlight.waiters.add(waiter)
      try {
        // All waiters use the same await, so they continue in the order of their arrival.
        return await (isShared ? inFlight.hash : this.#start(digest, fields, new Waiters(waiter)))
      } catch (error) {
        // A computation begun for another caller had that caller's deadline; begin one for this caller.
        if (!isShared || waiter.isFinished) throw error
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
        if (this.#inFlight.get(digest)?.waiters === waiters) this.#inFlight.delete(digest)
      })
    this.#inFlight.set(digest, { waiters, hash })
    return hash
  }
}

/** All waiters for one hash, combined into one that leaves when all have left. The first one pays for the work. */
class Waiters implements HashWaiter {
  readonly #first: HashWaiter
  /** Keyed by the callback for their leaving, because one caller may wait several times, in a batch. */
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

  get isFinished(): boolean {
    return this.#waiting.size === 0
  }

  add(waiter: HashWaiter): void {
    if (waiter.isFinished) return
    const leave = () => {
      this.#waiting.delete(leave)
      if (this.isFinished) for (const listener of this.#listeners) listener()
    }
    this.#waiting.set(leave, waiter)
    waiter.onFinished(leave)
  }

  /** Stops listening to their departure. */
  release(): void {
    for (const [leave, waiter] of this.#waiting) waiter.forget(leave)
  }

  onFinished(listener: () => void): void {
    this.#listeners.add(listener)
  }

  forget(listener: () => void): void {
    this.#listeners.delete(listener)
  }
}
