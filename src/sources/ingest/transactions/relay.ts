/**
 * Forwards data of callers to upstreams: transactions, and requests that the store cannot answer. Owns the checks
 * before, and the faults for callers. Does not own fetching and proving.
 */

import { BlockJsonError, transactionFromJson } from '../../../data/chain/blockFromJson.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { headOf } from '../../../data/chain/header.js'
import { pendingTransactionJson } from '../../../data/chain/transactionJson.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import { RecoveredKeys } from '../../../execution/evm/transactions/recoveredKeys.js'
import { checkSentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { readSignedTransaction } from '../../../execution/evm/transactions/signedTransaction.js'
import { InvalidTransactionError } from '../../../execution/evm/transactions/transactionChecks.js'
import {
  type Address,
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  toHash32,
} from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { FetchMissing } from '../../../primitives/notStored.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import {
  type Announced,
  headProofMethod,
  type PoolQuestion,
  reportedMethod,
  type SourceCalls,
} from '../../../primitives/upstreamCalls.js'
import { Budget } from '../../upstream/budget.js'
import { UpstreamFailure } from '../../upstream/line.js'
import { sendRawTransaction } from '../../upstream/sendRawTransaction.js'
import { NodeError } from '../../upstream/upstream.js'
import { NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { type Attempt, Proving, unavailable } from '../nodes/proving.js'
import { Announcements } from './announcements.js'
import { type SentOptions, SentTransactions } from './sentTransactions.js'

/**
 * Limit of lookups of announced transactions per second. A subscriber of whole transactions gets at most five times
 * mainnet's rate.
 */
const lookupsPerSecond = 100
/** Empty, so senders are recovered from signatures. */
const keys = new RecoveredKeys()

/** JSON-RPC code for an error without a numeric code. */
const unknownCode = -32_000

interface RelayOptions extends SentOptions {
  readonly schedule: ForkSchedule
  /** Longest time for one forwarded request. */
  readonly timeoutMs: number
  /** Proves the head if it is signed; see {@link headProofMethod}. */
  readonly proveHead?: ((checkpoint: string, blockHash: string) => Promise<string | undefined>) | undefined
}

export class Relay implements SourceCalls {
  /** Only for a gateway. */
  readonly fetch?: FetchMissing
  readonly #store: ChainRows
  readonly #upstreams: Upstreams
  readonly #options: RelayOptions
  readonly #sent: SentTransactions
  readonly #announcements: Announcements
  readonly #proving: Proving
  readonly #lookups = new Budget(lookupsPerSecond)

  constructor(store: ChainRows, upstreams: Upstreams, options: RelayOptions) {
    this.#store = store
    this.#upstreams = upstreams
    this.#options = options
    this.#sent = new SentTransactions(store, upstreams, options)
    this.#announcements = new Announcements(upstreams, options.log)
    this.#proving = new Proving(upstreams, { fetchMsMax: options.timeoutMs })
  }

  /** Call it for every new head. */
  onHead(): void {
    this.#sent.onHead()
  }

  /** Resolves once the store is no longer used. End the upstreams as well. */
  async close(): Promise<void> {
    await Promise.all([this.#sent.close(), this.#announcements.close()])
  }

  /** Sends a transaction that may be valid by the rules of the head to every upstream that answers. */
  async send(raw: Uint8Array): Promise<Hash32> {
    const { schedule, timeoutMs } = this.#options
    const { execution, transactionTypes: types } = schedule.family
    const deadline = performance.now() + timeoutMs
    const [type = 0] = raw
    if (execution === undefined && type > 0 && type < 0x80 && !transactionTypes.has(type))
      return this.#sendOwn(raw, types.get(type)?.isSigned === true, deadline)
    const tx = checkSentTransaction(raw, this.#forkOfHead(), schedule.config.chainId)
    await relayed(sendRawTransaction(this.#upstreams, bytesToHex(raw), bytesToHex(tx.hash), deadline))
    this.#sent.add(tx)
    this.#announcements.add(tx.hash)
    return tx.hash
  }

  /**
   * Sends a transaction of a type that only its family has; only nodes know its rules. For types whose hash is not
   * known here, the node's answer has the hash.
   */
  async #sendOwn(raw: Uint8Array, isHashed: boolean, deadline: number): Promise<Hash32> {
    const text = bytesToHex(raw)
    if (isHashed) {
      const hash = keccak256(raw)
      await relayed(sendRawTransaction(this.#upstreams, text, bytesToHex(hash), deadline))
      return toHash32(hash)
    }
    const { result } = await relayed(this.#upstreams.ask('eth_sendRawTransaction', [text], { deadline }))
    const hash = bytesOfHex(result, 32)
    if (hash !== undefined) return toHash32(hash)
    throw new FaultError({ kind: 'UpstreamsFailed', why: 'an upstream answers a transaction without a hash' })
  }

  /**
   * The JSON object of an announced transaction; undefined if no upstream has it, or too many were looked up. It is
   * made from the signed transaction, whose hash is compared, so every member is verified.
   */
  async #findAnnounced(hash: Hash32): Promise<Uint8Array | undefined> {
    if (!this.#announcements.has(hash) || !this.#lookups.take()) return undefined
    const deadline = performance.now() + this.#options.timeoutMs
    const asked = await this.#upstreams
      .ask('eth_getTransactionByHash', [bytesToHex(hash)], { deadline })
      .catch(() => undefined)
    if (asked === undefined || asked.result === null) return undefined
    try {
      const item = transactionFromJson(asked.result, this.#options.schedule.family.transactionTypes)
      const bytes = item instanceof Uint8Array ? item : encodeRlp(item)
      const tx = readSignedTransaction(item, this.#forkOfHead(), this.#options.schedule.config.chainId, keys)
      if (equalBytes(tx.hash, hash)) return pendingTransactionJson(bytes, tx.sender, hash)
      asked.upstream.policy.accuse(`a transaction that is not ${bytesToHex(hash)}`)
    } catch (error) {
      // The type of the transaction may be unknown here.
      if (!(error instanceof BlockJsonError || error instanceof InvalidTransactionError)) throw error
    }
    return undefined
  }

  async pending(hash: Hash32): Promise<Uint8Array | undefined> {
    return this.#sent.find(hash) ?? this.#findAnnounced(hash)
  }

  async waiting(sender: Address, next: bigint): Promise<number> {
    return this.#sent.countFrom(sender, next)
  }

  async pool(question: PoolQuestion, sender: Address | undefined): Promise<Uint8Array> {
    return this.#sent.poolJson(question, sender)
  }

  announced(after: number | undefined, waitMs: number): Promise<Announced> {
    return this.#announcements.since(after, waitMs)
  }

  async relay(method: string, params: string): Promise<string> {
    if (method === headProofMethod) {
      const [checkpoint, blockHash] = JSON.parse(params) as [string, string]
      return (await this.#options.proveHead?.(checkpoint, blockHash)) ?? 'null'
    }
    if (method === reportedMethod) return this.#askQuorum(...(JSON.parse(params) as [string, unknown[]]))
    return this.#ask(method, JSON.parse(params))
  }

  async #ask(method: string, params: readonly unknown[]): Promise<string> {
    const deadline = performance.now() + this.#options.timeoutMs
    const { result } = await relayed(this.#upstreams.ask(method, params, { deadline }))
    return JSON.stringify(result)
  }

  /** See {@link reportedMethod}. */
  async #askQuorum(method: string, params: readonly unknown[]): Promise<string> {
    const { quorum } = this.#upstreams
    if (quorum === 1) return `none ${await this.#ask(method, params)}`
    const read = async (attempt: Attempt) => {
      const result = await attempt.ask(method, params).catch((error) => {
        if (error instanceof NodeError) return error
        throw error
      })
      return { result }
    }
    const keyOf = ({ result }: { readonly result: unknown }) =>
      result instanceof NodeError ? `${result.code} ${result.message}` : JSON.stringify(result)
    const agreed = await this.#proving.agree(read, keyOf)
    const why = `fewer than ${quorum} upstreams agree on the answer to ${method}`
    if (agreed === undefined) throw new FaultError({ kind: 'UpstreamsFailed', why })
    if (agreed.result instanceof NodeError) return relayed(Promise.reject(agreed.result))
    return `quorum ${JSON.stringify(agreed.result)}`
  }

  #forkOfHead() {
    const head = headOf(this.#store)
    if (head === undefined) throw new Error('the store has no head')
    return this.#options.schedule.forkOf(head.header)
  }
}

/** Awaits a request to upstreams and turns failures into faults. A node's own error is passed on unchanged. */
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
    const why = error instanceof NoAnswerError ? error.brief : 'no upstream answered'
    throw unavailable(why, error.message)
  }
}
