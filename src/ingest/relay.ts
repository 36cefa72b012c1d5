/**
 * What is passed on to upstreams as callers sent it: transactions, and questions that nobody here knows. Owns what is
 * checked before, and the faults that callers get. Does not own what is fetched and proved for them.
 */
import type { ForkSchedule } from '../chain/forks.js'
import { decodeHeader } from '../chain/header.js'
import { checkSentTransaction } from '../evm/transactions/sentTransaction.js'
import { bytesToHex, type Hash32 } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'
import { headProofMethod } from '../primitives/upstreamCalls.js'
import type { ChainRows } from '../store/chainRows.js'
import { UpstreamFailure } from '../upstream/line.js'
import { sendRawTransaction } from '../upstream/sendRawTransaction.js'
import { NodeError } from '../upstream/upstream.js'
import { NoAnswerError, type Upstreams } from '../upstream/upstreams.js'
import { Announcements } from './announcements.js'
import type { CallAnswer, RelayedCall } from './messages.js'
import { type SentOptions, SentTransactions } from './sentTransactions.js'

/** JSON-RPC's code for an error without one that is a number. */
const unknownCode = -32_000

export interface RelayOptions extends SentOptions {
  readonly schedule: ForkSchedule
  /** Longest time for one thing that is passed on. */
  readonly timeoutMs: number
  /** Where the head is a signed one: proves it, see {@link headProofMethod}. */
  readonly proveHead?: ((checkpoint: string, blockHash: string) => Promise<string | undefined>) | undefined
}

export class Relay {
  readonly #store: ChainRows
  readonly #upstreams: Upstreams
  readonly #options: RelayOptions
  readonly #sent: SentTransactions
  readonly #announcements: Announcements

  constructor(store: ChainRows, upstreams: Upstreams, options: RelayOptions) {
    this.#store = store
    this.#upstreams = upstreams
    this.#options = options
    this.#sent = new SentTransactions(store, upstreams, options)
    this.#announcements = new Announcements(upstreams, options.log)
  }

  /** Rejects with FaultError. */
  async answer(call: RelayedCall): Promise<CallAnswer> {
    switch (call.type) {
      case 'send':
        return this.#send(call.raw)
      case 'pending':
        return this.#sent.find(call.hash)
      case 'waiting':
        return this.#sent.countFrom(call.sender, call.next)
      case 'pool':
        return this.#sent.poolJson(call.question, call.sender)
      case 'announced':
        return this.#announcements.since(call.after, call.waitMs)
      case 'relay':
        return this.#relay(call.method, call.params)
    }
  }

  /** Call it for every new head. */
  onHead(): void {
    this.#sent.onHead()
  }

  /** Resolves once the store is no longer used. End the upstreams as well. */
  async close(): Promise<void> {
    await Promise.all([this.#sent.close(), this.#announcements.close()])
  }

  /** A transaction that may be valid by the rules of the head goes to every upstream that answers. */
  async #send(raw: Uint8Array): Promise<Hash32> {
    const { schedule, timeoutMs } = this.#options
    const tx = checkSentTransaction(raw, this.#forkOfHead(), schedule.config.chainId)
    const deadline = performance.now() + timeoutMs
    await relayed(sendRawTransaction(this.#upstreams, bytesToHex(raw), bytesToHex(tx.hash), deadline))
    this.#sent.add(tx)
    this.#announcements.add(tx.hash)
    return tx.hash
  }

  async #relay(method: string, params: string): Promise<string> {
    if (method === headProofMethod) {
      const [checkpoint, blockHash] = JSON.parse(params) as [string, string]
      return (await this.#options.proveHead?.(checkpoint, blockHash)) ?? 'null'
    }
    const deadline = performance.now() + this.#options.timeoutMs
    const { result } = await relayed(this.#upstreams.ask(method, JSON.parse(params), { deadline }))
    return JSON.stringify(result)
  }

  #forkOfHead() {
    const { schedule } = this.#options
    const head = this.#store.readHead()
    const row = head && this.#store.readHeader(head.hash)
    if (row === undefined) throw new Error('the store has no head')
    const { number, timestamp, difficulty } = decodeHeader(row)
    return schedule.forkAt(number, timestamp, difficulty === 0n || schedule.isMerged(0n))
  }
}

/** The outcome of asking upstreams, whose failures become faults: a node's own error as it is. */
async function relayed<T>(outcome: Promise<T>): Promise<T> {
  try {
    return await outcome
  } catch (error) {
    if (error instanceof NodeError) {
      const { message, data } = error
      const code = Number.isSafeInteger(error.code) ? error.code : unknownCode
      throw new FaultError({ kind: 'UpstreamError', code, message, data })
    }
    if (!(error instanceof NoAnswerError || error instanceof UpstreamFailure)) throw error
    throw new FaultError({ kind: 'UpstreamsFailed', why: error.message })
  }
}
