/**
 * Transactions that wait for a block of a developer chain, in memory only. Owns which are accepted, go-ethereum's
 * reasons for refusals, and the order in which they can run.
 */
import { pendingTransactionJson } from '../../../data/chain/transactionJson.js'
import { type Account, emptyAccount } from '../../../data/state/account.js'
import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { equalBytes, type Hash32, latin1Key, latin1KeyToBytes, toAddress } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import type { PoolQuestion } from '../../../primitives/upstreamCalls.js'
import { poolJson } from '../transactions/poolContent.js'
import { sentBounds } from '../transactions/sentTransactions.js'
import { IncludedBlobs } from './includedBlobs.js'

/**
 * Least rise of each fee, in percent, for a transaction that replaces another: defaults of go-ethereum's pools
 * (legacypool's and blobpool's `PriceBump`). anvil and Hardhat ask for 10 too.
 */
const priceBump = 10n
const blobPriceBump = 100n

/** Blobs of the newest twelve blocks or more: 21 blobs is the most that a block has (BPO2), with the proofs of their cells. */
export const includedBlobsBytesMax = 36 * 2 ** 20

type AccountOf = (sender: Uint8Array) => Account | undefined

export class WaitingTransactions {
  readonly #accountOf: AccountOf
  /** By hash, oldest first; within {@link sentBounds}. */
  readonly #entries = new Map<string, SentTransaction>()
  readonly #includedBlobs = new IncludedBlobs(includedBlobsBytesMax)
  #bytes = 0
  #arrivals = 0
  /** Differs after each change. */
  version = 0

  constructor(accountOf: AccountOf) {
    this.#accountOf = accountOf
  }

  /**
   * Adds a checked transaction; it replaces one of its sender with the same nonce if it offers more. `gasLimit` is
   * that of the next block. Throws FaultError MessageRefused.
   */
  add(tx: SentTransaction, gasLimit: bigint): void {
    const { nonce, balance } = this.#accountOf(tx.sender) ?? emptyAccount
    if (this.#entries.has(latin1Key(tx.hash))) throw messageRefused('already known')
    if (tx.nonce < nonce) throw messageRefused(`nonce too low: next nonce ${nonce}, tx nonce ${tx.nonce}`)
    if (tx.gasLimit > gasLimit) throw messageRefused('exceeds block gas limit')
    if (tx.cost > balance) {
      const amounts = `balance ${balance}, tx cost ${tx.cost}, overshot ${tx.cost - balance}`
      throw messageRefused(`insufficient funds for gas * price + value: ${amounts}`)
    }
    const rival = this.#list().find(
      ({ nonce, sender }) => nonce === tx.nonce && equalBytes(sender, tx.sender),
    )
    if (rival !== undefined && !outbids(tx, rival))
      throw messageRefused('replacement transaction underpriced')
    const { countMax, bytesMax } = sentBounds
    const [count, bytes] = rival === undefined ? [1, 0] : [0, rival.raw.length]
    if (this.#entries.size + count > countMax || this.#bytes - bytes + tx.raw.length > bytesMax) {
      throw messageRefused('txpool is full')
    }
    if (rival !== undefined) this.remove(rival)
    this.#entries.set(latin1Key(tx.hash), tx)
    this.#bytes += tx.raw.length
    this.#arrivals++
    this.version++
  }

  /** Number of transactions that were accepted so far. */
  get arrivals(): number {
    return this.#arrivals
  }

  /** All of them, by arrival. */
  get all(): readonly SentTransaction[] {
    return this.#list()
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  /** The JSON object of a transaction, as if in no block. */
  find(hash: Hash32): Uint8Array | undefined {
    const tx = this.#entries.get(latin1Key(hash))
    return tx && pendingTransactionJson(tx.bytes, tx.sender, tx.hash)
  }

  /**
   * Transactions that can run at these fees, in wei per gas and per blob gas. Ordered by arrival, but each after the
   * one with the previous nonce.
   */
  ready(baseFee: bigint, blobBaseFee: bigint): readonly SentTransaction[] {
    const senders = new Map<string, Map<bigint, readonly [tx: SentTransaction, arrival: number]>>()
    for (const [arrival, tx] of this.#list().entries()) {
      const key = latin1Key(tx.sender)
      senders.set(key, (senders.get(key) ?? new Map()).set(tx.nonce, [tx, arrival]))
    }
    const ready: (readonly [tx: SentTransaction, since: number])[] = []
    for (const [key, nonces] of senders) {
      let since = 0
      for (let nonce = this.#nonceOf(toAddress(latin1KeyToBytes(key))); ; nonce++) {
        const [tx, arrival = 0] = nonces.get(nonce) ?? []
        if (tx === undefined || tx.maxFeePerGas < baseFee) break
        if (tx.blobCount > 0 && tx.maxFeePerBlobGas < blobBaseFee) break
        since = Math.max(since, arrival)
        ready.push([tx, since])
      }
    }
    return ready.sort(([, a], [, b]) => a - b).map(([tx]) => tx)
  }

  /** See {@link UpstreamCalls.waiting}. Transactions in blocks count too: the caller may see an older head. */
  countFrom(sender: Uint8Array, next: bigint): number {
    const own = this.#list().filter((tx) => equalBytes(tx.sender, sender))
    const nonces = new Set(own.map(({ nonce }) => nonce))
    let end = this.#nonceOf(sender)
    while (nonces.has(end)) end++
    return end > next ? Number(end - next) : 0
  }

  /** See {@link UpstreamCalls.pool}. */
  poolJson(question: PoolQuestion, sender: Uint8Array | undefined): Promise<Uint8Array> {
    return poolJson(question, this.#list(), (address) => this.#nonceOf(address), sender)
  }

  remove(tx: SentTransaction): void {
    if (!this.#entries.delete(latin1Key(tx.hash))) return
    this.#bytes -= tx.raw.length
    this.version++
  }

  /** Removes a transaction; returns whether it waited. */
  drop(hash: Hash32): boolean {
    const tx = this.#entries.get(latin1Key(hash))
    if (tx !== undefined) this.remove(tx)
    return tx !== undefined
  }

  /** Removes the transactions of a sender. */
  dropFrom(sender: Uint8Array): void {
    for (const tx of this.#list()) if (equalBytes(tx.sender, sender)) this.remove(tx)
  }

  /** Removes transactions whose nonces are used. */
  removePast(): void {
    for (const tx of this.#list()) {
      if (tx.nonce >= this.#nonceOf(tx.sender)) continue
      this.remove(tx)
      if (tx.blobCount > 0) this.#includedBlobs.add(tx)
    }
  }

  /** A transaction of a block as it was sent; as it is in the block where its blobs are not stored. */
  asSent(bytes: Uint8Array): Uint8Array {
    return this.#includedBlobs.find(bytes) ?? bytes
  }

  clear(): void {
    for (const tx of this.#list()) this.remove(tx)
  }

  #nonceOf(sender: Uint8Array): bigint {
    return this.#accountOf(sender)?.nonce ?? 0n
  }

  #list(): readonly SentTransaction[] {
    return [...this.#entries.values()]
  }
}

/** Whether each fee is above the rival's by the least rise. */
function outbids(tx: SentTransaction, rival: SentTransaction): boolean {
  const percent = 100n + (rival.blobCount > 0 ? blobPriceBump : priceBump)
  const rises = (fee: bigint, old: bigint) => fee > old && fee * 100n >= old * percent
  return (
    rises(tx.maxFeePerGas, rival.maxFeePerGas) &&
    rises(tx.maxPriorityFeePerGas, rival.maxPriorityFeePerGas) &&
    (rival.blobCount === 0 || rises(tx.maxFeePerBlobGas, rival.maxFeePerBlobGas))
  )
}
