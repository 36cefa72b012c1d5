/**
 * The queue of invoke transactions submitted to one rollup network. A transaction whose hash was answered is kept on
 * disk until the sequencer accepts or rejects it. Owns admission, replacement, the states of a transaction, and how
 * long it is kept. Does not own delivery (`forwarder.ts`, `deliveries.ts`) nor the store (`submissionStore.ts`).
 *
 *   RECEIVED ⇄ SENT → ACCEPTED
 *       └───────┴───→ REJECTED → RECEIVED (the same transaction again, its signature corrected)
 *
 * Every decision is made within the store's transaction that writes its result, so concurrent submissions see each
 * other. Listeners are called with a change once it is on disk.
 */

import { isSettled, type SubmissionRow } from '../../data/store/submissions.js'
import { FaultError } from '../../primitives/faults.js'
import type { Felt } from './felt.js'
import { type ComputeHash, type HashWaiter, InvokeHashes } from './invokeHashes.js'
import type { InvokeTransaction } from './invokeTransaction.js'
import { isOld, rejectionOfOld, type WaitLimit } from './submissionAge.js'
import { bodyToTransaction, refused, type StatusChange, SubmissionService } from './submissionService.js'
import type { QueueCounts, SubmissionStore, SubmissionTransaction } from './submissionStore.js'

interface QueueLimits extends WaitLimit {
  /** Transactions that may wait for the sequencer's verdict. */
  readonly waitingMax: number
  /** Their bytes, as JSON. */
  readonly waitingBytesMax: number
  /** How long settled transactions are kept. */
  readonly retentionMs: number
  /** Settled transactions kept; the oldest are removed first. */
  readonly settledMax: number
}

export interface QueueOptions {
  readonly limits: QueueLimits
  /** Whether a transaction that is already known is answered with its hash instead of error 59. */
  readonly idempotent: boolean
  readonly computeHash: ComputeHash
}

/** Percentage by which tip and price must rise to replace a transaction, as in the rollup's own sequencers. */
const replacementRaise = 10n

/** `retryAfterMs` for a full queue: a sequencer that answers makes room sooner. */
const fullRetryMs = 1_000

/** Settled transactions removed in one transaction of the store, which then takes a few milliseconds. */
const pruneMax = 200

export class SubmissionQueue extends SubmissionService {
  readonly #store: SubmissionStore
  readonly #options: QueueOptions
  readonly #hashes: InvokeHashes
  readonly #listeners = new Set<(change: StatusChange) => void>()

  constructor(store: SubmissionStore, options: QueueOptions) {
    super(store)
    this.#store = store
    this.#options = options
    this.#hashes = new InvokeHashes(options.computeHash)
    store.onChange((row) => this.#publish(row))
  }

  override async submit(transaction: InvokeTransaction, submitter: HashWaiter): Promise<Felt> {
    const hash = await this.#hashes.hashOf(transaction, submitter)
    await this.#take(transaction, hash)
    return hash
  }

  /** Calls `listener` with every change once it is on disk; returns a function that stops this. */
  onStatus(listener: (change: StatusChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Rejects transactions that have waited too long and removes settled ones that were kept long enough. Call it
   * regularly. The sequencer may have those that are SENT, so the forwarder decides on them (see
   * {@link Outgoing.expiry}).
   */
  async sweep(now = Date.now()): Promise<void> {
    const { limits } = this.#options
    const expired = await this.#store.readWaitingSince(now - limits.waitingMsMax)
    await Promise.all(expired.map((hash) => this.#expire(hash, now)))
    while ((await this.#store.prune(now - limits.retentionMs, limits.settledMax, pruneMax)) === pruneMax);
  }

  /** The rows of those that wait longest, oldest first, `limit` at most. */
  async readWaiting(limit: number): Promise<SubmissionRow[]> {
    const hashes = await this.#store.readWaitingSince(Date.now(), limit)
    const rows = await Promise.all(hashes.map((hash) => this.readRow(hash)))
    return rows.flatMap((row) => (row !== undefined && !isSettled(row.state) ? [row] : []))
  }

  counts(now = Date.now()): QueueCounts {
    return this.#store.counts(now)
  }

  /** Stores a transaction. A duplicate resolves only when earlier writes are on disk, too. */
  #take(transaction: InvokeTransaction, hash: Felt): Promise<void> {
    const { sender_address: sender, nonce } = transaction
    const body = Buffer.from(JSON.stringify(transaction))
    const now = Date.now()
    const row: SubmissionRow = {
      hash,
      state: 'RECEIVED',
      sender,
      nonce,
      receivedAtMs: now,
      changedAtMs: now,
      bodyBytes: body.length,
      rejection: undefined,
    }
    return this.#store.write({ hash, place: { sender, nonce } }, (rows) => {
      const known = rows.readRow(hash)
      if (known !== undefined && known.state !== 'REJECTED') {
        if (this.#options.idempotent) return
        throw refused(59)
      }
      const rival = findRival(rows, transaction)
      this.#assertRoom(rows, body.length, rival)
      if (rival !== undefined) {
        const rejection = { code: undefined, text: `replaced by ${hash}` }
        rows.put({ ...rival, state: 'REJECTED', changedAtMs: Date.now(), rejection })
      }
      rows.put(row, body)
    })
  }

  /** For so many bytes in place of those of `rival`. */
  #assertRoom(rows: SubmissionTransaction, bytes: number, rival: SubmissionRow | undefined): void {
    const { waitingMax, waitingBytesMax } = this.#options.limits
    const waiting = rows.waiting - (rival === undefined ? 0 : 1)
    const waitingBytes = rows.waitingBytes - (rival?.bodyBytes ?? 0)
    const full = (what: string) =>
      new FaultError({ kind: 'SubmissionsFull', what, retryAfterMs: fullRetryMs })
    if (waiting >= waitingMax) throw full(`${waiting} transactions wait for the sequencer`)
    if (waitingBytes + bytes > waitingBytesMax) {
      throw full(`${waitingBytes} bytes of transactions wait for the sequencer`)
    }
  }

  #expire(hash: Felt, now: number): Promise<void> {
    const { limits } = this.#options
    return this.#store.write({ hash }, (rows) => {
      const row = rows.readRow(hash)
      // It may have been sent since it was found to be old.
      if (row?.state !== 'RECEIVED' || !isOld(row, now, limits)) return
      rows.put({ ...row, state: 'REJECTED', changedAtMs: Date.now(), rejection: rejectionOfOld(limits) })
    })
  }

  #publish({ hash, sender, state, rejection }: SubmissionRow): void {
    const change = { hash: hash as Felt, sender: sender as Felt, state, rejection }
    for (const listener of this.#listeners) listener(change)
    this.notifyOf(change)
  }
}

/**
 * The waiting transaction with the same sender and nonce, which `newcomer` replaces. Throws FaultError where it may
 * not.
 */
function findRival(rows: SubmissionTransaction, newcomer: InvokeTransaction): SubmissionRow | undefined {
  const hash = rows.readHash({ sender: newcomer.sender_address, nonce: newcomer.nonce })
  const row = hash && rows.readRow(hash)
  if (hash === undefined || row === undefined) return undefined
  const body = rows.readBody(hash)
  if (body === undefined) throw new Error(`the body of submission ${hash} is missing`)
  const rival = bodyToTransaction(body)
  const [tip, price] = [BigInt(newcomer.tip), l2Price(newcomer)]
  const [rivalTip, rivalPrice] = [BigInt(rival.tip), l2Price(rival)]
  if (tip <= rivalTip && price <= rivalPrice) throw refused(52)
  const isRaised = (value: bigint, from: bigint) => value * 100n >= from * (100n + replacementRaise)
  if (!isRaised(tip, rivalTip) || !isRaised(price, rivalPrice)) throw refused(64)
  // The sequencer may have the other one; only its verdict frees the nonce.
  if (row.state === 'SENT') throw refused(52)
  return row
}

function l2Price({ resource_bounds: { l2_gas } }: InvokeTransaction): bigint {
  return BigInt(l2_gas.max_price_per_unit)
}
