/**
 * Completes the log index of a gateway, for each linked block from the head down to the configured block. Fetches
 * missing receipts and transactions once and adds their logs. Each is proved by the roots in the block's header. Stored
 * parts, for example those of archives, come first, from the lowest block upwards. Owns the order of blocks, and how
 * much is requested at once. {@link GatewayWriter.advance} adds new heads.
 */

import { decodeHeader, type Header } from '../../../data/chain/header.js'
import { type FetchedParts, type GatewayWriter, logRangesMax } from '../../../data/store/gatewayWriter.js'
import { lastAlike, logRangeAt } from '../../../data/store/logRanges.js'
import type { StoredBlock } from '../../../data/store/storedBlock.js'
import { equalBytes, type Hash32, toHash32 } from '../../../primitives/bytes.js'
import { pause } from '../../../primitives/deferred.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import type { Upstream } from '../../upstream/upstream.js'
import { contentOf } from './familyBlock.js'
import type { ProofFetcher } from './proofFetcher.js'

/** Blocks with transactions per step: about 10 MB of answers, and 50 ms to prove and store them. */
const fullBlocksMax = 32
/** Blocks per step if nearly all are without transactions: reading all takes about 10 ms. */
const blocksMax = 1_024
/**
 * Bytes of transactions and receipts fetched per second, averaged over some seconds. As JSON they are three times as
 * long, which is half of a 200 Mbit/s line. Blocks of a busy chain come at 40 KB/s.
 */
const bytesPerSecondDefault = 4 * 2 ** 20
/** Wait before a failed fetch is tried again: the first and the maximum; doubled each time. */
const retryMs = 1_000
const retryMsMax = 60_000

/** The receipts of a block without transactions. */
const noReceipts = encodeRlp([])

export interface LogFillerOptions {
  /** The lowest block whose logs are needed. */
  readonly from: number
  /** Nodes that may be asked, best first. */
  readonly upstreams: { readonly answering: readonly Upstream[] }
  /** Maximum bytes of bodies and receipts per second; if absent, 4 MiB. */
  readonly bytesPerSecondMax?: number
  /** Gets sentences about problems, for the operator. */
  readonly log: (text: string) => void
}

export class LogFiller {
  readonly #store: GatewayWriter
  readonly #fetcher: Pick<ProofFetcher, 'readBlock' | 'readReceipts' | 'noteKept'>
  readonly #options: LogFillerOptions
  readonly #ending = new AbortController()
  #filling: Promise<void> | undefined
  #isWoken = false

  constructor(
    store: GatewayWriter,
    fetcher: Pick<ProofFetcher, 'readBlock' | 'readReceipts' | 'noteKept'>,
    options: LogFillerOptions,
  ) {
    this.#store = store
    this.#fetcher = fetcher
    this.#options = options
  }

  /** Call this when there may be work: a new head, or headers that were linked below it. */
  wake(): void {
    this.#isWoken = true
    // In a later turn, so that only one run exists, even if a request of the run wakes it.
    this.#filling ??= Promise.resolve().then(() => this.#fill())
  }

  /** Resolves once no work is left, or the filler is closed. */
  async idle(): Promise<void> {
    await this.#filling
  }

  /** Resolves once the store is no longer used. The caller must also end the requests that it waits for. */
  async close(): Promise<void> {
    this.#ending.abort()
    await this.#filling
  }

  async #fill(): Promise<void> {
    let failures = 0
    let complaint = ''
    while (this.#isWoken && !this.#ending.signal.aborted) {
      this.#isWoken = false
      try {
        while (!this.#ending.signal.aborted && (await this.#fillSome())) failures = 0
      } catch (error) {
        this.#isWoken = true
        const text = `logs below the head: ${(error as Error).message}`
        if (!this.#ending.signal.aborted && text !== complaint) this.#options.log(text)
        complaint = text
        await pause(Math.min(retryMs * 2 ** failures++, retryMsMax), this.#ending.signal)
      }
    }
    this.#filling = undefined
  }

  /** Returns whether there may be more to do. */
  async #fillSome(): Promise<boolean> {
    const head = this.#store.readHead()
    const linkedFrom = this.#store.readLinkedFrom()
    if (head === undefined || linkedFrom === undefined) return false
    const lowest = Math.max(this.#options.from, linkedFrom)
    if (this.#fillStored(lowest, head.number)) {
      await pause(0, this.#ending.signal)
      return true
    }
    const ranges = this.#store.readLogRanges()
    const top = logRangeAt(ranges, head.number) ?? (ranges.length < logRangesMax ? undefined : ranges.at(-1))
    const last = top === undefined ? head.number : top[0] - 1
    if (last < lowest) return false
    const below = ranges.findLast(([, to]) => to < last)?.[1] ?? -1
    await this.#fetchDown(Math.max(lowest, below + 1), last)
    return true
  }

  /** Adds stored blocks, from the lowest needed one that is not indexed; returns whether there were any. */
  #fillStored(lowest: number, head: number): boolean {
    const ranges = this.#store.readLogRanges()
    const first = logRangeAt(ranges, lowest) === undefined ? lowest : lastAlike(ranges, lowest) + 1
    let next = first
    for (let full = 0; next <= head && full < fullBlocksMax && next - first < blocksMax; next++) {
      const row = this.#store.readCanonicalRow(next)
      if (row === undefined || !this.#store.holdsLogs(row)) break
      if (row.senders.length > 0) full++
    }
    if (next > first) this.#store.fillLogs([], first, next - 1)
    return next > first
  }

  /** Fetches missing parts of the highest blocks from number `first` to `last`, and adds them. */
  async #fetchDown(first: number, last: number): Promise<void> {
    const begunMs = performance.now()
    const { answering } = this.#options.upstreams
    const parts: FetchedParts[] = []
    const wanted: (readonly [StoredBlock, Header])[] = []
    let next = last
    for (let full = 0; next >= first && full < fullBlocksMax && last - next < blocksMax; next--) {
      const row = this.#store.readCanonicalRow(next)
      if (row === undefined) throw new Error(`block ${next} is not stored`)
      const header = decodeHeader(row.header)
      if (equalBytes(header.receiptsRoot, emptyTrieRoot) && row.senders.length === 0) {
        parts.push({ hash: hashOf(row), content: undefined, receipts: { row: noReceipts } })
        continue
      }
      full++
      if (this.#store.holdsLogs(row)) continue
      wanted.push([row, header])
    }
    const settled = await Promise.allSettled(
      wanted.map(([row, header], index) => this.#fetch(row, header, answering[index % answering.length])),
    )
    const fetched = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    this.#store.fillLogs([...parts, ...fetched], next + 1, last)
    const failed = settled.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
    const bytes = fetched.reduce(
      (sum, each) => sum + (each.content?.body.length ?? 0) + each.receipts.row.length,
      0,
    )
    // Half of the time, upstreams are free for callers' requests.
    const spentMs = performance.now() - begunMs
    const { bytesPerSecondMax = bytesPerSecondDefault } = this.#options
    await pause(
      fetched.length === 0 ? 0 : Math.max(spentMs, (1_000 * bytes) / bytesPerSecondMax),
      this.#ending.signal,
    )
  }

  /** The missing parts of a block, proved; `first` is asked first. */
  async #fetch(row: StoredBlock, header: Header, first: Upstream | undefined): Promise<FetchedParts> {
    const hash = hashOf(row)
    const stored = this.#store.readReceipts(hash)
    const [block, receipts] = await Promise.all([
      row.hasBody ? undefined : this.#fetcher.readBlock(hash, first),
      stored === undefined
        ? this.#fetcher.readReceipts(hash, { hash, header, reported: this.#store.readReported(hash) }, first)
        : { row: stored },
    ])
    if (receipts === undefined || (block === undefined && !row.hasBody)) {
      throw new Error(`no upstream has the transactions and receipts of block ${header.number}`)
    }
    if (block !== undefined) this.#fetcher.noteKept('body')
    if (stored === undefined) this.#fetcher.noteKept('receipts')
    return { hash, receipts, content: block && contentOf(block) }
  }
}

function hashOf(row: StoredBlock): Hash32 {
  return toHash32(Uint8Array.from(row.hash))
}
