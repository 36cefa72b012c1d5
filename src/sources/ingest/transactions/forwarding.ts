/**
 * Sends the transactions of this node's pool to other nodes too, which gossip them or make blocks of them. Owns the first
 * sending; SentTransactions sends again to nodes that lack them. The nodes' answers decide nothing here.
 */
import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { sendRawTransaction } from '../../upstream/sendRawTransaction.js'
import { NodeError } from '../../upstream/upstream.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import type { SentTransactions } from './sentTransactions.js'

/**
 * Most transactions that are sent to nodes at once, so that a slow node fills no memory. Later ones are sent when
 * SentTransactions next looks whether nodes have them.
 */
export const sendsMax = 64
/** Longest time of one sending. */
const sendMs = 5_000
/** Time between two reports of refusals; otherwise callers could fill the log. */
const reportMs = 10_000

export class Forwarding {
  readonly #upstreams: Upstreams
  readonly #sent: SentTransactions
  readonly #log: (text: string) => void
  readonly #inFlight = new Set<Promise<void>>()
  #reportedMs = Number.NEGATIVE_INFINITY

  /** `log` gets sentences for the operator. */
  constructor(upstreams: Upstreams, sent: SentTransactions, log: (text: string) => void) {
    this.#upstreams = upstreams
    this.#sent = sent
    this.#log = log
  }

  /** Begins to send a transaction that the pool has taken. */
  add(tx: SentTransaction): void {
    this.#sent.add(tx)
    if (this.#inFlight.size >= sendsMax) return
    const sending = this.#send(tx).finally(() => this.#inFlight.delete(sending))
    this.#inFlight.add(sending)
  }

  /** Call it for every new head. */
  onHead(): void {
    this.#sent.onHead()
  }

  /** Resolves once the store is no longer used. The caller must also end the upstreams. */
  async close(): Promise<void> {
    await Promise.all([this.#sent.close(), ...this.#inFlight])
  }

  async #send({ raw, hash }: SentTransaction): Promise<void> {
    const deadline = performance.now() + sendMs
    try {
      await sendRawTransaction(this.#upstreams, bytesToHex(raw), bytesToHex(hash), deadline)
    } catch (error) {
      const now = performance.now()
      if (now < this.#reportedMs + reportMs) return
      this.#reportedMs = now
      const { message } = error as Error
      const why = error instanceof NodeError ? `refused by a node: ${message}` : `not sent on: ${message}`
      this.#log(`transaction ${bytesToHex(hash)} waits here, and is ${why}`)
    }
  }
}
