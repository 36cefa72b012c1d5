/**
 * Follows the chain of other nodes: fetches the blocks that this store lacks, and passes them to the importer, which
 * executes them. Owns which block comes next, the search for the common ancestor of branches, accusations of nodes, and
 * when to retry.
 */

import { UnknownForkError } from '../../../data/chain/header.js'
import { type BlockName, firstNumberOf } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { bytesToHex, equalBytes, type Hash32, hexToBytes, toHash32 } from '../../../primitives/bytes.js'
import { type Deferred, defer, waitFor } from '../../../primitives/deferred.js'
import { setInterval } from '../../../primitives/timers.js'
import type { HeadClaim } from '../../upstream/headWatch.js'
import type { Upstream } from '../../upstream/upstream.js'
import { NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import type { SignedHead } from '../beacon/signedHead.js'
import type { Block, BlockLink } from '../blocks/block.js'
import { BadBlockError } from '../blocks/importer.js'
import type { ImportSession } from '../blocks/importSession.js'
import { withKeysAhead } from '../blocks/keysAhead.js'
import { askMarkers, newMarkers, type ReportedMarkers, writeMarkers } from '../blocks/markers.js'
import { fetchAhead } from '../nodes/fetchAhead.js'
import { SignedLinks } from '../nodes/signedLinks.js'
import type { FetchedBlock, UpstreamBlocks } from '../nodes/upstreamBlocks.js'
import type { FollowPlan, IngestMessage } from '../thread/messages.js'
import { upstreamReporter } from '../thread/reportUpstreams.js'
import { NodeSetbacks } from './nodeSetbacks.js'

/** With more blocks to go than this, several share a transaction, and the network counts as syncing. */
const liveBlocksMax = 16
/** Blocks fetched by number until their hashes are compared with those of the nodes: a second of work or more. */
const windowBlocks = 1_024
/** Wait before the next request for an announced block that is missing, or to an upstream that does not answer. */
const retryMs = 100
/** Longest time between two checks whether a node that is behind still denies our head. */
const denialLookMs = 1_000
/** Time between two checks whether the upstreams' state has changed. */
const stateMs = 500

/**
 * Next step after a check of the claimed head: wait for news, check again at once, or after a pause. `held`: the node
 * is paused for longer.
 */
type Next = 'idle' | 'again' | 'later' | 'paused'

/** The claimed chain cannot be followed, but this does not prove that its node lies. */
class NotFollowedError extends Error {}

/** Throws for a block of an unknown fork, which cannot be executed; its node does not lie. */
function requireKnown({ unknownFork }: BlockLink): void {
  if (unknownFork !== undefined) throw new NotFollowedError(unknownFork)
}

/** The content of a block of a known fork. */
function contentOf(fetched: FetchedBlock): Block {
  requireKnown(fetched)
  return fetched.block as Block
}

interface FollowerParts {
  readonly store: ChainWriter
  readonly session: ImportSession
  readonly upstreams: Upstreams
  readonly blocks: UpstreamBlocks
  /** Present if the head is a signed one. */
  readonly signed: SignedHead | undefined
  readonly report: (message: IngestMessage) => void
}

export class Follower {
  readonly #plan: FollowPlan
  readonly #store: ChainWriter
  readonly #session: ImportSession
  readonly #upstreams: Upstreams
  readonly #blocks: UpstreamBlocks
  /** Present if the head is a signed one. */
  readonly #links: SignedLinks | undefined
  readonly #signed: SignedHead | undefined
  readonly #setbacks: NodeSetbacks
  readonly #report: (message: IngestMessage) => void
  readonly #signal: AbortSignal
  /** Number of the block at which the store begins. */
  readonly #first: number
  /** Settled by every event that the loop waits for. */
  #news: Deferred<void> = defer()
  /** The node that had our head and denies it, and the time since when. */
  #denial: { readonly hash: string; readonly upstream: Upstream; readonly since: number } | undefined
  /** Whether the claimed head is below the stored one, so its node must be asked again for the stored one. */
  #isBehind = false
  /** Whether the claimed head was not imported yet since the start, or since it was far away. */
  #isLate = true
  /** The head and the signed finalized block of the last request for markers. */
  #markersOf = ''
  /** Markers that upstreams reported and that are not stored yet. */
  #reported: ReportedMarkers = []
  readonly #reportUpstreams: (trouble: string | undefined) => void

  constructor(plan: FollowPlan, parts: FollowerParts, signal: AbortSignal) {
    const { store, session, upstreams, blocks, signed, report } = parts
    this.#plan = plan
    this.#store = store
    const identity = store.readIdentity()
    this.#first = identity === undefined ? 0 : firstNumberOf(identity)
    this.#session = session
    this.#upstreams = upstreams
    this.#blocks = blocks
    this.#links = signed && new SignedLinks(blocks)
    this.#setbacks = new NodeSetbacks(upstreams, report)
    this.#reportUpstreams = upstreamReporter(report, upstreams, signed)
    this.#signed = signed
    this.#report = report
    this.#signal = signal
  }

  /** Runs until the signal is aborted. Rejects only for errors of the store and bugs. */
  async run(): Promise<void> {
    const unlisten = this.#upstreams.onHead(() => this.#news.resolve())
    const stop = () => {
      this.#upstreams.close()
      this.#news.resolve()
    }
    this.#signal.addEventListener('abort', stop)
    const state = setInterval(() => this.#reportState(), stateMs)
    try {
      while (!this.#signal.aborted) {
        this.#news = defer()
        if (await this.#storeMarkers()) this.#reportHead()
        const { head } = this.#upstreams
        const next = head === undefined ? 'idle' : await this.#tryImport(head.claim, head.upstream)
        this.#reportState()
        if (this.#signal.aborted) break
        if (next === 'idle') await this.#idle()
        else if (next === 'paused') await waitFor(this.#news.promise, stateMs)
        else if (next === 'later') {
          // The announced block may no longer exist.
          void this.#upstreams.poll()
          await waitFor(this.#news.promise, retryMs)
        }
      }
    } finally {
      clearInterval(state)
      unlisten()
    }
  }

  /** Waits for news, and requests the markers that belong to a new head. */
  async #idle(): Promise<void> {
    const of = `${bytesToHex(this.#store.head.hash)} ${this.#signed?.finalized?.number}`
    if (of !== this.#markersOf) {
      this.#markersOf = of
      void askMarkers(this.#blocks.proving, this.#signed).then((reported) => {
        this.#reported = reported
        this.#news.resolve()
      })
    }
    if (!this.#isBehind) return this.#news.promise
    await waitFor(this.#news.promise, Math.min(this.#plan.revertAfterMs, denialLookMs))
  }

  /** Resolves to whether the safe or the finalized block changed. */
  async #storeMarkers(): Promise<boolean> {
    const markers = newMarkers(this.#store, this.#signed, this.#reported)
    this.#reported = []
    if (markers === undefined) return false
    this.#store.beginBatch()
    writeMarkers(this.#store, markers)
    await this.#store.commitBatch()
    return markers.moved.length > 0
  }

  async #tryImport(claim: HeadClaim, upstream: Upstream): Promise<Next> {
    if (this.#setbacks.isPaused(upstream)) return 'paused'
    try {
      const next = await this.#importClaimed(claim, upstream)
      if (next !== 'later') this.#setbacks.overcome(upstream, claim.number, next === 'again')
      return next
    } catch (error) {
      await this.#session.commit()
      if (error instanceof NoAnswerError) return 'later'
      if (error instanceof NotFollowedError || error instanceof UnknownForkError) {
        this.#setbacks.pauseNode(upstream, claim.number, error.message)
      } else if (error instanceof BadBlockError) {
        this.#setbacks.noteInvalid(error)
        // A node that sent it by number alone is accused; the chain of the other nodes may be right.
        if (upstream.policy.isQuarantined || this.#upstreams.answering.length === 0) {
          this.#setbacks.pauseNode(
            upstream,
            claim.number,
            `${error.message}; all blocks before it are served`,
          )
        }
      } else throw error
      return 'later'
    }
  }

  async #importClaimed(claim: HeadClaim, upstream: Upstream): Promise<Next> {
    const { number } = this.#store.head
    const hash = toHash32(hexToBytes(claim.hash))
    this.#isBehind = false
    if (this.#store.isCanonical(claim.number, hash)) {
      if (this.#isLate) this.#noteImported()
      if (claim.number < number) return this.#lookBack(claim, upstream)
      return 'idle'
    }
    if (claim.number > number + liveBlocksMax) return this.#catchUp(claim, upstream)
    const block = await this.#blocks.byHash(hash, upstream)
    if (block === undefined) return this.#missed(upstream)
    if (!this.#isAsClaimed(block, claim, upstream)) return 'later'
    if (!equalBytes(block.parentHash, this.#store.head.hash)) return this.#switchTo(block, upstream)
    const content = contentOf(block)
    await this.#holdAgainst(upstream, async () => {
      this.#setbacks.refuseInvalid(block)
      await this.#session.play(content)
    })
    this.#noteImported()
    return 'again'
  }

  /** The claimed head is stored. */
  #noteImported(): void {
    this.#isLate = false
    this.#reportHead()
  }

  /** Reports a new head or marker. A source that is late is up to date only after it has imported the claimed head. */
  #reportHead(): void {
    if (!this.#isLate) this.#report({ type: 'head' })
  }

  /** No node has the claimed block: after some seconds this counts against the claiming node. */
  #missed(upstream: Upstream): Next {
    if (this.#setbacks.missed(upstream)) this.#upstreams.choice.doubt()
    return 'later'
  }

  /** A hash belongs to one number only. */
  #isAsClaimed(block: BlockLink, claim: HeadClaim, upstream: Upstream): boolean {
    if (block.number === claim.number) return true
    upstream.policy.accuse(`it says that block ${block.number} (${claim.hash}) is block ${claim.number}`)
    return false
  }

  /** Runs `work`; an invalid block in it is a lie of `upstream`. */
  async #holdAgainst(upstream: Upstream, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof BadBlockError) upstream.policy.accuse(error.message)
      throw error
    }
  }

  /**
   * Imports many blocks at full speed, up to the claimed one or a window of them. They are fetched by number from any
   * node. So the last is compared with the block of the nodes that have the claimed head.
   */
  async #catchUp(claim: HeadClaim, upstream: Upstream): Promise<Next> {
    const first = this.#store.head.number + 1
    const claimed = await this.#blocks.linkByHash(toHash32(hexToBytes(claim.hash)), upstream)
    if (claimed === undefined) return this.#missed(upstream)
    if (!this.#isAsClaimed(claimed, claim, upstream)) return 'later'
    const last = Math.min(claim.number, first - 1 + Math.min(windowBlocks, this.#plan.reorgDepthMax))
    const linked = await this.#links?.from(first, claimed)
    if (this.#links !== undefined && linked === undefined) return 'later'
    const goal =
      last === claim.number
        ? claimed.hash
        : (linked?.get(last) ?? (await this.#blocks.agreedHash(last, upstream)))
    if (goal === undefined) return 'later'
    this.#isLate = true
    const fetches = function* (blocks: UpstreamBlocks) {
      for (let number = first; number <= last; number++) {
        const hash = linked?.get(number)
        yield () => (hash === undefined ? blocks.byNumber(number) : blocks.byHash(hash))
      }
    }
    const ahead = withKeysAhead(fetchAhead(fetches(this.#blocks)), this.#store)
    for await (const block of ahead) {
      if (this.#signal.aborted) break
      if (!equalBytes(block.parentHash, this.#store.head.hash)) {
        await this.#session.commit()
        return this.#leaveOrPass(block, goal, upstream)
      }
      if (block.unknownFork !== undefined) {
        await this.#session.commit()
        return this.#stopOrPass(block, upstream)
      }
      const content = { ...contentOf(block), takeKeys: block.takeKeys }
      await this.#holdAgainst(block.upstream, () => this.#session.import(content))
    }
    await this.#session.commit()
    this.#report({ type: 'progress', progress: this.#session.progress() })
    if (this.#store.head.number < last) return 'later'
    if (!equalBytes(this.#store.head.hash, goal)) return this.#switchToHash(goal, upstream)
    if (last === claim.number) this.#noteImported()
    return 'again'
  }

  /** A block does not follow our head: either we or its sender are on another branch than the nodes. */
  async #leaveOrPass(block: FetchedBlock, goal: Hash32, upstream: Upstream): Promise<Next> {
    const { number, hash } = this.#store.head
    const theirs = await this.#blocks.agreedHash(number, upstream)
    if (theirs === undefined) return 'later'
    if (!equalBytes(theirs, hash)) return this.#switchToHash(goal, upstream)
    block.upstream.policy.failed()
    return 'later'
  }

  /** A block is of an unknown fork: either all nodes have it, or only its sender. */
  async #stopOrPass(block: FetchedBlock, upstream: Upstream): Promise<Next> {
    const theirs = await this.#blocks.agreedHash(block.number, upstream)
    if (theirs === undefined) return 'later'
    if (equalBytes(theirs, block.hash)) requireKnown(block)
    block.upstream.policy.failed()
    return 'later'
  }

  async #switchToHash(hash: Hash32, upstream: Upstream): Promise<Next> {
    const block = await this.#blocks.byHash(hash, upstream)
    return block === undefined ? 'later' : this.#switchTo(block, upstream)
  }

  /** Replaces our branch by the one that ends with `block`, which `upstream` reported, in one transaction. */
  async #switchTo(block: FetchedBlock, upstream: Upstream): Promise<Next> {
    const head = this.#store.head
    const branch: BlockLink[] = [block]
    for (;;) {
      const lowest = branch[0] as BlockLink
      await this.#holdAgainst(upstream, async () => this.#setbacks.refuseInvalid(lowest))
      // Least number of our blocks that it replaces.
      const depth = head.number - lowest.number + 1
      // Below the first block the store has only headers.
      const isLinked =
        lowest.number > this.#first && this.#store.isCanonical(lowest.number - 1, lowest.parentHash)
      if (isLinked && depth <= this.#plan.reorgDepthMax) break
      const isTooDeep = depth >= this.#plan.reorgDepthMax
      const isFirst = lowest.number <= this.#first + 1
      if (!isLinked && isFirst && this.#first > 0 && !(await this.#isOfOtherChain(upstream)))
        throw this.#tooLow(lowest, upstream)
      if (!isLinked && (isFirst || (isTooDeep && (await this.#isOfOtherChain(upstream))))) {
        upstream.policy.accuse(`its head ${block.number} (${bytesToHex(block.hash)}) is of another chain`)
        return 'later'
      }
      if (isTooDeep) throw this.#tooDeep(lowest, block, upstream)
      const parent = await this.#blocks.linkByHash(lowest.parentHash, upstream)
      if (parent === undefined) return this.#missed(upstream)
      branch.unshift(parent)
    }
    const lowest = branch[0] as BlockLink
    requireKnown(lowest)
    const known = branch.filter(({ unknownFork }) => unknownFork === undefined)
    const fetches = known.map((link) => () => {
      return link === block ? Promise.resolve(block) : this.#blocks.byHash(link.hash, upstream)
    })
    const rlps: Uint8Array[] = []
    for await (const { rlp } of fetchAhead(fetches)) rlps.push(rlp)
    if (rlps.length < known.length) return this.#missed(upstream)
    await this.#holdAgainst(upstream, () => this.#replace(lowest.number - 1, rlps))
    return 'again'
  }

  async #replace(forkNumber: number, blocks: readonly Uint8Array[]): Promise<void> {
    const finalized = this.#store.readMarker('finalized')
    await this.#session.replace(forkNumber, blocks)
    this.#reportHead()
    if (finalized === undefined || finalized.number <= forkNumber) return
    const text = `the upstream took back block ${finalized.number} (${bytesToHex(finalized.hash)}), which it had said to be final`
    this.#report({ type: 'said', text })
  }

  /** Whether an upstream has another genesis by now; it was asked for its genesis when it first answered. */
  async #isOfOtherChain(upstream: Upstream): Promise<boolean> {
    const deadline = performance.now() + this.#plan.timeoutMs
    const genesis = await upstream
      .ask('eth_getBlockByNumber', ['0x0', false], deadline)
      .catch(() => undefined)
    const { hash } = (genesis ?? {}) as { readonly hash?: unknown }
    return typeof hash === 'string' && hash.toLowerCase() !== this.#store.readIdentity()?.genesisHash
  }

  /** The branch of `upstream`, from `lowest` to `block`, does not meet the stored chain within the permitted depth. */
  #tooDeep(lowest: BlockName, block: BlockName, { name }: Upstream): NotFollowedError {
    const head = this.#store.head
    const ours = this.#store.readCanonicalHash(lowest.number)
    const text = (number: number, hash: Hash32 | undefined) => `${number} (${hash && bytesToHex(hash)})`
    return new NotFollowedError(
      `upstream ${name} is on another branch, and the two part more than ${this.#plan.reorgDepthMax} blocks below the head (reorgDepthMax): ` +
        `ours is ${text(lowest.number, ours)} to ${text(head.number, head.hash)}, the upstream's ` +
        `${text(lowest.number, lowest.hash)} to ${text(block.number, block.hash)}; follow a node of our branch, ` +
        'allow more, or begin in an empty folder',
    )
  }

  /** The branch of `upstream` does not meet ours at or above the block at which the store begins. */
  #tooLow({ number, hash }: BlockName, { name }: Upstream): NotFollowedError {
    return new NotFollowedError(
      `upstream ${name} is on another branch, which parts from ours below block ${this.#first}, at which this store begins: ` +
        `it has ${number} (${bytesToHex(hash)}); follow a node of our branch, or begin anew`,
    )
  }

  /**
   * The leading head is a block below the stored one. Its node may be behind, briefly or for long, or be one of several
   * at its address. But if it had the stored head, and denies it for a while, it was reverted (`evm_revert`), and the
   * store is unwound, too.
   */
  async #lookBack(claim: HeadClaim, upstream: Upstream): Promise<Next> {
    this.#isBehind = true
    const { number, hash } = this.#store.head
    const name = bytesToHex(hash)
    const deadline = performance.now() + this.#plan.timeoutMs
    const ours = await upstream.ask('eth_getBlockByHash', [name, false], deadline).catch(() => hash)
    if (ours !== null || !this.#setbacks.wasAt(upstream, number)) {
      this.#denial = undefined
      return 'idle'
    }
    const now = performance.now()
    const isDenied = this.#denial?.hash === name && this.#denial.upstream === upstream
    if (!isDenied) this.#denial = { hash: name, upstream, since: now }
    const isLong = isDenied && now - (this.#denial?.since ?? now) >= this.#plan.revertAfterMs
    if (!isLong || this.#upstreams.head?.claim.hash !== claim.hash) return 'idle'
    const theirs = { number: claim.number, hash: toHash32(hexToBytes(claim.hash)) }
    if (number - claim.number > this.#plan.reorgDepthMax) throw this.#tooDeep(theirs, theirs, upstream)
    if (claim.number < this.#first) throw this.#tooLow(theirs, upstream)
    await this.#replace(claim.number, [])
    return 'again'
  }

  #reportState(): void {
    this.#setbacks.noteHeads()
    this.#reportUpstreams(this.#setbacks.trouble ?? this.#signed?.trouble)
  }
}
