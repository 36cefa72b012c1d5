import type { Rejection, SubmissionRow, SubmissionState } from '../../data/store/submissions.js'
import { type Awaitable, whenKnown } from '../../primitives/awaitable.js'
import { FaultError, type InvokeErrorCode } from '../../primitives/faults.js'
import type { Felt } from './felt.js'
import type { HashWaiter } from './invokeHashes.js'
import { type InvokeTransaction, queryVersion } from './invokeTransaction.js'
import type { SubmissionReader } from './submissionStore.js'

export type { Rejection, SubmissionRow, SubmissionState } from '../../data/store/submissions.js'

export interface StatusChange {
  readonly hash: Felt
  readonly sender: Felt
  readonly state: SubmissionState
  readonly rejection: Rejection | undefined
}

/**
 * Takes transactions and reports their status: the queue itself, or its stand-in on an edge that does not hold the
 * queue. Reads go to the store; listeners are called with changes once these are on disk.
 */
export abstract class SubmissionService {
  readonly #store: SubmissionReader
  /** Hash → listeners of that transaction, so that a change does not call thousands of other waiters. */
  readonly #listenersOf = new Map<Felt, Set<(change: StatusChange) => void>>()

  constructor(store: SubmissionReader) {
    this.#store = store
  }

  /**
   * Takes an acceptable transaction and resolves to its hash once it is on disk. Rejects with FaultError:
   * InvokeRefused where a rule forbids it, SubmissionsFull where there is no room, or the reason why its hash could
   * not be computed, such as ServerBusy. If `submitter` leaves before it is hashed, it may not be taken.
   */
  abstract submit(transaction: InvokeTransaction, submitter: HashWaiter): Promise<Felt>

  /** Throws FaultError InvokeRefused for a transaction that no sequencer would accept. */
  assertAcceptable(transaction: InvokeTransaction): void {
    if (transaction.version === queryVersion) throw refused(61)
    if (maximalFee(transaction) === 0n) throw refused(53)
  }

  /** The row of a waiting or kept transaction; undefined where there is none. */
  readRow(hash: Felt): Awaitable<SubmissionRow | undefined> {
    return this.#store.readRow(hash)
  }

  /** A waiting or kept transaction; undefined where there is none. */
  readTransaction(hash: Felt): Awaitable<InvokeTransaction | undefined> {
    return whenKnown(this.#store.readBody(hash), (body) => body && bodyToTransaction(body))
  }

  /**
   * Calls `listener` with every change of one transaction, even of one not known yet; returns a function that stops
   * this.
   */
  onStatusOf(hash: Felt, listener: (change: StatusChange) => void): () => void {
    const listeners = this.#listenersOf.get(hash) ?? new Set()
    this.#listenersOf.set(hash, listeners.add(listener))
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#listenersOf.delete(hash)
    }
  }

  protected notifyOf(change: StatusChange): void {
    for (const listener of this.#listenersOf.get(change.hash) ?? []) listener(change)
  }
}

export function bodyToTransaction(body: Uint8Array): InvokeTransaction {
  return JSON.parse(Buffer.from(body).toString()) as InvokeTransaction
}

export function refused(code: InvokeErrorCode): FaultError {
  return new FaultError({ kind: 'InvokeRefused', code, text: undefined })
}

function maximalFee({ resource_bounds: bounds }: InvokeTransaction): bigint {
  let fee = 0n
  for (const { max_amount, max_price_per_unit } of Object.values(bounds)) {
    fee += BigInt(max_amount) * BigInt(max_price_per_unit)
  }
  return fee
}
