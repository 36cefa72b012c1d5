/**
 * Transactions sent from here to upstreams, until a block has them. Owns their list, how long they are remembered, and
 * sending them again to upstreams that lose them. They are only in memory: after a restart only the upstreams have
 * them.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import { pendingTransactionJson } from '../../../data/chain/transactionJson.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { type Address, bytesToHex, equalBytes, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { setInterval } from '../../../primitives/timers.js'
import type { PoolQuestion } from '../../../primitives/upstreamCalls.js'
import { sendTo } from '../../upstream/sendRawTransaction.js'
import { NodeError } from '../../upstream/upstream.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import { poolJson } from './poolContent.js'

interface SentBounds {
  readonly countMax: number
  readonly bytesMax: number
  /** How long a transaction that no block includes is remembered. */
  readonly waitMsMax: number
}

/**
 * go-ethereum's pool has as many places for executable transactions, and drops others after the same time. A
 * transaction has 128 KiB at most, or 1 MiB with blobs. It also leaves when its block is {@link settledBlocks} old, and
 * when another one with its nonce is in a block or was sent. Pending nonces count the same transactions.
 */
export const sentBounds: SentBounds = {
  countMax: 5_120,
  bytesMax: 64 * 2 ** 20,
  waitMsMax: 3 * 3_600_000,
}

/** How many blocks a transaction is remembered after its block, so that a reorganisation makes it pending again. */
const settledBlocks = 12
/**
 * After this many blocks without a transaction, upstreams are asked whether they still have it; a full block may skip
 * it.
 */
const lookBlocks = 3
/** Time after which upstreams are asked if no blocks come. */
const lookMs = 15_000
/** Most transactions that are looked up at a time, so that other requests get through. */
const looksMax = 64
/** Longest time of one request. */
const askMs = 5_000

export interface SentOptions {
  readonly bounds?: SentBounds
  /** Nonce of an account at the head; undefined if it is not known. */
  nonceOf(address: Address): Promise<bigint | undefined>
  /** Gets sentences about lost transactions for the operator. */
  readonly log: (text: string) => void
}

interface Entry {
  readonly tx: SentTransaction
  readonly sentMs: number
  /** Number of the head, and time, of the last lookup at upstreams. */
  lookedAt: number
  lookedMs: number
  /** Number of the first head that had it; undefined while no block has it. */
  minedAt: number | undefined
  /** Whether all upstreams had lost it at the last lookup, and none accepted it again. */
  isRefused: boolean
  /** Whether the operator was informed that an upstream lost it, or (`isGapTold`) that it waits for a lower nonce. */
  isLossReported: boolean
  isGapReported: boolean
}

/** Result of one round of lookups at one upstream. */
interface Losses {
  lost: number
  refused: number
  why: string
}

const untroubled = { isRefused: false, isLossReported: false, isGapReported: false }

export class SentTransactions {
  readonly #store: ChainRows
  readonly #upstreams: Upstreams
  readonly #options: SentOptions
  readonly #bounds: SentBounds
  /** By hash, oldest first. */
  readonly #entries = new Map<string, Entry>()
  readonly #timer: NodeJS.Timeout
  #bytes = 0
  #forgotten = 0
  #looking: Promise<void> | undefined

  constructor(store: ChainRows, upstreams: Upstreams, options: SentOptions) {
    this.#store = store
    this.#upstreams = upstreams
    this.#options = options
    this.#bounds = options.bounds ?? sentBounds
    this.#timer = setInterval(() => this.onHead(), lookMs)
  }

  /** Remembers a transaction that an upstream accepted. It replaces another of its sender with the same nonce. */
  add(tx: SentTransaction): void {
    for (const [key, { tx: other }] of this.#entries) {
      if (other.nonce === tx.nonce && equalBytes(other.sender, tx.sender)) this.#remove(key)
    }
    const now = performance.now()
    const lookedAt = this.#store.readHead()?.number ?? 0
    this.#entries.set(latin1Key(tx.hash), {
      tx,
      sentMs: now,
      lookedAt,
      lookedMs: now,
      minedAt: undefined,
      ...untroubled,
    })
    this.#bytes += tx.raw.length
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= this.#bounds.countMax && this.#bytes <= this.#bounds.bytesMax) break
      this.#remove(key)
      this.#forgotten++
    }
  }

  /** The JSON object of a transaction, as if in no block. Look it up in the chain before. */
  find(hash: Hash32): Uint8Array | undefined {
    const tx = this.#entries.get(latin1Key(hash))?.tx
    return tx && pendingTransactionJson(tx.bytes, tx.sender, tx.hash)
  }

  /** See {@link UpstreamCalls.waiting}. Transactions in blocks count too: the caller may see an older head. */
  countFrom(sender: Address, next: bigint): number {
    const nonces = new Set<bigint>()
    for (const { tx, isRefused } of this.#entries.values()) {
      if (!isRefused && equalBytes(tx.sender, sender)) nonces.add(tx.nonce)
    }
    let count = 0
    while (nonces.has(next + BigInt(count))) count++
    return count
  }

  /** See {@link UpstreamCalls.pool}. */
  poolJson(question: PoolQuestion, sender: Address | undefined): Promise<Uint8Array> {
    const waiting = [...this.#entries.values()].filter((entry) => !entry.isRefused && !this.#isMined(entry))
    const nonceOf = (address: Uint8Array) => this.#options.nonceOf(address as Address).catch(() => undefined)
    return poolJson(
      question,
      waiting.map(({ tx }) => tx),
      nonceOf,
      sender,
    )
  }

  /** Call it for every new head: checks which transactions are in a block, and looks up those that take long. */
  onHead(): void {
    const head = this.#store.readHead()
    if (head === undefined || this.#entries.size === 0) return
    for (const [key, entry] of this.#entries) {
      entry.minedAt = this.#isMined(entry) ? (entry.minedAt ?? head.number) : undefined
      if (entry.minedAt !== undefined && head.number >= entry.minedAt + settledBlocks) this.#remove(key)
      else if (entry.minedAt === undefined) this.#giveUpLate(key, entry)
    }
    this.#looking ??= this.#look(head.number)
      .catch((error: Error) => this.#options.log(`transactions that wait for a block: ${error.message}`))
      .finally(() => {
        this.#looking = undefined
      })
  }

  /** Resolves once the store is no longer used. End the upstreams as well. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  #isMined({ tx }: Entry): boolean {
    const location = this.#store.readLocation(tx.hash)
    if (location === undefined) return false
    const header = this.#store.readHeader(location.blockHash)
    return header !== undefined && this.#store.isCanonical(decodeHeader(header).number, location.blockHash)
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.tx.raw.length ?? 0
    this.#entries.delete(key)
  }

  #giveUpLate(key: string, { tx, sentMs }: Entry): void {
    const { waitMsMax } = this.#bounds
    if (performance.now() < sentMs + waitMsMax) return
    this.#remove(key)
    const seconds = Math.round(waitMsMax / 1_000)
    this.#options.log(`transaction ${bytesToHex(tx.hash)} is given up: no block had it within ${seconds} s`)
  }

  async #look(headNumber: number): Promise<void> {
    const now = performance.now()
    if (this.#forgotten > 0) {
      const { countMax, bytesMax } = this.#bounds
      this.#options.log(
        `${this.#forgotten} transactions that wait for a block are no longer remembered here: there are more than ${countMax}, or than ${bytesMax} bytes`,
      )
      this.#forgotten = 0
    }
    const isDue = ({ minedAt, lookedAt, lookedMs }: Entry) =>
      minedAt === undefined && (headNumber >= lookedAt + lookBlocks || now >= lookedMs + lookMs)
    const due = [...this.#entries.values()].filter(isDue).slice(0, looksMax)
    const losses = new Map<string, Losses>()
    const nonces = this.#noncesBySender()
    const waiting: string[] = []
    await Promise.all(
      due.map((entry) => {
        entry.lookedAt = headNumber
        entry.lookedMs = now
        return this.#lookAfter(entry, losses, (nonce) => {
          const missing = missingNonce(nonce, entry.tx, nonces)
          if (missing === undefined || entry.isGapReported) return
          entry.isGapReported = true
          waiting.push(`${bytesToHex(entry.tx.sender)}, nonce ${missing}`)
        })
      }),
    )
    if (waiting.length > 0) {
      const what = waiting.length === 1 ? 'a transaction waits' : `${waiting.length} transactions wait`
      this.#options.log(
        `${what} for another of the same sender with a lower nonce, which was not sent from here (${waiting[0]}): no block takes them before it`,
      )
    }
    for (const [name, { lost, refused, why }] of losses) {
      const what = lost === 1 ? 'a transaction' : `${lost} transactions`
      const outcome = refused === 0 ? 'sent again' : `sent again, and ${refused} refused: ${why}`
      this.#options.log(`${name} had lost ${what} that waited for a block; ${outcome}`)
    }
  }

  /** Remembered nonces by sender. */
  #noncesBySender(): Map<string, Set<bigint>> {
    const nonces = new Map<string, Set<bigint>>()
    for (const { tx } of this.#entries.values()) {
      const key = latin1Key(tx.sender)
      nonces.set(key, (nonces.get(key) ?? new Set()).add(tx.nonce))
    }
    return nonces
  }

  /**
   * Forgets a transaction whose nonce was used; otherwise sends it again to each upstream that does not know it.
   * `onNonce` gets the nonce of its sender at the head.
   */
  async #lookAfter(
    entry: Entry,
    losses: Map<string, Losses>,
    onNonce: (nonce: bigint) => void,
  ): Promise<void> {
    const { tx, isLossReported } = entry
    const hash = bytesToHex(tx.hash)
    const nonce = await this.#options.nonceOf(tx.sender as Address).catch(() => undefined)
    if (nonce !== undefined && nonce > tx.nonce) {
      // A block has this one, or another with its nonce.
      if (!this.#isMined(entry)) this.#remove(latin1Key(tx.hash))
      return
    }
    if (nonce !== undefined) onNonce(nonce)
    const deadline = performance.now() + askMs
    let refusals = 0
    let isKnown = false
    await Promise.all(
      this.#upstreams
        .askEach('eth_getTransactionByHash', [hash], deadline)
        .map(async ({ upstream, answer }) => {
          const known = await answer.catch(() => undefined)
          isKnown ||= known !== undefined && known !== null
          // Only null means that the transaction is lost.
          if (known !== null) return
          // Some are lost and sent again at each lookup; only the first loss is reported.
          const reported = isLossReported ? undefined : losses.get(upstream.name)
          const found = reported ?? { lost: 0, refused: 0, why: '' }
          if (!isLossReported) losses.set(upstream.name, found)
          entry.isLossReported = true
          found.lost++
          try {
            await sendTo(upstream, bytesToHex(tx.raw), hash, deadline)
            isKnown = true
          } catch (error) {
            found.refused++
            if (error instanceof NodeError) refusals++
            found.why = error instanceof NodeError ? error.message : 'it did not answer'
          }
        }),
    )
    if (isKnown || refusals > 0) entry.isRefused = !isKnown
  }
}

/**
 * The lowest nonce from `next` on that is not remembered, if it is below the transaction's own. The transaction cannot
 * be executed before it.
 */
function missingNonce(
  next: bigint,
  { sender, nonce }: SentTransaction,
  nonces: ReadonlyMap<string, ReadonlySet<bigint>>,
): bigint | undefined {
  const known = nonces.get(latin1Key(sender))
  for (let each = next; each < nonce; each++) if (known?.has(each) !== true) return each
  return undefined
}
