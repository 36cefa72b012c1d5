/**
 * The queue of invoke transactions submitted to one rollup network. A transaction whose hash was answered is kept on
 * disk until the sequencer accepts or rejects it. Owns admission, replacement, the states of a transaction, and how
 * long it is kept. Does not own delivery (`forwarder.ts`) nor the tables (`store/`).
 *
 *   RECEIVED ⇄ SENT → ACCEPTED
 *       └───────┴───→ REJECTED → RECEIVED (the same transaction again, its signature corrected)
 *
 * Every decision is made within the store's transaction that writes its result, so concurrent submissions see each
 * other. Listeners are called with a change once it is on disk.
 */
import { FaultError } from '../primitives/faults.js'
import {
  isSettled,
  type Rejection,
  type SubmissionRow,
  type SubmissionState,
  type Submissions,
} from '../store/submissions.js'
import type { Felt } from './felt.js'
import { type ComputeHash, type HashWaiter, InvokeHashes } from './invokeHashes.js'
import type { InvokeTransaction } from './invokeTransaction.js'
import { refused, type StatusChange, SubmissionService } from './submissionService.js'

export type { Rejection, SubmissionState } from '../store/submissions.js'
export type { StatusChange } from './submissionService.js'

export interface QueueLimits {
  /** Transactions that may wait for the sequencer's verdict. */
  readonly waitingMax: number
  /** Their bytes, as JSON. */
  readonly waitingBytesMax: number
  /** Time without the sequencer's verdict after which a transaction is rejected here. */
  readonly waitingMsMax: number
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

/** The part of a waiting transaction that is kept in memory. */
interface Waiting {
  readonly sender: Felt
  readonly receivedAtMs: number
  readonly bytes: number
}

/** A transaction to send. */
export interface Outgoing {
  readonly hash: Felt
  /** The transaction in its canonical form, JSON. */
  readonly body: string
  /** Whether the sequencer may have it already, from an earlier attempt. */
  readonly wasSent: boolean
  /** Set where the transaction has expired: it is settled with this rejection unless the sequencer has it. */
  readonly expiry: Rejection | undefined
}

/** Sizes of the queue. */
export interface QueueCounts {
  readonly waiting: number
  readonly waitingBytes: number
  readonly oldestWaitingMs: number
  readonly settled: number
}

/** Percentage by which tip and price must rise to replace a transaction, as in the rollup's own sequencers. */
const replacementRaise = 10n

/** `retryAfterMs` for a full queue: a sequencer that answers makes room sooner. */
const fullRetryMs = 1_000

/** Settled transactions removed in one transaction of the store, which then takes a few milliseconds. */
const pruneMax = 200

export class SubmissionQueue extends SubmissionService {
  readonly #store: Submissions
  readonly #options: QueueOptions
  readonly #hashes: InvokeHashes
  /** In the order of arrival. */
  readonly #waiting = new Map<Felt, Waiting>()
  readonly #listeners = new Set<(change: StatusChange) => void>()
  /** Number and bytes of waiting transactions, decisions under way included. */
  #count = 0
  #bytes = 0
  #settled: number

  /** Continues with the transactions in the store. */
  constructor(store: Submissions, options: QueueOptions) {
    super(store)
    this.#store = store
    this.#options = options
    this.#hashes = new InvokeHashes(options.computeHash)
    for (const row of store.readUnsettled()) this.#addWaiting(row)
    this.#count = this.#waiting.size
    for (const { bytes } of this.#waiting.values()) this.#bytes += bytes
    this.#settled = store.countSettled()
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

  /** Senders of waiting transactions, the one that has waited longest first. */
  waitingSenders(): Set<Felt> {
    return new Set([...this.#waiting.values()].map(({ sender }) => sender))
  }

  /**
   * Marks a sender's waiting transaction with the lowest nonce as SENT and returns it; undefined where none waits.
   * The state is on disk when this resolves, before the transaction is sent.
   */
  async beginSending(sender: Felt): Promise<Outgoing | undefined> {
    const found = await this.#store.write(() => {
      const hash = this.#store.readFirstHash(sender) as Felt | undefined
      const row = hash && this.#store.readRow(hash)
      const body = hash && this.#store.readBody(hash)
      if (row === undefined || body === undefined) return undefined
      const wasSent = row.state === 'SENT'
      return {
        change: wasSent ? undefined : this.#moveRow(row, 'SENT'),
        outgoing: {
          hash: row.hash as Felt,
          body: Buffer.from(body).toString(),
          wasSent,
          expiry: wasSent && this.#isOld(row, Date.now()) ? this.#expiry : undefined,
        },
      }
    })
    if (found?.change !== undefined) this.#publish([found.change])
    return found?.outgoing
  }

  /** Marks a transaction as RECEIVED again, after a first attempt that cannot have reached the sequencer. */
  async requeue(hash: Felt): Promise<void> {
    const change = await this.#store.write(() => {
      const row = this.#store.readRow(hash)
      return row?.state === 'SENT' ? this.#moveRow(row, 'RECEIVED') : undefined
    })
    if (change !== undefined) this.#publish([change])
  }

  /** Settles a transaction, if it is not settled already. `rejection` undefined: accepted. */
  settle(hash: Felt, rejection: Rejection | undefined): Promise<void> {
    return this.#settleIf(hash, rejection, ({ state }) => !isSettled(state))
  }

  /**
   * Rejects transactions that have waited too long and removes settled ones that were kept long enough. Call it
   * regularly. The sequencer may have those that are SENT, so the forwarder decides on them (see
   * {@link Outgoing.expiry}).
   */
  async sweep(now = Date.now()): Promise<void> {
    const { retentionMs, settledMax } = this.#options.limits
    const expired: Felt[] = []
    for (const [hash, waiting] of this.#waiting) {
      if (!this.#isOld(waiting, now)) break
      expired.push(hash)
    }
    // Checked again within the write, because the transaction may have been sent before it.
    const mayExpire = (row: SubmissionRow) => row.state === 'RECEIVED' && this.#isOld(row, now)
    await Promise.all(expired.map((hash) => this.#settleIf(hash, this.#expiry, mayExpire)))
    const prune = (beforeMs: number, limit: number): Promise<number> =>
      this.#store.write(() => {
        const hashes = this.#store.readSettledBefore(beforeMs, limit)
        for (const hash of hashes) this.#store.remove(hash)
        return hashes.length
      })
    for (;;) {
      const removed = await prune(now - retentionMs, pruneMax)
      this.#settled -= removed
      if (removed < pruneMax) break
    }
    while (this.#settled > settledMax) {
      const removed = await prune(Number.MAX_SAFE_INTEGER, Math.min(this.#settled - settledMax, pruneMax))
      this.#settled -= removed
      if (removed === 0) break
    }
  }

  counts(now = Date.now()): QueueCounts {
    const oldest = this.#waiting.values().next().value
    return {
      waiting: this.#waiting.size,
      waitingBytes: this.#bytes,
      oldestWaitingMs: oldest === undefined ? 0 : Math.max(0, now - oldest.receivedAtMs),
      settled: this.#settled,
    }
  }

  /** Stores a transaction. A duplicate resolves only when earlier writes are on disk, too. */
  async #take(transaction: InvokeTransaction, hash: Felt): Promise<void> {
    const body = Buffer.from(JSON.stringify(transaction))
    const now = Date.now()
    const row: SubmissionRow = {
      hash,
      state: 'RECEIVED',
      sender: transaction.sender_address,
      nonce: transaction.nonce,
      receivedAtMs: now,
      changedAtMs: now,
      bodyBytes: body.length,
      rejection: undefined,
    }
    const changes: StatusChange[] = []
    let isCounted = false
    let wasKept = false
    try {
      await this.#store.write(() => {
        const known = this.#store.readRow(hash)
        if (known !== undefined && known.state !== 'REJECTED') {
          if (this.#options.idempotent) return
          throw refused(59)
        }
        const rival = this.#findRival(transaction)
        if (rival === undefined) this.#assertRoom(body.length)
        else
          changes.push(this.#settleRow(rival, 'REJECTED', { code: undefined, text: `replaced by ${hash}` }))
        wasKept = known !== undefined
        this.#store.put(row, body)
        changes.push(toChange(row))
        isCounted = true
        this.#count++
        this.#bytes += body.length
      })
    } catch (error) {
      // The commit failed, so the counted transaction was not stored.
      if (isCounted) {
        this.#count--
        this.#bytes -= body.length
      }
      throw error
    }
    if (wasKept) this.#settled--
    if (isCounted) this.#addWaiting(row)
    this.#publish(changes)
  }

  /**
   * The waiting transaction with the same sender and nonce, which `newcomer` replaces. Throws FaultError where it may
   * not.
   */
  #findRival(newcomer: InvokeTransaction): SubmissionRow | undefined {
    const hash = this.#store.readHash(newcomer.sender_address, newcomer.nonce) as Felt | undefined
    const row = hash && this.#store.readRow(hash)
    if (hash === undefined || row === undefined) return undefined
    const rival = this.readTransaction(hash)
    if (rival === undefined) throw new Error(`the body of submission ${hash} is missing`)
    const [tip, price] = [BigInt(newcomer.tip), l2Price(newcomer)]
    const [rivalTip, rivalPrice] = [BigInt(rival.tip), l2Price(rival)]
    if (tip <= rivalTip && price <= rivalPrice) throw refused(52)
    const isRaised = (value: bigint, from: bigint) => value * 100n >= from * (100n + replacementRaise)
    if (!isRaised(tip, rivalTip) || !isRaised(price, rivalPrice)) throw refused(64)
    // The sequencer may have the other one; only its verdict frees the nonce.
    if (row.state === 'SENT') throw refused(52)
    return row
  }

  #assertRoom(bytes: number): void {
    const { waitingMax, waitingBytesMax } = this.#options.limits
    const full = (what: string) =>
      new FaultError({ kind: 'SubmissionsFull', what, retryAfterMs: fullRetryMs })
    if (this.#count >= waitingMax) throw full(`${this.#count} transactions wait for the sequencer`)
    if (this.#bytes + bytes > waitingBytesMax) {
      throw full(`${this.#bytes} bytes of transactions wait for the sequencer`)
    }
  }

  #isOld({ receivedAtMs }: { readonly receivedAtMs: number }, now: number): boolean {
    return receivedAtMs <= now - this.#options.limits.waitingMsMax
  }

  get #expiry(): Rejection {
    const seconds = Math.round(this.#options.limits.waitingMsMax / 1000)
    return { code: undefined, text: `expired: no word of the sequencer within ${seconds} s` }
  }

  async #settleIf(
    hash: Felt,
    rejection: Rejection | undefined,
    condition: (row: SubmissionRow) => boolean,
  ): Promise<void> {
    const state = rejection === undefined ? 'ACCEPTED' : 'REJECTED'
    const change = await this.#store.write(() => {
      const row = this.#store.readRow(hash)
      return row !== undefined && condition(row) ? this.#settleRow(row, state, rejection) : undefined
    })
    if (change !== undefined) this.#publish([change])
  }

  #moveRow(row: SubmissionRow, state: SubmissionState): StatusChange {
    const moved = { ...row, state, changedAtMs: Date.now() }
    this.#store.put(moved)
    return toChange(moved)
  }

  #settleRow(row: SubmissionRow, state: SubmissionState, rejection: Rejection | undefined): StatusChange {
    const settled = { ...row, state, changedAtMs: Date.now(), rejection }
    this.#store.put(settled)
    return toChange(settled)
  }

  #addWaiting({ hash, sender, receivedAtMs, bodyBytes }: SubmissionRow): void {
    this.#waiting.set(hash as Felt, { sender: sender as Felt, receivedAtMs, bytes: bodyBytes })
  }

  #publish(changes: readonly StatusChange[]): void {
    for (const change of changes) {
      const waiting = this.#waiting.get(change.hash)
      if (isSettled(change.state) && waiting !== undefined) {
        this.#waiting.delete(change.hash)
        this.#count--
        this.#bytes -= waiting.bytes
        this.#settled++
      }
      for (const listener of this.#listeners) listener(change)
      this.notifyOf(change)
    }
  }
}

function toChange({ hash, sender, state, rejection }: SubmissionRow): StatusChange {
  return { hash: hash as Felt, sender: sender as Felt, state, rejection }
}

function l2Price({ resource_bounds: { l2_gas } }: InvokeTransaction): bigint {
  return BigInt(l2_gas.max_price_per_unit)
}
