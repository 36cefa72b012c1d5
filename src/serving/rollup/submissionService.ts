import {
  isSettled,
  type Lane,
  type SubmissionId,
  type SubmissionRow,
} from '../../data/store/node/submissions.js'
import { type Awaitable, type Waiter, whenKnown } from '../../primitives/deferred.js'
import { FaultError, type InvokeErrorCode } from '../../primitives/faults.js'
import { setTimeout } from '../../primitives/timers.js'
import type { Felt } from './felt.js'
import type { HashWaiter } from './invokeHashes.js'
import { type InvokeTransaction, queryVersion } from './invokeTransaction.js'
import type { SubmissionReader } from './submissionStore.js'

export type {
  Rejection,
  SubmissionId,
  SubmissionRow,
  SubmissionState,
} from '../../data/store/node/submissions.js'

/**
 * Takes transactions and reports their status: the queue itself, or its stand-in on another edge. Reads go to the
 * store; listeners are called with changes once these are on disk.
 *
 * For a hash that its own key submitted, a caller sees only its own submissions; for any other hash, those of others.
 */
export abstract class SubmissionService {
  readonly #store: SubmissionReader
  /** Hash → listeners of that transaction, so that a change does not call thousands of other waiters. */
  readonly #listenersOf = new Map<string, Set<(row: SubmissionRow) => void>>()

  constructor(store: SubmissionReader) {
    this.#store = store
  }

  /**
   * Takes an acceptable transaction. Resolves, once it is on disk, to its id, or to the id of an earlier one with the
   * same hash. Rejects with FaultError: InvokeRefused if a rule forbids it, SubmissionsFull if there is no room. Other
   * faults, such as ServerBusy, say why its hash could not be computed. If `submitter` leaves before it is hashed, it
   * may not be taken.
   */
  abstract submit(transaction: InvokeTransaction, submitter: HashWaiter): Promise<SubmissionId>

  /** Throws FaultError InvokeRefused for a transaction that no sequencer would accept. */
  assertAcceptable(transaction: InvokeTransaction): void {
    if (transaction.version === queryVersion) throw refused(61)
    if (maximalFee(transaction) === 0n) throw refused(53)
  }

  /** Rows of waiting or settled transactions with this hash: those of `key`, or if it has none, those of others. */
  readRows(hash: Felt, key: string): Awaitable<SubmissionRow[]> {
    return this.#store.readRows(hash, key)
  }

  /** The row of {@link readRows} that gives the status of the hash; undefined if there is none. */
  readRow(hash: Felt, key: string): Awaitable<SubmissionRow | undefined> {
    return whenKnown(this.readRows(hash, key), (rows) => statusRow(rows, key))
  }

  /** A waiting or settled transaction; undefined if there is none. */
  readTransaction(hash: Felt, key: string): Awaitable<InvokeTransaction | undefined> {
    return whenKnown(this.readRow(hash, key), (row) =>
      row === undefined
        ? undefined
        : whenKnown(this.#store.readBody(row), (body) => body && bodyToTransaction(body)),
    )
  }

  /**
   * Calls `listener` with every change of a row with this hash, even of one not known yet. Returns a function that
   * stops this.
   */
  onStatusOf(hash: Felt, listener: (row: SubmissionRow) => void): () => void {
    const listeners = this.#listenersOf.get(hash) ?? new Set()
    this.#listenersOf.set(hash, listeners.add(listener))
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#listenersOf.delete(hash)
    }
  }

  protected notifyOf(row: SubmissionRow): void {
    for (const listener of this.#listenersOf.get(row.hash) ?? []) listener(row)
  }
}

/** Rank of each state for a hash with several rows: each row has another signature, and one accepted row is enough. */
const ranks = { REJECTED: 0, RECEIVED: 1, SENT: 2, ACCEPTED: 3 } as const

/**
 * The row that gives the status of a hash to `key`: own rows before others, accepted before waiting before rejected.
 */
export function statusRow(rows: Iterable<SubmissionRow>, key: string): SubmissionRow | undefined {
  const [first] = [...rows].sort(
    (a, b) =>
      Number(b.key === key) - Number(a.key === key) ||
      ranks[b.state] - ranks[a.state] ||
      b.changedAtMs - a.changedAtMs,
  )
  return first
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

/** A submission as a key of maps. */
export function idText({ hash, key, digest }: SubmissionId): string {
  return `${hash}/${key}/${digest}`
}

/** A lane as a key of maps. */
export function laneText({ key, sender }: Lane): string {
  return `${key}/${sender}`
}

/**
 * Waits until a submitted transaction is settled. Resolves to the settled row. Resolves to undefined after `waitMs`,
 * when the waiter leaves, or at once if the queue does not have the transaction or cannot be read.
 */
export function waitForVerdict(
  queue: SubmissionService,
  { hash, key, digest }: SubmissionId,
  waitMs: number,
  waiter: Waiter,
): Promise<SubmissionRow | undefined> {
  const isIt = (row: SubmissionRow) => row.key === key && row.digest === digest
  return new Promise((resolve) => {
    const finish = (verdict: SubmissionRow | undefined): void => {
      clearTimeout(timer)
      unlisten()
      waiter.forget(giveUp)
      resolve(verdict)
    }
    const giveUp = () => finish(undefined)
    const take = (row: SubmissionRow): void => {
      if (isIt(row) && isSettled(row.state)) finish(row)
    }
    const unlisten = queue.onStatusOf(hash as Felt, take)
    const timer = setTimeout(giveUp, waitMs)
    waiter.onFinished(giveUp)
    // Read after the listener is set: the verdict may come in between.
    Promise.resolve(queue.readRows(hash as Felt, key)).then((rows) => {
      const row = rows.find(isIt)
      return row === undefined ? giveUp() : take(row)
    }, giveUp)
  })
}
