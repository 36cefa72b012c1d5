import { LRUCache } from 'lru-cache'
import type { Chain } from '../../data/chain/chain.js'
import type { ChainStep } from '../../data/chain/chainSteps.js'
import type { LogFilter, LogKeys } from '../../data/chain/logFilter.js'
import { type BlockLog, removedLogJson } from '../../data/chain/logJson.js'
import { asBuffer, bytesToHex, type Hash32, latin1Key } from '../../primitives/bytes.js'
import { type ChainRequest, isWithin, type WantedReceipts, wantsStep } from './chainRequest.js'
import { EventMessage } from './eventMessage.js'

export type ChainEvent = EventMessage<ChainStep>

/** The event for one log that joined or left the chain, with the keys that filters compare. */
export interface LogEvent {
  readonly keys: LogKeys
  readonly message: ChainEvent
}

/**
 * Memory for log events of recent blocks, and as much for their receipts. After a restart all clients reconnect and
 * replay the same ones, and events that wait for slow readers are rendered again. 16 MiB are 16,000 token transfers at
 * 1 KB.
 */
const cacheBytesMax = 16 * 2 ** 20

/** Bytes of sender and hash of a transaction in a block's row. */
const senderBytes = 52

/** Logs between two points where rendering may pause: 0.1 ms. */
const logsPerPause = 16

/** Logs of a block that are rendered at once, in 5 ms, and cached for others. */
const shortLogsMax = 2_000

/** Size of a cache entry itself; a block without logs has one too. */
const entryBytes = 100

/** The events of each step of one chain, rendered once for all subscribers. */
export class BlockEvents {
  readonly #chain: Chain
  /** Step → its log events. */
  readonly #logs = new LRUCache<string, readonly LogEvent[]>({
    maxSize: cacheBytesMax,
    sizeCalculation: (events) => events.reduce((sum, { message }) => sum + message.size, entryBytes),
  })
  /** Block and indices of transactions → the event of their receipts; block and one index → that receipt. */
  readonly #receipts = new LRUCache<string, ChainEvent | Uint8Array>({
    maxSize: cacheBytesMax,
    sizeCalculation: (made, key) =>
      entryBytes + key.length + (made instanceof EventMessage ? made.size : made.length),
  })
  /** The transactions of the block that was read last. */
  #transactions: { readonly block: Hash32; readonly indexOf: ReadonlyMap<string, number> } | undefined

  constructor(chain: Chain) {
    this.#chain = chain
  }

  /**
   * The events of a step for a subscription, from index `first`. Numbers in between count the events checked so far: a
   * caller that pauses there continues from that number.
   */
  *of(request: ChainRequest, step: ChainStep, first = 0): Generator<ChainEvent | number> {
    const { filter, receipts } = request
    if (filter !== undefined) yield* this.#matching(request, filter, step, first)
    // A block has one head, and its receipts are one event.
    else if (first > 0) return
    else if (receipts === undefined) {
      if (wantsStep(request, step)) yield this.head(step)
    } else {
      const message = this.receipts(step, receipts)
      if (message !== undefined) yield message
    }
  }

  head(step: ChainStep): ChainEvent {
    const json = this.#chain.headJson(step.hash)
    if (json === undefined) throw new Error(`the header of ${bytesToHex(step.hash)} is missing`)
    if (step.kind === 'added') return new EventMessage(json, step)
    const text = Buffer.from(json).toString('latin1', 0, json.length - 1)
    return new EventMessage(`${text},"removed":true}`, step)
  }

  /** The receipts of an added block, all or those of some transactions; undefined if there are none. */
  receipts(step: ChainStep, wanted: WantedReceipts | 'all'): ChainEvent | undefined {
    if (step.kind === 'removed') return undefined
    const indexOf = this.#indexOf(step.hash)
    const indices = wanted === 'all' ? undefined : wanted.indicesIn(indexOf)
    if ((indices?.length ?? indexOf.size) === 0) return undefined
    const key = `${latin1Key(step.hash)} ${indices?.join() ?? 'all'}`
    const known = this.#receipts.get(key)
    if (known instanceof EventMessage) return known
    const message = new EventMessage(this.#receiptsJson(step.hash, indices), step)
    this.#receipts.set(key, message)
    return message
  }

  /** All log events of a step: in log order for an added block, reversed for a removed one. May pause at each yield. */
  *logs(step: ChainStep): Generator<void, readonly LogEvent[]> {
    const key = logsKey(step)
    const known = this.#logs.get(key)
    if (known !== undefined) return known
    const logs: BlockLog[] = []
    for (const log of this.#eachLog(step, 0)) {
      logs.push(log)
      if (logs.length % logsPerPause === 0) yield
    }
    if (step.kind === 'removed') logs.reverse()
    const events: LogEvent[] = []
    for (const log of logs) {
      events.push(logEvent(log, step, events.length))
      if (events.length % logsPerPause === 0) yield
    }
    this.#logs.set(key, events)
    return events
  }

  *#matching(
    request: ChainRequest,
    filter: LogFilter,
    step: ChainStep,
    first: number,
  ): Generator<ChainEvent | number> {
    if (!isWithin(request, step)) return
    const header = this.#chain.readHeader(step.hash)
    if (header === undefined || !filter.mayMatch(header.logsBloom)) return
    let looked = first
    for (const { keys, message } of this.#logsFrom(step, first)) {
      if (filter.matches(keys)) yield message
      if (++looked % logsPerPause === 0) yield looked
    }
  }

  /**
   * Log events from index `first`. Uses cached ones; otherwise makes all of a short block, and those of a longer one on
   * demand. Events of a removed block come in reverse, so all have to be made.
   */
  *#logsFrom(step: ChainStep, first: number): Generator<LogEvent> {
    const known = this.#logs.get(logsKey(step)) ?? (this.#isShort(step) ? whole(this.logs(step)) : undefined)
    if (known !== undefined) {
      for (let index = first; index < known.length; index++) yield known[index] as LogEvent
    } else {
      let index = first
      for (const log of this.#eachLog(step, first)) yield logEvent(log, step, index++)
    }
  }

  #isShort({ kind, hash }: ChainStep): boolean {
    return kind === 'removed' || this.#chain.countLogs(hash) <= shortLogsMax
  }

  #eachLog({ hash }: ChainStep, first: number): Iterable<BlockLog> {
    const logs = this.#chain.eachLog(hash, first)
    if (logs === undefined) throw new Error(`the receipts of ${bytesToHex(hash)} are missing`)
    return logs
  }

  /** Hash of a transaction of a block → its index. */
  #indexOf(block: Hash32): ReadonlyMap<string, number> {
    if (this.#transactions?.block !== block) {
      const senders = this.#chain.readBlock(block)?.senders ?? new Uint8Array(0)
      const indexOf = new Map<string, number>()
      for (let at = 0; at < senders.length; at += senderBytes)
        indexOf.set(latin1Key(senders.subarray(at + 20, at + senderBytes)), at / senderBytes)
      this.#transactions = { block, indexOf }
    }
    return this.#transactions.indexOf
  }

  #receiptsJson(block: Hash32, indices: readonly number[] | undefined): Uint8Array {
    if (indices !== undefined) {
      const parts = indices.flatMap((index) => [comma, this.#receiptJson(block, index)])
      return Buffer.concat([opening, ...parts.slice(1), closing])
    }
    const json = this.#chain.receiptsJson(block)
    if (json === undefined) throw new Error(`the receipts of ${bytesToHex(block)} are missing`)
    return json
  }

  #receiptJson(blockHash: Hash32, index: number): Uint8Array {
    const key = `${latin1Key(blockHash)}#${index}`
    const known = this.#receipts.get(key)
    if (known instanceof Uint8Array) return known
    const json = this.#chain.receiptJson({ blockHash, index })
    if (json === undefined) throw new Error(`the receipts of ${bytesToHex(blockHash)} are missing`)
    const copy = Buffer.from(asBuffer(json))
    this.#receipts.set(key, copy)
    return copy
  }
}

const [opening, comma, closing] = ['[', ',', ']'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]

function logsKey({ kind, hash }: ChainStep): string {
  return `${kind} ${latin1Key(hash)}`
}

function logEvent({ address, topics, json }: BlockLog, step: ChainStep, index: number): LogEvent {
  const text = step.kind === 'added' ? json : removedLogJson(json)
  return { keys: { address, topics }, message: new EventMessage(text, step, index) }
}

/** Runs a generator to its end without a pause and returns its result. */
function whole<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
