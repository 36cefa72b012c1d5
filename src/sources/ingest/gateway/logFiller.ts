/**
 * Completes the log index of a gateway: for each block that is linked to the head, from the head down to the block that
 * the configuration names, it fetches the receipts and transactions that are not held, once, and adds their logs. Each
 * is proved by the roots in the block's header. What is held already, as the blocks of archives are, comes first, from
 * the lowest upwards. Owns which blocks are next, and how much is asked for at once. New heads are added by
 * {@link GatewayWriter.advance}.
 */

import { decodeHeader, type Header } from '../../../data/chain/header.js'
import { type FetchedParts, type GatewayWriter, logRangesMax } from '../../../data/store/gatewayWriter.js'
import { lastAlike, logRangeAt } from '../../../data/store/logRanges.js'
import type { StoredBlock } from '../../../data/store/storedBlock.js'
import { equalBytes, type Hash32, toHash32 } from '../../../primitives/bytes.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { pause } from '../../../primitives/pause.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import type { Upstream } from '../../upstream/upstream.js'
import { contentOf } from './familyBlock.js'
import type { ProofFetcher } from './proofFetcher.js'

/** Blocks with transactions that are taken at once: some 10 MB of answers, and 50 ms to prove and store them. */
const fullBlocksMax = 32
/** Blocks that are taken at once, nearly all without transactions: looking at all takes some 10 ms. */
const blocksMax = 1_024
/**
 * Bytes of transactions and receipts that are fetched in a second, over some seconds: as JSON they are three times as
 * long, which is half of what a line of 200 Mbit/s carries. Blocks of a busy chain come at 40 KB/s.
 */
const bytesPerSecondDefault = 4 * 2 ** 20
/** Wait before what could not be fetched is tried again: at first, and at most; doubled each time. */
const retryMs = 1_000
const retryMsMax = 60_000

/** The receipts of a block without transactions. */
const noReceipts = encodeRlp([])

export interface LogFillerOptions {
  /** The lowest block whose logs are wanted. */
  readonly from: number
  /** Those that may be asked, best first. */
  readonly upstreams: { readonly answering: readonly Upstream[] }
  /** Most bytes a second of bodies and receipts; absent for 4 MiB. */
  readonly bytesPerSecondMax?: number
  /** Told of what went wrong, as sentences for the operator. */
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

  /** To be called where there may be something to do: a head, or headers that were linked below it. */
  wake(): void {
    this.#isWoken = true
    // In a later turn, so that there is one at a time also where it is woken by what it asks.
    this.#filling ??= Promise.resolve().then(() => this.#fill())
  }

  /** Resolves once nothing is left to do, or it is closed. */
  async idle(): Promise<void> {
    await this.#filling
  }

  /** Resolves once it no longer uses the store. End what it waits for as well. */
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

  /** Whether there may be more to do. */
  async #fillSome(): Promise<boolean> {
    const head = this.#store.readHead()
    const linkedFrom = this.#store.readLinkedFrom()
    if (head === undefined || linkedFrom === undefined) return false
    const lowest = Math.max(this.#options.from, linkedFrom)
    if (this.#fillHeld(lowest, head.number)) {
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

  /** Adds blocks that are held, from the lowest that is wanted and not indexed; whether there were any. */
  #fillHeld(lowest: number, head: number): boolean {
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

  /** Fetches what is not held of the highest blocks from number `first` to `last`, and adds them. */
  async #fetchDown(first: number, last: number): Promise<void> {
    const begunMs = performance.now()
    const { answering } = this.#options.upstreams
    const parts: FetchedParts[] = []
    const wanted: (readonly [StoredBlock, Header])[] = []
    let next = last
    for (let full = 0; next >= first && full < fullBlocksMax && last - next < blocksMax; next--) {
      const row = this.#store.readCanonicalRow(next)
      if (row === undefined) throw new Error(`block ${next} is not held`)
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
    // Half of the time upstreams are free for what callers want.
    const spentMs = performance.now() - begunMs
    const { bytesPerSecondMax = bytesPerSecondDefault } = this.#options
    await pause(
      fetched.length === 0 ? 0 : Math.max(spentMs, (1_000 * bytes) / bytesPerSecondMax),
      this.#ending.signal,
    )
  }

  /** The parts of a block that are not held, proved; `first` is asked first. */
  async #fetch(row: StoredBlock, header: Header, first: Upstream | undefined): Promise<FetchedParts> {
    const hash = hashOf(row)
    const held = this.#store.readReceipts(hash)
    const [block, receipts] = await Promise.all([
      row.hasBody ? undefined : this.#fetcher.readBlock(hash, first),
      held === undefined
        ? this.#fetcher.readReceipts(hash, { hash, header, told: this.#store.readTold(hash) }, first)
        : { row: held },
    ])
    if (receipts === undefined || (block === undefined && !row.hasBody)) {
      throw new Error(`no upstream has the transactions and receipts of block ${header.number}`)
    }
    if (block !== undefined) this.#fetcher.noteKept('body')
    if (held === undefined) this.#fetcher.noteKept('receipts')
    return { hash, receipts, content: block && contentOf(block) }
  }
}

function hashOf(row: StoredBlock): Hash32 {
  return toHash32(Uint8Array.from(row.hash))
}
