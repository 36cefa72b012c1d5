/**
 * The queue of invoke transactions submitted to one rollup network. Once a transaction's hash was the answer, the
 * transaction stays on disk until the sequencer accepts or rejects it. Owns admission, replacement, the states of a
 * transaction, and how long it is kept. Does not own delivery (`forwarder.ts`, `deliveries.ts`) nor the store
 * (`submissionStore.ts`).
 *
 *   RECEIVED ⇄ SENT → ACCEPTED
 *       └───────┴───→ REJECTED → RECEIVED (the same transaction again)
 *
 * Submissions of one key never change the outcome of another key's transaction. A row belongs to the key that submitted
 * it. Order, replacement, places and records are by key and sender. A row is one transaction with its signature, which
 * the hash does not cover: a wrong signature takes no place from the right one.
 *
 * Every decision is made within the store's transaction that writes its result, so concurrent submissions see each
 * other. Listeners are called with a change once it is on disk.
 */

import { createHash } from 'node:crypto'
import { isSettled, type Place, type SubmissionRow } from '../../data/store/node/submissions.js'
import { FaultError } from '../../primitives/faults.js'
import { isOld, rejectionOfOld, type WaitLimit } from './deliveries.js'
import type { Felt } from './felt.js'
import { type ComputeHash, type HashWaiter, InvokeHashes } from './invokeHashes.js'
import type { InvokeTransaction } from './invokeTransaction.js'
import { mayTake } from './queueSizes.js'
import { bodyToTransaction, refused, type SubmissionId, SubmissionService } from './submissionService.js'
import type { QueueCounts, SubmissionStore, SubmissionTransaction } from './submissionStore.js'

interface QueueLimits extends WaitLimit {
  /** Transactions that may wait for the sequencer's verdict. */
  readonly waitingMax: number
  /** Bytes of waiting transactions, as JSON. */
  readonly waitingBytesMax: number
  /** Share of a key in the places, and in the bytes, that other keys leave: 0 to 1. */
  readonly keyShare: number
  /** Time for which settled transactions are kept. */
  readonly retentionMs: number
  /** Settled transactions kept; the oldest of the keys with the most are removed first. */
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

/**
 * Transactions of one key that may wait with one hash; they differ by their signatures. A corrected signature makes
 * two. A read of the hash's status reads all of them.
 */
export const signaturesMax = 8

/** Settled transactions removed in one transaction of the store: a few milliseconds. */
const pruneMax = 200

export class SubmissionQueue extends SubmissionService {
  readonly #store: SubmissionStore
  readonly #options: QueueOptions
  readonly #hashes: InvokeHashes
  readonly #listeners = new Set<(row: SubmissionRow) => void>()

  constructor(store: SubmissionStore, options: QueueOptions) {
    super(store)
    this.#store = store
    this.#options = options
    this.#hashes = new InvokeHashes(options.computeHash)
    store.onChange((row) => this.#publish(row))
  }

  override async submit(transaction: InvokeTransaction, submitter: HashWaiter): Promise<SubmissionId> {
    const hash = await this.#hashes.hashOf(transaction, submitter)
    return this.#take(transaction, hash, submitter.keyId)
  }

  /** Calls `listener` with every change once it is on disk; returns a function that stops this. */
  onStatus(listener: (row: SubmissionRow) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Rejects transactions that have waited too long, and removes settled ones that were kept long enough. Must be called
   * regularly. The sequencer may have transactions that are SENT, so the forwarder decides on them (see
   * `Outgoing.expiry` in deliveries.ts). Those that were never sent are rejected only for the keys `silentTo`, which
   * get no answers from the sequencer. Those of other keys will be sent.
   */
  async sweep(now = Date.now(), silentTo: ReadonlySet<string> | 'all' = 'all'): Promise<void> {
    const { limits } = this.#options
    if (silentTo === 'all' || silentTo.size > 0) {
      const old = await this.#store.readWaitingSince(now - limits.waitingMsMax)
      const expired = old.filter(({ key }) => silentTo === 'all' || silentTo.has(key))
      await Promise.all(expired.map((id) => this.#expire(id, now)))
    }
    while ((await this.#store.prune(now - limits.retentionMs, limits.settledMax, pruneMax)) > 0);
  }

  /** The rows that wait longest, oldest first, `limit` at most. */
  async readWaiting(limit: number): Promise<SubmissionRow[]> {
    const ids = await this.#store.readWaitingSince(Date.now(), limit)
    const rows = await Promise.all(
      ids.map(async ({ hash, key, digest }) =>
        (await this.readRows(hash as Felt, key)).find((row) => row.key === key && row.digest === digest),
      ),
    )
    return rows.flatMap((row) => (row !== undefined && !isSettled(row.state) ? [row] : []))
  }

  counts(now = Date.now()): QueueCounts {
    return this.#store.counts(now)
  }

  /** Stores a transaction. A duplicate resolves only when earlier writes are on disk, too. */
  #take(transaction: InvokeTransaction, hash: Felt, key: string): Promise<SubmissionId> {
    const { sender_address: sender, nonce } = transaction
    const body = Buffer.from(JSON.stringify(transaction))
    const id = { hash, key, digest: digestOf(body) }
    const now = Date.now()
    const row: SubmissionRow = {
      ...id,
      state: 'RECEIVED',
      sender,
      nonce,
      receivedAtMs: now,
      changedAtMs: now,
      bodyBytes: body.length,
      rejection: undefined,
    }
    const place = { key, sender, nonce }
    return this.#store.write({ own: { hash, key }, place }, (rows) => {
      const own = rows.readOwn(hash, key)
      const known = own.find(({ state, digest }) => {
        // The sequencer has accepted one, with any signature.
        return state === 'ACCEPTED' || (state !== 'REJECTED' && digest === id.digest)
      })
      if (known !== undefined) {
        if (this.#options.idempotent) return { hash, key, digest: known.digest }
        throw refused(59)
      }
      if (own.filter(({ state }) => !isSettled(state)).length >= signaturesMax) throw refused(59)
      const rivals = findRivals(rows, place, transaction, hash)
      this.#assertRoom(rows, key, body.length, rivals)
      // The new row replaces rejected ones of the same hash.
      for (const before of own) if (before.state === 'REJECTED') rows.remove(before)
      const rejection = { code: undefined, text: `replaced by ${hash}` }
      for (const rival of rivals)
        rows.put({ ...rival, state: 'REJECTED', changedAtMs: Date.now(), rejection })
      rows.put(row, body)
      return id
    })
  }

  /** Checks for room for a transaction of `key` with this many bytes, in place of `rivals`. Throws FaultError. */
  #assertRoom(
    rows: SubmissionTransaction,
    key: string,
    bytes: number,
    rivals: readonly SubmissionRow[],
  ): void {
    const { waitingMax, waitingBytesMax, keyShare: share } = this.#options.limits
    const freed = rivals.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0)
    const [all, own] = [rows.sizes, rows.sizesOf(key)].map(({ waiting, waitingBytes }) => ({
      count: waiting - rivals.length,
      bytes: waitingBytes - freed,
    })) as [Amount, Amount]
    const assertFits = (what: keyof Amount, more: number, max: number, things: string) => {
      if (mayTake(key, { own: own[what], total: all[what], more, max, share })) return
      const isFull = all[what] + more > max
      const waiting = isFull ? `${all[what]} ${things}` : `${own[what]} ${things} of this API key`
      throw new FaultError({
        kind: 'SubmissionsFull',
        what: `${waiting} wait for the sequencer`,
        retryAfterMs: fullRetryMs,
      })
    }
    assertFits('count', 1, waitingMax, 'transactions')
    assertFits('bytes', bytes, waitingBytesMax, 'bytes of transactions')
  }

  #expire(id: SubmissionId, now: number): Promise<void> {
    const { limits } = this.#options
    return this.#store.write({ own: id }, (rows) => {
      const row = rows.readRow(id)
      // The transaction may have been sent since the read.
      if (row?.state !== 'RECEIVED' || !isOld(row, now, limits)) return
      rows.put({ ...row, state: 'REJECTED', changedAtMs: Date.now(), rejection: rejectionOfOld(limits) })
    })
  }

  #publish(row: SubmissionRow): void {
    for (const listener of this.#listeners) listener(row)
    this.notifyOf(row)
  }
}

interface Amount {
  readonly count: number
  readonly bytes: number
}

/** Distinguishes transactions with the same hash; see {@link SubmissionId}. */
function digestOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 32)
}

/**
 * The waiting transactions at the same place that `newcomer` replaces. Those with its hash are not rivals: they differ
 * by the signature, and the sequencer checks each. Throws FaultError if it may not replace them.
 */
function findRivals(
  rows: SubmissionTransaction,
  place: Place,
  newcomer: InvokeTransaction,
  hash: Felt,
): SubmissionRow[] {
  const waiting = rows.readAt(place)
  const [first] = waiting
  if (first === undefined || first.hash === hash) return []
  const body = rows.readBody(first)
  if (body === undefined) throw new Error(`the body of submission ${first.hash} is missing`)
  // All rivals have the same hash, and so the same tip and price.
  const rival = bodyToTransaction(body)
  const tip = BigInt(newcomer.tip)
  const price = l2Price(newcomer)
  const rivalTip = BigInt(rival.tip)
  const rivalPrice = l2Price(rival)
  if (tip <= rivalTip && price <= rivalPrice) throw refused(52)
  const isRaised = (value: bigint, from: bigint) => value * 100n >= from * (100n + replacementRaise)
  if (!isRaised(tip, rivalTip) || !isRaised(price, rivalPrice)) throw refused(64)
  // The sequencer may have one of them; only its verdict frees the nonce.
  if (waiting.some(({ state }) => state === 'SENT')) throw refused(52)
  return waiting
}

function l2Price({ resource_bounds: { l2_gas } }: InvokeTransaction): bigint {
  return BigInt(l2_gas.max_price_per_unit)
}
