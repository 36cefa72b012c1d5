/** The actions of a forwarder on waiting transactions: it begins to send them, requeues them, and settles them. */
import { isSettled, type Rejection, type SubmissionRow } from '../../data/store/node/submissions.js'
import type { Lane, SubmissionId, SubmissionWriter } from './submissionStore.js'

export interface Outgoing extends SubmissionId {
  /** The transaction in its canonical form, JSON. */
  readonly body: string
  /** Whether the sequencer may have it already, from an earlier attempt. */
  readonly wasSent: boolean
  /** Set if the transaction has expired: it is settled with this rejection unless the sequencer has it. */
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
   * Sets the waiting transaction of a lane with the lowest nonce to SENT and returns it; undefined if none waits. The
   * state is on disk when this resolves, before the transaction is sent.
   */
  beginSending(lane: Lane): Promise<Outgoing | undefined> {
    return this.#writer.write({ first: lane }, (rows) => {
      const row = rows.readFirst(lane)
      const body = row && rows.readBody(row)
      if (row === undefined || body === undefined) return undefined
      const { hash, key, digest } = row
      const wasSent = row.state === 'SENT'
      if (!wasSent) rows.put({ ...row, state: 'SENT', changedAtMs: Date.now() })
      return {
        hash,
        key,
        digest,
        body: Buffer.from(body).toString(),
        wasSent,
        expiry: wasSent && isOld(row, Date.now(), this.#limit) ? rejectionOfOld(this.#limit) : undefined,
      }
    })
  }

  /** Sets a transaction to RECEIVED again, after a first attempt that cannot have arrived at the sequencer. */
  requeue(id: SubmissionId): Promise<void> {
    return this.#writer.write({ own: id }, (rows) => {
      const row = rows.readRow(id)
      if (row?.state === 'SENT') rows.put({ ...row, state: 'RECEIVED', changedAtMs: Date.now() })
    })
  }

  /** Settles a transaction, if it is not settled already. `rejection` undefined: accepted. */
  settle(id: SubmissionId, rejection: Rejection | undefined): Promise<void> {
    const state = rejection === undefined ? 'ACCEPTED' : 'REJECTED'
    return this.#writer.write({ own: id }, (rows) => {
      const row = rows.readRow(id)
      if (row === undefined || isSettled(row.state)) return
      rows.put({ ...row, state, changedAtMs: Date.now(), rejection })
    })
  }
}

export interface WaitLimit {
  /** Time without the sequencer's verdict after which a transaction is rejected here. */
  readonly waitingMsMax: number
}

export function isOld(
  { receivedAtMs }: Pick<SubmissionRow, 'receivedAtMs'>,
  now: number,
  { waitingMsMax }: WaitLimit,
): boolean {
  return receivedAtMs <= now - waitingMsMax
}

/** The rejection of a transaction that {@link isOld}. */
export function rejectionOfOld({ waitingMsMax }: WaitLimit): Rejection {
  const seconds = Math.round(waitingMsMax / 1000)
  return { code: undefined, text: `expired: no verdict of the sequencer within ${seconds} s` }
}
