/**
 * Applies the entries of a feed to a store. Owns the effect of each on the canonical chain; the feed owns their order.
 */

import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header } from '../../../data/chain/header.js'
import { headState } from '../../../data/state/stateView.js'
import type { BlockDiff } from '../../../data/store/blockDiff.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { rowsPerCommit } from '../../../data/store/lmdb/commitRows.js'
import { bytesToBigInt, bytesToHex, equalBytes, noBytes } from '../../../primitives/bytes.js'
import { InvalidBlockError, OperatorError } from '../../../primitives/faults.js'
import { emptyUnclesHash } from '../../../primitives/keccak.js'
import { decodeRlpList, rlpLength, rlpList, rlpPayloadLength } from '../../../primitives/rlp.js'
import { BlockDiffError, decodeBlockDiff } from '../../feed/blockDiffCodec.js'
import type { FeedEntry, LogTip } from '../../feed/blockDiffLog.js'
import { BlockDiffVerifier, type PreviousState, previousState } from '../../feed/verifyBlockDiff.js'
import { checkHeader, checkSize, type RuleContext } from '../blocks/blockRules.js'
import { markers } from '../blocks/markers.js'
import { checkUncles } from '../blocks/uncleRules.js'
import { Turns } from '../thread/pace.js'

export class Replica {
  readonly #store: ChainWriter
  readonly #schedule: ForkSchedule
  readonly #verifier: BlockDiffVerifier
  readonly #isDevelopment: boolean
  #last: PreviousState | undefined
  #flushed = Promise.resolve()

  /** `sendersChecked`: see {@link BlockDiffVerifier}. */
  constructor(store: ChainWriter, schedule: ForkSchedule, sendersChecked: number) {
    this.#store = store
    this.#schedule = schedule
    this.#verifier = new BlockDiffVerifier(schedule, { sendersChecked })
    this.#isDevelopment = store.readIdentity()?.development !== undefined
  }

  /**
   * Applies entries in order, fewer if `signal` is aborted; they are on disk when {@link flushed} settles. After an
   * unwind, readers see no chain that is shorter than before, unless the entries end with it. Rejects with
   * OperatorError if an entry contradicts itself or the store; earlier entries are on disk then. Also rejects if
   * earlier entries could not be stored.
   */
  async apply(entries: readonly FeedEntry[], signal: AbortSignal): Promise<void> {
    const store = this.#store
    const turns = new Turns()
    let seen = store.readHead()?.number ?? 0
    for (const entry of entries) {
      store.beginBatch()
      if (signal.aborted) break
      try {
        this.#apply(entry)
      } catch (error) {
        if (!(error instanceof BlockDiffError)) {
          await store.abandonDelayed()
          throw error
        }
        await store.commitBatch()
        throw new OperatorError(
          `entry ${entry.sequence} of the feed is refused: ${error.message}; the store stays at block ${store.readHead()?.number}`,
        )
      }
      if (store.uncommittedRows >= rowsPerCommit && entry.block.number >= seen) {
        await this.#beginCommit()
        seen = entry.block.number
      }
      if (turns.isDue) await turns.take()
    }
    await this.#beginCommit()
  }

  /**
   * Stores the safe and finalized blocks of a log, all of whose entries were applied. Resolves to whether one of them
   * changed.
   */
  async storeMarkers(tip: Pick<LogTip, 'safe' | 'finalized'>): Promise<boolean> {
    const store = this.#store
    store.beginBatch()
    let isNews = false
    for (const marker of markers) {
      const block = tip[marker]
      if (block === undefined || !this.#isCanonical(block.number, block.hash)) continue
      if (equalBytes(store.readMarker(marker)?.hash ?? noBytes, block.hash)) continue
      store.writeMarker(marker, block)
      isNews = true
    }
    await this.#beginCommit()
    await this.#flushed
    return isNews
  }

  /** Settles when all applied entries are on disk. */
  flushed(): Promise<void> {
    return this.#flushed
  }

  /** Begins to write the applied entries, once all earlier ones are on disk. */
  async #beginCommit(): Promise<void> {
    await this.#flushed
    this.#flushed = this.#store.commitBatch()
    // An error of the commit is thrown when it is awaited, and at the next write.
    this.#flushed.catch(() => undefined)
  }

  #apply(entry: FeedEntry): void {
    const { number, hash } = entry.block
    const store = this.#store
    if (entry.kind === 'block') return this.#applyBlock(entry)
    if (!this.#isCanonical(number, hash)) {
      throw new BlockDiffError(`it names block ${number} (${bytesToHex(hash)}), which is not canonical here`)
    }
    if (entry.kind === 'unwind') this.#unwindTo(number)
    else store.writeMarker(entry.kind, entry.block)
  }

  #applyBlock({ block, parentHash, blockDiff }: FeedEntry & { readonly kind: 'block' }): void {
    const { number, hash } = block
    if (this.#isCanonical(number, hash)) return
    if (!this.#isCanonical(number - 1, parentHash)) {
      throw new BlockDiffError(`block ${number} (${bytesToHex(hash)}) does not follow a canonical block`)
    }
    const parts = decodeBlockDiff(blockDiff)
    if (!equalBytes(parts.hash, hash)) {
      throw new BlockDiffError(
        `the block diff of block ${number} (${bytesToHex(hash)}) is of ${bytesToHex(parts.hash)}`,
      )
    }
    this.#unwindTo(number - 1)
    const previous = this.#previous()
    const whole = this.#verifier.verifyBlockDiff(previous, parts)
    const header = decodeHeader(whole.header)
    this.#checkRules(whole, header, previous)
    this.#store.apply(number - 1, [whole])
    this.#last = {
      number,
      hash: whole.hash,
      header,
      totalDifficulty: previous.totalDifficulty + header.difficulty,
      state: headState(this.#store, header.stateRoot),
    }
  }

  /** The predecessor of the next block; read from the store if its head is not the block that was applied last. */
  #previous(): PreviousState {
    const head = this.#store.readHead()
    const last = this.#last
    const isLast = last !== undefined && head !== undefined && equalBytes(last.hash, head.hash)
    return isLast ? last : previousState(this.#store)
  }

  /**
   * Throws BlockDiffError if the block breaks a rule that an importer checks before execution. These are: the header
   * follows from its parent's, the block is not too long, and its uncles are valid.
   */
  #checkRules(block: BlockDiff, header: Header, previous: PreviousState): void {
    const store = this.#store
    const rules = this.#rulesFor(header, previous.totalDifficulty)
    try {
      checkHeader(header, previous.header, { ...rules, isDevelopment: this.#isDevelopment })
      checkSize(rlpLength(block.header.length + rlpPayloadLength(block.body.length)), rules.fork)
      if (equalBytes(header.unclesHash, emptyUnclesHash)) return
      const uncles = rlpList(decodeRlpList(block.body)[1])
      checkUncles(uncles, header, store, (uncle, uncleParent, parentHash) => {
        const total = bytesToBigInt(store.readTotalDifficulty(parentHash) as Uint8Array)
        checkHeader(uncle, uncleParent, this.#rulesFor(uncle, total))
      })
    } catch (error) {
      if (!(error instanceof InvalidBlockError)) throw error
      throw new BlockDiffError(`block ${header.number} (${bytesToHex(block.hash)}): ${error.message}`)
    }
  }

  #rulesFor({ number, timestamp }: Header, parentTotalDifficulty: bigint): RuleContext {
    const schedule = this.#schedule
    const isMerged = schedule.isMerged(parentTotalDifficulty)
    return { schedule, fork: schedule.forkAt(number, timestamp, isMerged), isMerged }
  }

  #unwindTo(number: number): void {
    if ((this.#store.readHead()?.number ?? 0) > number) this.#store.apply(number, [])
  }

  #isCanonical(number: number, hash: Uint8Array): boolean {
    return number <= (this.#store.readHead()?.number ?? 0) && this.#store.isCanonical(number, hash)
  }
}
