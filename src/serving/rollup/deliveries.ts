/** What a forwarder does to waiting transactions: begins to send them, takes that back, and settles them. */
import { isSettled, type Rejection } from '../../data/store/submissions.js'
import type { Felt } from './felt.js'
import { isOld, rejectionOfOld, type WaitLimit } from './submissionAge.js'
import type { SubmissionWriter } from './submissionStore.js'

export interface Outgoing {
  readonly hash: Felt
  /** The transaction in its canonical form, JSON. */
  readonly body: string
  /** Whether the sequencer may have it already, from an earlier attempt. */
  readonly wasSent: boolean
  /** Set where the transaction has expired: it is settled with this rejection unless the sequencer has it. */
  readonly expiry: Rejection | undefined
}

export class Deliveries {
  readonly #writer: SubmissionWriter
  readonly #limit: WaitLimit

  constructor(writer: SubmissionWriter, limit: WaitLimit) {
    this.#writer = writer
    this.#limit = limit
  }

  /**
   * Marks a sender's waiting transaction with the lowest nonce as SENT and returns it; undefined where none waits.
   * The state is on disk when this resolves, before the transaction is sent.
   */
  beginSending(sender: Felt): Promise<Outgoing | undefined> {
    return this.#writer.write({ firstOf: sender }, (rows) => {
      const hash = rows.readFirstHash(sender)
      const row = hash && rows.readRow(hash)
      const body = hash && rows.readBody(hash)
      if (row === undefined || body === undefined) return undefined
      const wasSent = row.state === 'SENT'
      if (!wasSent) rows.put({ ...row, state: 'SENT', changedAtMs: Date.now() })
      return {
        hash: row.hash as Felt,
        body: Buffer.from(body).toString(),
        wasSent,
        expiry: wasSent && isOld(row, Date.now(), this.#limit) ? rejectionOfOld(this.#limit) : undefined,
      }
    })
  }

  /** Marks a transaction as RECEIVED again, after a first attempt that cannot have reached the sequencer. */
  requeue(hash: Felt): Promise<void> {
    return this.#writer.write({ hash }, (rows) => {
      const row = rows.readRow(hash)
      if (row?.state === 'SENT') rows.put({ ...row, state: 'RECEIVED', changedAtMs: Date.now() })
    })
  }

  /** Settles a transaction, if it is not settled already. `rejection` undefined: accepted. */
  settle(hash: Felt, rejection: Rejection | undefined): Promise<void> {
    const state = rejection === undefined ? 'ACCEPTED' : 'REJECTED'
    return this.#writer.write({ hash }, (rows) => {
      const row = rows.readRow(hash)
      if (row === undefined || isSettled(row.state)) return
      rows.put({ ...row, state, changedAtMs: Date.now(), rejection })
    })
  }
}
