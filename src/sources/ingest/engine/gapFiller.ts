/**
 * Blocks between the store and a head that a consensus client chose: nodes send them by their hashes (gapSources.ts), and
 * the importer executes them. Owns the search for a stored ancestor, the order of the blocks, and the report of what is missing.
 * Headers are linked from the chosen head downwards, so that no node can forge a block.
 */
import { setMaxListeners } from 'node:events'
import { firstNumberOf } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { bytesToHex, equalBytes, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { type Deferred, defer, waitFor } from '../../../primitives/deferred.js'
import { OperatorError } from '../../../primitives/faults.js'
import { putNewest } from '../../../primitives/putNewest.js'
import { NoAnswerError } from '../../upstream/upstreams.js'
import type { Block, BlockLink } from '../blocks/block.js'
import { BadBlockError, type ChainImporter } from '../blocks/importer.js'
import type { ImportSession } from '../blocks/importSession.js'
import { withKeysAhead } from '../blocks/keysAhead.js'
import { fetchAhead } from '../nodes/fetchAhead.js'
import type { GapLimits } from '../thread/messages.js'
import type { Report } from '../thread/runSource.js'
import type { GapFigures } from './engineFigures.js'
import { type GapLink, type GapSource, gapLinkOf, type SentBlock } from './gapSources.js'
import type { RejectedBlocks } from './rejectedBlocks.js'

/** Time between two lines of the log while headers are linked. */
const sayMs = 10_000

export interface GapParts {
  readonly store: ChainWriter
  readonly importer: ChainImporter
  readonly session: ImportSession
  readonly blocks: GapSource
  readonly limits: GapLimits
  readonly rejected: RejectedBlocks
  /** Runs `work` while no call of the consensus client is answered. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  /** Remembers that a block is invalid, and the chosen head above it. */
  readonly reject: (error: BadBlockError, asked: Hash32, parentHash: Hash32) => unknown
  /** Called once the chosen head is executed and on disk. */
  readonly onFilled: () => Promise<void>
  readonly report: Report
  readonly say: (text: string) => void
}

/** Another head was chosen, the head of the store moved, or a block of the gap was stored. */
class SupersededError extends Error {}
/** The chosen head cannot be executed here, for this reason. */
class UnfillableError extends Error {}

export class GapFiller {
  readonly #parts: GapParts
  readonly #store: ChainWriter
  readonly #limits: GapLimits
  /** Blocks of payloads, by hash; the oldest first. */
  readonly #received = new Map<string, Block>()
  #news: Deferred<void> = defer()
  #wanted: Hash32 | undefined
  #number: number | undefined
  /** Blocks of the gap; undefined until its headers are linked. */
  #count: number | undefined
  #fetched = 0
  #executed = 0
  #missingSince: number | undefined
  #missing: string | undefined
  #failure: string | undefined
  #signal = new AbortController().signal

  constructor(parts: GapParts) {
    this.#parts = parts
    this.#store = parts.store
    this.#limits = parts.limits
  }

  /** Number of the chosen head; undefined if it is stored, or not known yet. */
  get number(): number | undefined {
    return this.#number
  }

  get figures(): GapFigures | undefined {
    const head = this.#number
    if (head === undefined) return undefined
    const left = this.#count === undefined ? head - this.#store.head.number : this.#count - this.#executed
    return { head, fetched: this.#fetched, executed: this.#executed, left: Math.max(left, 0) }
  }

  /** Why the gap is not filled, once that lasts. */
  get trouble(): string | undefined {
    if (this.#failure !== undefined) return this.#failure
    const since = this.#missingSince
    return since !== undefined && performance.now() - since > this.#limits.missingMs
      ? this.#missing
      : undefined
  }

  /** Remembers the block of a payload whose parent is not stored. */
  receive(block: Block): void {
    putNewest(this.#received, latin1Key(block.hash), block, this.#limits.receivedMax)
  }

  /** Gets the chosen head if it is not stored; undefined if it is, which ends the work. */
  want(head: Hash32 | undefined): void {
    const before = this.#wanted
    this.#wanted = head
    if (head === undefined) this.#end()
    else if (before === undefined || !equalBytes(before, head)) this.#news.resolve()
  }

  /** Runs until the signal is aborted. Rejects only for errors of the store and bugs. */
  async run(signal: AbortSignal): Promise<void> {
    setMaxListeners(0, signal)
    this.#signal = signal
    signal.addEventListener('abort', () => this.#news.resolve(), { once: true })
    while (!signal.aborted) {
      this.#news = defer()
      const head = this.#wanted
      if (head === undefined) await this.#news.promise
      else await this.#tryFill(head)
    }
  }

  async #tryFill(head: Hash32): Promise<void> {
    try {
      await this.#fill(head)
      this.#end()
    } catch (error) {
      if (error instanceof SupersededError) return
      if (!(error instanceof OperatorError || error instanceof UnfillableError)) throw error
      // The consensus client repeats its choice in each slot, so this is tried again.
      if (this.#failure !== error.message) this.#parts.say(error.message)
      this.#failure = error.message
    }
    this.#drop(head)
  }

  async #fill(head: Hash32): Promise<void> {
    if (this.#isKnown(head)) return
    const top = await this.#search(head, `block ${bytesToHex(head)}`, () => this.#linkOf(head))
    this.#number = top.number
    this.#count = undefined
    this.#fetched = 0
    this.#executed = 0
    this.#reportProgress()
    // Only one link of each window stays in memory, 800 bytes, because a gap may have millions. So headers are fetched twice.
    const windowTops: GapLink[] = []
    let lowest = top
    let saidMs = performance.now()
    for await (const link of this.#linksFrom(top, head)) {
      const above = windowTops.at(-1)
      if (above === undefined || above.number - link.number >= this.#limits.windowBlocks)
        windowTops.push(link)
      lowest = link
      if (performance.now() - saidMs < sayMs) continue
      saidMs = performance.now()
      this.#parts.say(`linked the headers from block ${top.number}, the chosen head, down to ${link.number}`)
    }
    const count = top.number - lowest.number + 1
    this.#count = count
    if (count > this.#limits.batchBlocks)
      this.#parts.say(`${count} blocks up to ${top.number}, the chosen head, come from nodes`)
    while (windowTops.length > 0) await this.#fillWindow(windowTops.pop() as GapLink, head)
    if (this.#isKnown(head)) await this.#parts.onFilled()
  }

  /** Imports the blocks from above the last stored one to `top`. */
  async #fillWindow(top: GapLink, head: Hash32): Promise<void> {
    const { batchBlocks, batchBytes } = this.#limits
    const links: GapLink[] = []
    for await (const link of this.#linksFrom(top, head)) links.unshift(link)
    const [lowest] = links
    if (lowest === undefined) return
    const rejection = this.#parts.rejected.find(lowest.parentHash)
    if (rejection !== undefined) {
      for (const { hash } of [...links, { hash: head }]) this.#parts.rejected.add(hash, rejection)
      this.#drop(head)
      throw new SupersededError()
    }
    await this.#begin(lowest, head)
    const fetches = links.map((link) => () => this.#sentOf(link, head))
    let batch: Block[] = []
    let bytes = 0
    for await (const { block, rlp, unknownFork, takeKeys } of withKeysAhead(
      fetchAhead(fetches),
      this.#store,
    )) {
      if (block === undefined) throw new UnfillableError(unknownFork ?? 'a block is of an unknown fork')
      this.#fetched++
      batch.push({ ...block, takeKeys })
      bytes += rlp.length
      if (batch.length < batchBlocks && bytes < batchBytes) continue
      await this.#import(batch, head)
      batch = []
      bytes = 0
    }
    await this.#import(batch, head)
  }

  /** Makes the last stored block below the gap the head, unless it is. */
  async #begin({ number, parentHash }: BlockLink, head: Hash32): Promise<void> {
    await this.#parts.inTurn(async () => {
      if (equalBytes(this.#store.head.hash, parentHash)) return
      this.#store.beginBatch()
      try {
        await this.#parts.importer.makeHead({ number: number - 1, hash: parentHash })
      } catch (error) {
        await this.#store.abandonDelayed()
        throw this.#asRefused(error, head, parentHash)
      }
      await this.#store.commitBatch()
    })
  }

  /** Imports blocks as the head, one after the other. Between turns the consensus client gets its answers. */
  async #import(batch: readonly Block[], head: Hash32): Promise<void> {
    for (let at = 0; at < batch.length; ) {
      at = await this.#parts.inTurn(() => this.#importSome(batch, at, head))
      this.#reportProgress()
    }
  }

  /** Returns the index of the first block that is not imported. */
  async #importSome(batch: readonly Block[], from: number, head: Hash32): Promise<number> {
    const { session } = this.#parts
    const untilMs = performance.now() + this.#limits.turnMs
    const [first] = batch.slice(from) as [Block]
    const isNext = equalBytes(this.#store.head.hash, first.header.parentHash)
    if (this.#signal.aborted || this.#wanted === undefined || !isNext) throw new SupersededError()
    let at = from
    while (at < batch.length && performance.now() < untilMs && !this.#signal.aborted) {
      const block = batch[at] as Block
      try {
        await session.import(block)
      } catch (error) {
        throw this.#asRefused(error, head, block.header.parentHash)
      }
      at++
      this.#executed++
    }
    await session.commit()
    return at
  }

  /** The error for an invalid block, which is remembered; other errors unchanged. */
  #asRefused(error: unknown, head: Hash32, parentHash: Hash32): unknown {
    if (!(error instanceof BadBlockError)) return error
    this.#parts.reject(error, head, parentHash)
    this.#drop(head)
    return new SupersededError()
  }

  #drop(head: Hash32): void {
    if (this.#wanted !== undefined && equalBytes(this.#wanted, head)) this.#wanted = undefined
    this.#number = undefined
  }

  #isKnown(hash: Hash32): boolean {
    return this.#store.hasHeader(hash)
  }

  /** A block and those below it, down to the child of a stored or a rejected one. */
  async *#linksFrom(top: GapLink, head: Hash32): AsyncGenerator<GapLink> {
    const { batchBlocks } = this.#limits
    const identity = this.#store.readIdentity()
    const first = identity === undefined ? 0 : firstNumberOf(identity)
    const isEnd = (hash: Hash32) => this.#isKnown(hash) || this.#parts.rejected.find(hash) !== undefined
    let link = top
    let step = 1
    if (this.#isKnown(top.hash)) return
    for (;;) {
      yield link
      if (isEnd(link.parentHash)) return
      if (link.number <= first + 1)
        throw new UnfillableError(
          `the chosen head ${bytesToHex(head)} is of another chain: its ancestor ${link.number} (${bytesToHex(link.hash)}) does not follow block ${first}, at which this store begins`,
        )
      // Below the head of the store another branch may end at each block.
      const above = link.number - 1 - this.#store.head.number
      step = above > 0 ? Math.min(above, batchBlocks) : Math.min(2 * step, batchBlocks)
      const below = await this.#linksBelow(link, Math.min(step, link.number - first - 1), head)
      for (const each of below.slice(0, -1)) {
        yield each
        if (isEnd(each.parentHash)) return
      }
      const lowest = below.at(-1)
      if (lowest === undefined) return
      link = lowest
    }
  }

  /** At least the parent of a block; nothing if the consensus client gave it meanwhile, so that it is stored. */
  #linksBelow(link: GapLink, count: number, head: Hash32): Promise<readonly GapLink[]> {
    return this.#search(head, `the header of block ${link.number - 1}`, async () => {
      if (this.#isKnown(link.parentHash)) return []
      const received = this.#received.get(latin1Key(link.parentHash))
      if (received !== undefined) return [gapLinkOf(received, link.parentRoot)]
      return this.#parts.blocks.linksBelow(link, count)
    })
  }

  async #linkOf(hash: Hash32): Promise<GapLink | undefined> {
    const received = this.#received.get(latin1Key(hash))
    return received === undefined ? this.#parts.blocks.find(hash) : gapLinkOf(received, undefined)
  }

  /** Rejects with SupersededError if the block is stored meanwhile: then the gap is smaller. */
  #sentOf(link: GapLink, head: Hash32): Promise<SentBlock> {
    return this.#search(head, `block ${link.number} (${bytesToHex(link.hash)})`, async () => {
      if (this.#isKnown(link.hash)) throw new SupersededError()
      const block = this.#received.get(latin1Key(link.hash))
      return block === undefined ? this.#parts.blocks.block(link) : { ...link, rlp: block.bodyRlp, block }
    })
  }

  /** Repeats a request until a node has the thing. Throws SupersededError if another head is wanted meanwhile. */
  async #search<T>(head: Hash32, what: string, ask: () => Promise<T | undefined>): Promise<T> {
    const missing = `no node sends ${what}, which the head chosen by the consensus client needs`
    for (;;) {
      if (this.#signal.aborted) throw new SupersededError()
      this.#news = defer()
      this.#miss(missing)
      try {
        const found = await ask()
        if (found !== undefined) {
          this.#found()
          return found
        }
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error
        this.#miss(`${missing}: ${error.message}`)
      }
      if (this.#wanted === undefined || !equalBytes(this.#wanted, head)) throw new SupersededError()
      await waitFor(this.#news.promise, this.#limits.retryMs)
    }
  }

  #miss(what: string): void {
    this.#missingSince ??= performance.now()
    this.#missing = what
  }

  /** The chosen head is stored. */
  #end(): void {
    this.#failure = undefined
    this.#number = undefined
    this.#found()
  }

  #found(): void {
    this.#missingSince = undefined
    this.#missing = undefined
  }

  #reportProgress(): void {
    const progress = { ...this.#parts.session.progress(), number: this.#store.head.number }
    this.#parts.report({ type: 'progress', progress })
  }
}
