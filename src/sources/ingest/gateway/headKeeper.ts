/**
 * Keeps a gateway's chain of headers, starting at the head of the upstreams. Reads every header by its hash, parent by
 * parent, down to the previous head, and in the background further down. Owns which block a number means, and whether a
 * header follows from its parent by the rules of the chain. Does not own fetching (`proofFetcher.ts`).
 */

import { setImmediate } from 'node:timers/promises'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, isProofOfStake, UnknownForkError } from '../../../data/chain/header.js'
import type { BlockName } from '../../../data/store/chainRows.js'
import type { CanonicalHeader, GatewayWriter } from '../../../data/store/gatewayWriter.js'
import {
  bytesToBigInt,
  bytesToHex,
  equalBytes,
  type Hash32,
  hexToBytes,
  toHash32,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { defer, pause } from '../../../primitives/deferred.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { setTimeout } from '../../../primitives/timers.js'
import type { HeadChoice } from '../../upstream/headChoice.js'
import type { HeadClaim } from '../../upstream/headWatch.js'
import { checkHeader } from '../blocks/blockRules.js'
import {
  askMarkers,
  newMarkers,
  type ReportedMarkers,
  type SignedMarkers,
  writeMarkers,
} from '../blocks/markers.js'
import type { SignedLinks } from '../nodes/signedLinks.js'
import type { ProvedBlock } from './blockFetcher.js'
import { contentOf } from './familyBlock.js'
import { HeaderLinks, type LinkedHeader, relinkedMax, requireNumber } from './headerLinks.js'
import type { HeadReader, WholeBlock } from './headReader.js'
import type { ProofFetcher } from './proofFetcher.js'
import { addTotals } from './totals.js'

/** Blocks between two heads that are fetched whole, so that their subscribers get each one without a wait. */
const wholeMax = 64
/** Blocks of a branch whose receipts are requested together. */
const branchBatch = 16
/** Wait before a head that could not be proved is tried again: the first and the maximum; doubled each time. */
const retryMs = 100
const retryMsMax = 2_000
/** Time without a usable head until its claimers are doubted: longer than a block needs from node to node. */
const doubtAfterMs = 3_000
/** Headers of one transaction of the walk down, requested together. */
const walkBatch = 100

interface HeadKeeperOptions {
  readonly schedule: ForkSchedule
  /** Blocks below the head whose headers are linked to it. */
  readonly historyBlocks: number
  /** Block down to which headers are linked, if that is further down. */
  readonly linkTo?: number | undefined
  /** Gets the heads that cannot be followed. */
  readonly choice: Pick<HeadChoice, 'doubt' | 'reject'>
  /** Names final blocks, if the head is a signed one. */
  readonly signed?: SignedMarkers | undefined
  /** Present with {@link signed}. */
  readonly links?: SignedLinks | undefined
  readonly onHead: () => void
  /**
   * Called once headers are linked `historyBlocks` deep, and with each hundred below. Total difficulties are known once
   * genesis is linked, or never.
   */
  readonly onLinked: () => void
  /** Gets sentences about problems, for the operator. */
  readonly log: (text: string) => void
}

/** The needed part of a claim. */
type ClaimedBlock = Pick<HeadClaim, 'number' | 'hash'>

export class HeadKeeper {
  readonly #store: GatewayWriter
  readonly #fetcher: ProofFetcher
  readonly #reader: HeadReader
  readonly #links: HeaderLinks
  readonly #options: HeadKeeperOptions
  #claimed: ClaimedBlock | undefined
  #moving: Promise<void> | undefined
  /** The running attempt to move to a head, or the last one; never rejects. */
  #attempt = defer<void>()
  #walking: Promise<void> | undefined
  #walkAgain: NodeJS.Timeout | undefined
  #isClosed = false
  /** Ends the wait before a head is tried again. */
  #waking: AbortController | undefined
  /** The last sentence for the operator, to avoid repeating it. */
  #complaint = ''
  #trouble: string | undefined

  constructor(store: GatewayWriter, fetcher: ProofFetcher, reader: HeadReader, options: HeadKeeperOptions) {
    this.#store = store
    this.#fetcher = fetcher
    this.#reader = reader
    this.#links = new HeaderLinks(store, fetcher)
    this.#options = options
  }

  /** Why the newest claimed head is not the stored head; undefined if it is, or is being fetched. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /**
   * Moves to a head that an upstream claims, once it is proved to link to the chain; the newest claim wins. Resolves
   * once the running attempt succeeded or failed.
   */
  async follow(claim: ClaimedBlock): Promise<void> {
    this.#claimed = claim
    if (this.#isClosed) return
    this.#waking?.abort()
    this.#moving ??= this.#moveOn()
    await this.#attempt.promise
  }

  /** Resolves once the store is no longer used. The caller must also end the requests that it waits for. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#waking?.abort()
    clearTimeout(this.#walkAgain)
    await Promise.all([this.#moving, this.#walking])
  }

  async #moveOn(): Promise<void> {
    let failures = 0
    let failingSince = Number.POSITIVE_INFINITY
    while (this.#claimed !== undefined && !this.#isClosed) {
      const claim = this.#claimed
      this.#claimed = undefined
      this.#attempt = defer<void>()
      try {
        // Requested in the same turn as the head, so in the same batch.
        const markers = this.#askMarkers()
        await this.#moveTo(claim)
        this.#moveMarkers(await markers)
        this.#attempt.resolve()
        failures = 0
        failingSince = Number.POSITIVE_INFINITY
        this.#trouble = undefined
      } catch (error) {
        this.#attempt.resolve()
        const what = `head ${claim.number} (${claim.hash})`
        this.#trouble = `${what}: ${(error as Error).message}`
        this.#complain(what, error)
        failingSince = Math.min(failingSince, performance.now())
        // While nothing is served yet, a node with a usable head must lead at once.
        const patienceMs = this.#store.readHead() === undefined ? 0 : doubtAfterMs
        if (!this.#isClosed && performance.now() - failingSince >= patienceMs) {
          this.#options.choice.doubt()
          failingSince = Number.POSITIVE_INFINITY
        }
        // Upstreams report a head once, even if they do not have all of it yet.
        await this.#pause(Math.min(retryMs * 2 ** failures++, retryMsMax))
        this.#claimed ??= claim
      }
    }
    this.#moving = undefined
    this.#walk()
  }

  /** Waits until the time is over, another head is claimed, or the keeper is closed. */
  async #pause(ms: number): Promise<void> {
    this.#waking = new AbortController()
    await pause(ms, this.#waking.signal)
    this.#waking = undefined
  }

  #askMarkers(): Promise<ReportedMarkers> {
    return askMarkers(this.#fetcher.proving, this.#options.signed)
  }

  #moveMarkers(reported: ReportedMarkers): void {
    const moved = newMarkers(this.#store, this.#options.signed, reported)
    if (moved !== undefined) writeMarkers(this.#store, moved)
  }

  async #moveTo(claim: ClaimedBlock): Promise<void> {
    for (;;) {
      const head = this.#store.readHead()
      const gap = claim.number - (head?.number ?? 0)
      if (head === undefined || gap > this.#options.historyBlocks) {
        return this.#begin(claim, await this.#isHeadLeft())
      }
      if (gap <= wholeMax) return this.#follow(claim)
      // Step by step, so that memory does not grow with the upstreams' downtime.
      const next = await this.#between(head.number + wholeMax, head.number + 1, claim)
      if (next === undefined) throw new Error(`too few upstreams agree on block ${head.number + wholeMax}`)
      if (this.#isClosed) return
      await this.#follow({ number: next.number, hash: bytesToHex(next.hash) })
    }
  }

  /**
   * A block between `first` and a claim: if the claim is signed, the one that its headers lead to; else the agreed one.
   */
  #between(number: number, first: number, { hash }: ClaimedBlock): Promise<BlockName | undefined> {
    const { links } = this.#options
    if (links !== undefined) return links.at(number, first, toHash32(hexToBytes(hash)))
    return this.#fetcher.readAgreed(number)
  }

  /** Throws if upstreams have another block 0: their head is no branch of this chain. */
  async #requireOwnGenesis(): Promise<void> {
    const genesis = await this.#fetcher.readAgreed(0).catch(() => undefined)
    const own = this.#store.readIdentity()?.genesisHash.toLowerCase()
    if (genesis !== undefined && bytesToHex(genesis.hash) !== own)
      throw new Error(
        `upstreams have another genesis, ${bytesToHex(genesis.hash)}; their chain is not followed`,
      )
  }

  /** Starts at a head without a link to the stored chain; `hasLeft`: the previous head is not on its chain. */
  async #begin(claim: ClaimedBlock, hasLeft: boolean): Promise<void> {
    if (hasLeft) await this.#requireOwnGenesis()
    const fetched = await this.#links.read(toHash32(hexToBytes(claim.hash)), claim.number)
    const { number, parentHash } = fetched.header
    const below = number === 0 ? [] : [await this.#links.read(parentHash, number - 1)]
    for (const parent of below) this.#checkHeaders(parent.header, [fetched])
    await this.#complete([fetched])
    const head = this.#store.readHead()
    // It is unknown which numbers below belong to this branch too, so each is requested again.
    if (hasLeft && head !== undefined) {
      while (!this.#isClosed && this.#store.moveAsideBelow(head.number)) await setImmediate()
      if (this.#isClosed) return
    }
    const highest = hasLeft && head !== undefined ? head.number - 1 : number
    this.#advance(Math.min(number - 1 - below.length, highest), [...below, fetched], true)
  }

  /** Whether the stored head has left the chain, according to the upstreams. */
  async #isHeadLeft(): Promise<boolean> {
    const head = this.#store.readHead()
    if (head === undefined) return false
    const agreed = await this.#fetcher.readAgreed(head.number)
    if (agreed === undefined) throw new Error(`too few upstreams agree on block ${head.number}`)
    return !equalBytes(agreed.hash, head.hash)
  }

  /** Moves to a head whose ancestors lead to a canonical block; starts again if none does. */
  async #follow(claim: ClaimedBlock): Promise<void> {
    const hash = toHash32(hexToBytes(claim.hash))
    // A block of the chain, even below the head, is no news: an upstream may be behind for a moment.
    if (this.#links.canonicalNumber(hash) !== undefined) return
    const head = await this.#reader.read(hash)
    if (head === undefined) throw new Error(`no upstream has block ${claim.hash}`)
    requireNumber(head, claim.number)
    const lowest = claim.number - Math.min(this.#options.historyBlocks, relinkedMax)
    const below = await this.#links.toChain(head.header.parentHash, claim.number - 1, lowest)
    if (this.#isClosed) return
    const [oldest] = [...(below ?? []), head]
    const fork = below && this.#links.canonicalNumber((oldest as LinkedHeader).header.parentHash)
    if (below === undefined || fork === undefined) {
      this.#options.log(
        `the chain of block ${claim.number} leaves the stored chain below block ${lowest}; it is begun anew there`,
      )
      return this.#begin(claim, true)
    }
    const branch = [...below, head]
    const parent = this.#store.readHeader((oldest as LinkedHeader).header.parentHash) as Uint8Array
    this.#checkHeaders(decodeHeader(parent), branch)
    if (below.length === 0) return this.#advance(fork, branch, false)
    // A subscriber that gets more blocks at once fetches the rest itself.
    const reported = below.slice(-wholeMax)
    const bodies = await Promise.all(
      reported.map((block) => this.#links.read(block.hash, block.header.number)),
    )
    const whole = await this.#complete([...bodies, head])
    this.#advance(fork, [...below.slice(0, below.length - reported.length), ...whole], false)
  }

  /** Throws InvalidBlockError if a header does not follow from its parent; nodes that have it on their chain lied. */
  #checkHeaders(below: Header, branch: readonly LinkedHeader[]): void {
    if (this.#options.schedule.family.execution === undefined) return this.#checkOrder(below, branch)
    const { schedule, choice } = this.#options
    const isDevelopment = this.#store.readIdentity()?.development !== undefined
    let parent = below
    for (const { hash: hashBytes, header } of branch) {
      const { number, timestamp } = header
      const hasMerge = schedule.config.terminalTotalDifficulty !== undefined
      // Total difficulties are unknown; a chain never returns to proof of work.
      const isMerged = hasMerge && (schedule.isMerged(0n) || isProofOfStake(header) || isProofOfStake(parent))
      const fork = schedule.forkAt(number, timestamp, isMerged)
      try {
        checkHeader(header, parent, { schedule, fork, isMerged, isDevelopment })
      } catch (error) {
        // The rules of this fork are unknown; the hash proves that the header follows.
        if (error instanceof UnknownForkError) break
        if (!(error instanceof InvalidBlockError)) throw error
        const hash = bytesToHex(hashBytes)
        const what = `block ${number} (${hash}) is invalid: ${error.message}`
        choice.reject({ number, hash }, what)
        throw new Error(what)
      }
      parent = header
    }
  }

  /** Checks numbers and timestamps: other rules of these families are unknown. Several blocks may share a timestamp. */
  #checkOrder(below: Header, branch: readonly LinkedHeader[]): void {
    let parent = below
    for (const { hash: hashBytes, header } of branch) {
      if (header.number !== parent.number + 1 || header.timestamp < parent.timestamp) {
        const number = header.number
        const hash = bytesToHex(hashBytes)
        const what = `block ${number} (${hash}) does not follow block ${parent.number}`
        this.#options.choice.reject({ number, hash }, what)
        throw new Error(what)
      }
      parent = header
    }
  }

  /** Reads the parts of blocks; each block follows the one before. */
  async #complete(branch: readonly ProvedBlock[]): Promise<WholeBlock[]> {
    // The parent must be stored before a block is executed.
    for (const block of branch) this.#fetcher.keep(block)
    const whole: WholeBlock[] = []
    for (let start = 0; start < branch.length; start += branchBatch) {
      const batch = branch.slice(start, start + branchBatch)
      const completed = batch.map((block) => this.#reader.completed(block, block === branch.at(-1)))
      for (const block of await Promise.all(completed)) whole.push(block)
    }
    return whole
  }

  #advance(forkNumber: number, branch: readonly (LinkedHeader | WholeBlock)[], isUnlinked: boolean): void {
    // Stored before they become canonical, because subscribers are informed then.
    for (const block of branch) {
      if (!('receipts' in block)) continue
      const { hash, headerRlp: header } = block
      this.#store.putBlock({ ...block, hash, header, content: contentOf(block) })
    }
    let total = this.#totalAt(forkNumber)
    const headers = branch.map((block) => {
      const { difficulty, number } = block.header
      total = number === 0 ? difficulty : total === undefined ? undefined : total + difficulty
      return {
        number,
        hash: block.hash,
        header: block.headerRlp,
        totalDifficulty: total === undefined ? undefined : toMinimalBytes(total),
      }
    })
    const whole = new Map(branch.flatMap((block) => ('changes' in block ? [[block.hash, block]] : [])))
    this.#store.advance(forkNumber, headers, isUnlinked, {
      changesOf: ({ hash }) => whole.get(hash)?.changes,
      proved: [...whole.values()].at(-1)?.proved ?? [],
    })
    for (const { hash, header, changes } of whole.values()) {
      const { number, parentHash } = header
      if (changes !== undefined) this.#fetcher.recent.add({ number, hash, parentHash, changes })
    }
    this.#options.onHead()
  }

  #totalAt(number: number): bigint | undefined {
    const total = number < 0 ? undefined : this.#store.readCanonicalRow(number)?.totalDifficulty
    return total === undefined || total.length === 0 ? undefined : bytesToBigInt(total)
  }

  /** Links headers further down, as far as the configuration says. */
  async #walkDown(): Promise<void> {
    let batches = 0
    try {
      while (!this.#isClosed && (await this.#walkBatch())) batches++
      // A block that was not linked before may be the safe or the final one.
      if (batches > 0 && !this.#isClosed) this.#moveMarkers(await this.#askMarkers())
    } catch (error) {
      this.#complain('headers below the head', error)
      // Another head may never come.
      if (!this.#isClosed) this.#walkAgain = setTimeout(() => this.#walk(), retryMsMax)
    }
    this.#walking = undefined
  }

  #walk(): void {
    if (!this.#isClosed) this.#walking ??= this.#walkDown()
  }

  #complain(what: string, error: unknown): void {
    const text = `${what}: ${(error as Error).message}`
    if (!this.#isClosed && text !== this.#complaint) this.#options.log(text)
    this.#complaint = text
  }

  /** Returns whether there is more to do. */
  async #walkBatch(): Promise<boolean> {
    const head = this.#store.readHead()
    const from = this.#store.readLinkedFrom()
    if (head === undefined || from === undefined) return false
    const { historyBlocks, linkTo = from, onLinked } = this.#options
    let lowest = Math.max(0, head.number - historyBlocks)
    if (from <= lowest) {
      if (from === 0) addTotals(this.#store)
      onLinked()
      if (from <= linkTo) return false
      lowest = linkTo
    }
    const bottom = Math.max(lowest, from - walkBatch)
    const linked = await this.#links.down(this.#parentOf(from), from - 1, bottom)
    // The head may have moved below meanwhile.
    if (this.#store.readLinkedFrom() === from) this.#store.extendDown(linked.map(canonicalOf))
    return true
  }

  #parentOf(number: number): Hash32 {
    const row = this.#store.readCanonicalRow(number)
    if (row === undefined) throw new Error(`block ${number} is not stored`)
    return decodeHeader(row.header).parentHash
  }
}

function canonicalOf({ hash, header, headerRlp }: LinkedHeader): CanonicalHeader {
  return { number: header.number, hash, header: headerRlp, totalDifficulty: undefined }
}
