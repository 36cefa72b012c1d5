/**
 * Searches logs in a range of blocks: from the log index to the text of eth_getLogs. Owns which blocks are read, and
 * when the answer is too large. Runs without a pause, on any thread; the caller limits its time.
 */
import { bloomBytes, equalBytes, type Hash32 } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { JsonBytes } from '../../primitives/jsonBytes.js'
import { NotStoredError, type SearchPlace } from '../../primitives/notStored.js'
import { rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'
import type { BlockName, ChainRows, StoreKind } from '../store/chainRows.js'
import { receiptLogsAt } from '../store/layouts/logKeys.js'
import type { StoredBlock } from '../store/storedBlock.js'
import { requireHeader } from './findTransaction.js'
import { headerFieldAt, readBlockFacts } from './header.js'
import { LogBlocks } from './logBlocks.js'
import { type LogCriteria, LogFilter } from './logFilter.js'
import { blockMembers, type LogPosition, writeLog } from './logJson.js'

/** Index of the bloom of all logs in a header (yellow paper 4.4), and its bytes. */
const logsBloomIndex = 6

/**
 * Canonical blocks that may contain logs of a filter, ascending, by the blooms in their headers: for blocks outside the
 * log index. Takes time linear in the blocks of the range.
 */
class BloomBlocks {
  readonly #rows: ChainRows
  readonly #filter: LogFilter
  readonly #last: number
  readonly #onRead: () => void

  /** `onRead` is called before each read of a header. */
  constructor(rows: ChainRows, filter: LogFilter, last: number, onRead: () => void) {
    this.#rows = rows
    this.#filter = filter
    this.#last = last
    this.#onRead = onRead
  }

  /** The first number from `from` on; Infinity if there is none. Throws NotStoredError. */
  seek(from: number): number {
    for (let number = from; number <= this.#last; number++) {
      this.#onRead()
      if (this.#filter.mayMatch(this.#bloomOf(number))) return number
    }
    return Number.POSITIVE_INFINITY
  }

  #bloomOf(number: number): Uint8Array {
    const hash = this.#rows.readCanonicalHash(number)
    if (hash === undefined) throw new NotStoredError({ kind: 'canonical', number })
    const header = this.#rows.readHeader(hash)
    const field = header && headerFieldAt(header, logsBloomIndex)
    if (header === undefined || field === undefined) throw new NotStoredError({ kind: 'header', hash })
    const start = rlpPayloadAt(header, field)
    return header.subarray(start, start + bloomBytes)
  }
}

/** A search in the blocks from `first` to `last` of the chain that ends with `head`; `last` is at most its number. */
export interface LogSearch {
  readonly criteria: LogCriteria
  readonly head: BlockName
  readonly first: number
  readonly last: number
}

/** Limits of one answer. They do not apply to the logs of a single block. */
export interface LogBounds {
  readonly logsMax: number
  /** Bytes of the JSON. */
  readonly logBytesMax: number
}

export interface FoundLogs {
  /** A list of log objects. */
  readonly json: Uint8Array
  readonly count: number
  /**
   * The block up to which these logs are complete: the last block of the search, or the one before the first that did
   * not fit.
   */
  readonly last: number
}

/** Shared by all searches of a thread, which run one after the other. Its initial memory suffices for most answers. */
const json = new JsonBytes(16 * 1024)

/** Throws FaultError for a chain without stored receipts, and so without logs. */
export function requireLogs({ hasReceipts }: StoreKind): void {
  if (!hasReceipts) throw new FaultError({ kind: 'NoReceipts' })
}

/**
 * Searches; returns undefined as soon as `shouldStop`, called before each read, returns true. With `isBrief`, use the
 * JSON before the next call ({@link JsonBytes.finish}). Throws NotStoredError if a block is not stored, FaultError for a
 * non-canonical block that was never executed.
 */
export function searchLogs(
  rows: ChainRows,
  { criteria, head, first, last }: LogSearch,
  { logsMax, logBytesMax }: LogBounds,
  shouldStop: () => boolean,
  isBrief = false,
): FoundLogs | undefined {
  const writer = new LogWriter(rows, new LogFilter(criteria), isBrief)
  try {
    const blocks = blocksToSearch(rows, writer.filter, { head, first, last }, shouldStop)
    for (const block of { [Symbol.iterator]: () => ({ next: () => blocks.next() }) }) {
      if (shouldStop()) return undefined
      const before = { count: writer.count, bytes: writer.bytes }
      try {
        writer.writeBlock(block)
      } catch (thrown) {
        throw withOthers(thrown, rows, blocks, { number: block.number, first, last })
      }
      const isTooMuch = writer.count > logsMax || writer.bytes > logBytesMax
      if (isTooMuch && before.count > 0 && writer.count > before.count) {
        writer.takeBack(before)
        return { ...writer.finish(), last: block.number - 1 }
      }
    }
    return { ...writer.finish(), last }
  } catch (thrown) {
    if (thrown === stopped) return undefined
    throw thrown
  }
}

const stopped = new Error('the search was stopped')

/** Receipts that are fetched together: one batch, of some megabytes. */
const receiptsAhead = 32

/** The error for missing receipts, extended by the other blocks of the search that lack theirs. */
function withOthers(
  thrown: unknown,
  rows: ChainRows,
  rest: Iterator<BlockName>,
  search: SearchPlace,
): unknown {
  if (!(thrown instanceof NotStoredError) || thrown.wanted.kind !== 'receipts') return thrown
  const others: Hash32[] = []
  for (let looks = 0; looks < receiptsAhead; looks++) {
    try {
      const { value } = rest.next()
      if (value === undefined) break
      if (!holdsReceipts(rows, value.hash)) others.push(value.hash)
    } catch {
      // Later missing blocks are reported at their turn.
      break
    }
  }
  return new NotStoredError({ ...thrown.wanted, others, search })
}

function holdsReceipts(rows: ChainRows, hash: Hash32): boolean {
  try {
    return rows.readReceipts(hash, true) !== undefined
  } catch (error) {
    if (error instanceof NotStoredError) return false
    throw error
  }
}

/** The index range of a chain that is stored as a whole. */
const wholeIndex = { isIndexed: true, last: Number.POSITIVE_INFINITY }

type Range = Pick<LogSearch, 'head' | 'first' | 'last'>

function* blocksToSearch(
  rows: ChainRows,
  filter: LogFilter,
  { head, first, last }: Range,
  shouldStop: () => boolean,
): Generator<BlockName> {
  const branch = branchAbove(rows, head)
  const canonicalLast = Math.min(last, head.number - branch.length)
  if (first <= canonicalLast) {
    const oldest = rows.readOldestKept?.().receipts ?? 0
    if (first < oldest) throw new FaultError({ kind: 'HistoryPruned', oldest })
    const onRead = () => {
      if (shouldStop()) throw stopped
    }
    for (let from = first, end = first; from <= canonicalLast; from = end + 1) {
      const part = rows.logIndexAt?.(from) ?? wholeIndex
      end = Math.min(part.last, canonicalLast)
      const blocks = part.isIndexed
        ? new LogBlocks(rows, filter, from, onRead)
        : new BloomBlocks(rows, filter, end, onRead)
      for (let number = blocks.seek(from); number <= end; number = blocks.seek(number + 1)) {
        const hash = rows.readCanonicalHash(number)
        if (hash === undefined) throw new NotStoredError({ kind: 'canonical', number })
        yield { number, hash }
      }
    }
  }
  for (const block of branch) if (block.number >= first && block.number <= last) yield block
}

/** Blocks of the chain that ends with `head` that are not canonical, and so not in the index. */
function branchAbove(rows: ChainRows, head: BlockName): BlockName[] {
  const branch: BlockName[] = []
  for (let { number, hash } = head; !isCanonical(rows, { number, hash }); number--) {
    branch.unshift({ number, hash })
    hash = requireHeader(rows, hash).parentHash
  }
  return branch
}

function isCanonical(rows: ChainRows, { number, hash }: BlockName): boolean {
  const canonical = rows.readCanonicalHash(number)
  return canonical !== undefined && equalBytes(canonical, hash)
}

class LogWriter {
  readonly filter: LogFilter
  readonly #rows: ChainRows
  readonly #isBrief: boolean
  #count = 0

  constructor(rows: ChainRows, filter: LogFilter, isBrief: boolean) {
    this.#rows = rows
    this.filter = filter
    this.#isBrief = isBrief
    json.clear()
    json.text('[')
  }

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return json.length
  }

  takeBack({ count, bytes }: { readonly count: number; readonly bytes: number }): void {
    this.#count = count
    json.cut(bytes)
  }

  finish(): Pick<FoundLogs, 'json' | 'count'> {
    json.text(']')
    return { json: json.finish(this.#isBrief), count: this.#count }
  }

  writeBlock(block: BlockName): void {
    const { hash } = block
    const receipts = this.#rows.readReceipts(hash, true)
    if (receipts === undefined) {
      if (isCanonical(this.#rows, block)) throw new NotStoredError({ kind: 'receipts', hash })
      throw new FaultError({ kind: 'UnknownBlock' })
    }
    let stored: StoredBlock | undefined
    let members: ReturnType<typeof blockMembers> | undefined
    let logIndex = 0
    let index = 0
    const end = rlpEndAt(receipts, 0)
    for (let receipt = rlpPayloadAt(receipts, 0); receipt < end; receipt = rlpEndAt(receipts, receipt)) {
      const logs = receiptLogsAt(receipts, receipt)
      const logsEnd = rlpEndAt(receipts, logs)
      let position: Parameters<typeof writeLog>[3] | undefined
      for (let log = rlpPayloadAt(receipts, logs); log < logsEnd; log = rlpEndAt(receipts, log)) {
        if (this.filter.matchesAt(receipts, log)) {
          stored ??= this.#readBlock(block)
          members ??= blockMembers({
            hash,
            header: { number: block.number, timestamp: readBlockFacts(stored.header).timestamp },
          })
          position ??= { senders: stored.senders, index } satisfies LogPosition
          if (this.#count++ > 0) json.text(',')
          position = writeLog(json, receipts, log, position, members, logIndex)
        }
        logIndex++
      }
      index++
    }
  }

  #readBlock({ hash, number }: BlockName): StoredBlock {
    const stored = this.#rows.readBlock(hash, number)
    if (stored === undefined) throw new NotStoredError({ kind: 'header', hash })
    return stored
  }
}
