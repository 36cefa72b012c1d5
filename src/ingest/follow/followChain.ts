/**
 * Follows the chain of other nodes: fetches what they have and this store does not, and hands it to the importer. Owns
 * which block comes next, walking back to where branches part, and when to try again; the importer executes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Publisher } from '../../feed/publisher.js'
import { bytesToHex, equalBytes, type Hash32, hexToBytes, toHash32 } from '../../primitives/bytes.js'
import { type Deferred, defer } from '../../primitives/deferred.js'
import { OperatorError } from '../../primitives/faults.js'
import { setInterval } from '../../primitives/timers.js'
import { decodeAccount } from '../../state/account.js'
import type { BlockName } from '../../store/chainRows.js'
import type { ChainWriter } from '../../store/chainWriter.js'
import type { HeadClaim } from '../../upstream/headWatch.js'
import type { Upstream } from '../../upstream/upstream.js'
import { NoAnswerError, Upstreams } from '../../upstream/upstreams.js'
import { CallTaker } from '../callTaker.js'
import type { OpenPublisher } from '../feed/publishSource.js'
import { BadBlockError, ChainImporter } from '../importer.js'
import { Intake } from '../intake.js'
import { withKeysAhead } from '../keysAhead.js'
import type { FollowPlan, FollowTask, IngestMessage } from '../messages.js'
import type { BlockLink } from '../parsedBlock.js'
import { PassedOn } from '../passedOn.js'
import { publishFigures } from '../publishFigures.js'
import { closePublished, openTaskStore } from '../taskStore.js'
import { type AheadBounds, fetchAhead } from './fetchAhead.js'
import { UpstreamMarkers } from './markers.js'
import { genesisOfNode } from './nodeGenesis.js'
import { type FetchedBlock, UpstreamBlocks } from './upstreamBlocks.js'

/** How long the start waits for an upstream to say which chain it has, so that a wrong one is refused at once. */
const checkMs = 2_000
/** With more blocks to go than this, several share a transaction, and the network counts as syncing. */
const liveBlocksMax = 16
/** Blocks fetched ahead of execution: enough for 64 round trips at a time, and to keep the machine's memory free. */
const aheadBounds: AheadBounds = { blocksMax: 64, bytesMax: 32 * 1024 * 1024 }
/** Wait before a block that was announced and is not there yet, or an upstream without an answer, is asked again. */
const retryMs = 100
/**
 * How long an upstream must have a lower head, and not know ours, until it is believed that it went back: longer than
 * one of several nodes behind one address is behind the others.
 */
const backMs = 2_000
/** Time between two looks whether the upstreams' state has changed. */
const stateMs = 500

/**
 * Follows until `signal` is aborted. Gives `onReady` what takes calls, and calls `openPublisher`, once the store is
 * open. Rejects with OperatorError where an upstream is of another chain, its branch is too long, or a block is invalid.
 */
export async function followChain(
  task: FollowTask,
  report: (message: IngestMessage) => void,
  signal: AbortSignal,
  onReady: (calls: CallTaker) => void,
  openPublisher: OpenPublisher = () => undefined,
): Promise<void> {
  const notice = (text: string) => report({ type: 'said', text })
  const { store, schedule } = await openFollowedStore(task, report, signal)
  const ends: (() => unknown)[] = []
  let publisher: Publisher | undefined
  try {
    publisher = openPublisher(store)
    const { chainId, genesisHash } = store.readIdentity() ?? {}
    if (chainId === undefined || genesisHash === undefined) throw new Error('the store has no genesis')
    const { upstreams: nodes, pollMs, quorum } = task.follow
    const upstreams = new Upstreams(nodes, {
      chain: { chainId: BigInt(chainId), genesisHash },
      pollMs,
      quorum,
      log: notice,
    })
    ends.push(() => upstreams.close())
    await upstreams.check(checkMs)
    const passedOn = new PassedOn(store, upstreams, {
      schedule,
      timeoutMs: task.follow.timeoutMs,
      log: notice,
      nonceOf: async (address) => {
        const row = store.readAccount(address)
        return row === undefined ? 0n : decodeAccount(row).nonce
      },
    })
    ends.push(() => passedOn.close())
    const calls = new CallTaker(report, async (call) => {
      if (call.type === 'fetch') throw new Error('a follower holds everything and fetches nothing else')
      return passedOn.answer(call)
    })
    ends.push(() => calls.end())
    onReady(calls)
    report({ type: 'opened' })
    const importer = new ChainImporter(store, schedule)
    ends.push(publishFigures(report, { store, importer, upstreams }))
    const intake = new Intake(importer, store, 0, report, publisher)
    const tell = (message: IngestMessage) => {
      report(message)
      if (message.type === 'head') passedOn.onHead()
    }
    await new Follower(task.follow, store, intake, upstreams, tell, signal).run()
    await intake.commit()
    report({ type: 'finished', progress: intake.progress(), stopped: signal.aborted })
  } finally {
    await Promise.all(ends.reverse().map((end) => end()))
    await closePublished(store, publisher)
  }
}

/** Opens the store of a task as {@link openTaskStore} does, with the genesis of the node that is followed. */
export function openFollowedStore(
  task: FollowTask,
  report: (message: IngestMessage) => void,
  signal: AbortSignal,
): ReturnType<typeof openTaskStore> {
  const notice = (text: string) => report({ type: 'said', text })
  const [node] = task.follow.upstreams
  if (node === undefined) throw new Error('nothing to follow')
  return openTaskStore(task, report, (genesis, text, store) =>
    genesisOfNode(genesis, text, store, node, { notice, signal }),
  )
}

/** What to do after a look at the claimed head: wait for news, look again, or after a pause. */
type Next = 'idle' | 'again' | 'later'

class Follower {
  readonly #plan: FollowPlan
  readonly #store: ChainWriter
  readonly #intake: Intake
  readonly #upstreams: Upstreams
  readonly #blocks: UpstreamBlocks
  readonly #markers: UpstreamMarkers
  readonly #report: (message: IngestMessage) => void
  readonly #signal: AbortSignal
  /** Settled by whatever the loop may wait for. */
  #news: Deferred<void> = defer()
  /** The claim that led nowhere when it was looked at last, and since when. */
  #settled: { readonly hash: string; readonly since: number } | undefined
  /** Hash of the head for which the markers were asked last. */
  #markersOf = ''
  #stateTold = ''

  constructor(
    plan: FollowPlan,
    store: ChainWriter,
    intake: Intake,
    upstreams: Upstreams,
    report: (message: IngestMessage) => void,
    signal: AbortSignal,
  ) {
    this.#plan = plan
    this.#store = store
    this.#intake = intake
    this.#upstreams = upstreams
    this.#blocks = new UpstreamBlocks(upstreams, plan.timeoutMs)
    this.#markers = new UpstreamMarkers(upstreams, store, plan.timeoutMs)
    this.#report = report
    this.#signal = signal
  }

  async run(): Promise<void> {
    const unlisten = this.#upstreams.onHead(() => this.#news.resolve())
    const stop = () => {
      this.#upstreams.close()
      this.#news.resolve()
    }
    this.#signal.addEventListener('abort', stop)
    const state = setInterval(() => this.#tellState(), stateMs)
    try {
      while (!this.#signal.aborted) {
        this.#news = defer()
        if (await this.#markers.store()) this.#report({ type: 'head' })
        const { head } = this.#upstreams
        const next = head === undefined ? 'idle' : await this.#tryToReach(head.claim, head.upstream)
        this.#tellState()
        if (this.#signal.aborted) break
        if (next === 'idle') await this.#idle()
        else if (next === 'later') {
          // What was announced may be gone.
          void this.#upstreams.poll()
          await this.#pause(retryMs)
        }
      }
    } finally {
      clearInterval(state)
      unlisten()
    }
  }

  /** Waits for news, and asks for the markers that belong to a new head. */
  async #idle(): Promise<void> {
    const hash = bytesToHex(this.#store.head.hash)
    if (hash !== this.#markersOf) {
      this.#markersOf = hash
      void this.#markers.ask().then(() => this.#news.resolve())
    }
    if (this.#settled === undefined) return this.#news.promise
    await this.#pause(backMs)
  }

  async #pause(ms: number): Promise<void> {
    const timer = new AbortController()
    const pause = sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined)
    await Promise.race([pause, this.#news.promise])
    timer.abort()
  }

  async #tryToReach(claim: HeadClaim, upstream: Upstream): Promise<Next> {
    try {
      return await this.#reach(claim, upstream)
    } catch (error) {
      await this.#intake.commit()
      if (error instanceof NoAnswerError) return 'later'
      if (!(error instanceof BadBlockError)) throw error
      throw new OperatorError(`of the upstream, ${error.message}; all blocks before it are kept`)
    }
  }

  async #reach(claim: HeadClaim, upstream: Upstream): Promise<Next> {
    const { number } = this.#store.head
    const hash = toHash32(hexToBytes(claim.hash))
    if (this.#store.isCanonical(claim.number, hash)) {
      if (claim.number < number) return this.#lookBack(claim, upstream)
      this.#settled = undefined
      return 'idle'
    }
    this.#settled = undefined
    if (claim.number > number + liveBlocksMax) return this.#catchUp(claim.number, upstream)
    const next = Math.min(number + 1, claim.number)
    const block = await (next === claim.number ? this.#blocks.byHash(hash) : this.#blocks.byNumber(next))
    if (block === undefined) return 'later'
    if (!equalBytes(block.parentHash, this.#store.head.hash)) return this.#switchTo(block, upstream)
    await this.#intake.play(block.rlp)
    this.#report({ type: 'head' })
    return 'again'
  }

  /** Takes many blocks, up to number `last`, at full speed. */
  async #catchUp(last: number, upstream: Upstream): Promise<Next> {
    const first = this.#store.head.number + 1
    const fetches = function* (blocks: UpstreamBlocks) {
      for (let number = first; number <= last; number++) yield () => blocks.byNumber(number)
    }
    const ahead = withKeysAhead(fetchAhead(fetches(this.#blocks), aheadBounds), this.#store)
    for await (const { takeKeys, ...block } of ahead) {
      if (this.#signal.aborted) break
      if (!equalBytes(block.parentHash, this.#store.head.hash)) {
        await this.#intake.commit()
        return this.#switchTo(block, upstream)
      }
      if (takeKeys !== undefined) this.#intake.importer.keys.hold(await takeKeys())
      await this.#intake.import(block.rlp)
    }
    await this.#intake.commit()
    this.#report({ type: 'progress', progress: this.#intake.progress() })
    return this.#store.head.number < last ? 'later' : 'again'
  }

  /** Replaces our branch by the one that ends with `block`, of which `upstream` told, in one transaction. */
  async #switchTo(block: FetchedBlock, upstream: Upstream): Promise<Next> {
    const head = this.#store.head
    const branch: BlockLink[] = [block]
    for (;;) {
      const lowest = branch[0] as BlockLink
      // How many of our blocks it replaces at least.
      const depth = head.number - lowest.number + 1
      const isLinked = this.#store.isCanonical(lowest.number - 1, lowest.parentHash)
      if (isLinked && depth <= this.#plan.reorgDepthMax) break
      const isTooDeep = depth >= this.#plan.reorgDepthMax
      if (!isLinked && (lowest.number <= 1 || (isTooDeep && (await this.#isOfOtherChain(upstream))))) {
        upstream.accuse(`its head ${block.number} (${bytesToHex(block.hash)}) is of another chain`)
        return 'later'
      }
      if (isTooDeep) this.#refuse(lowest, block)
      const parent = await this.#blocks.linkByHash(lowest.parentHash)
      if (parent === undefined) return 'later'
      branch.unshift(parent)
    }
    const forkNumber = (branch[0] as BlockLink).number - 1
    const fetches = branch.slice(0, -1).map(
      ({ hash }) =>
        () =>
          this.#blocks.byHash(hash),
    )
    const rlps: Uint8Array[] = []
    for await (const { rlp } of fetchAhead(fetches, aheadBounds)) rlps.push(rlp)
    if (rlps.length < branch.length - 1) return 'later'
    this.#warnOfFinalized(forkNumber)
    await this.#intake.replace(forkNumber, [...rlps, block.rlp])
    this.#report({ type: 'head' })
    return 'again'
  }

  /** Whether an upstream has another genesis by now: it was asked for its own when it began to answer. */
  async #isOfOtherChain(upstream: Upstream): Promise<boolean> {
    const deadline = performance.now() + this.#plan.timeoutMs
    const genesis = await upstream
      .ask('eth_getBlockByNumber', ['0x0', false], deadline)
      .catch(() => undefined)
    const { hash } = (genesis ?? {}) as { readonly hash?: unknown }
    return typeof hash === 'string' && hash.toLowerCase() !== this.#store.readIdentity()?.genesisHash
  }

  /** The upstream's branch, from `lowest` to `block`, does not meet ours within the depth that is allowed. */
  #refuse(lowest: BlockName, block: BlockName): never {
    const head = this.#store.head
    const ours = this.#store.readCanonicalHash(lowest.number)
    const name = (number: number, hash: Hash32 | undefined) => `${number} (${hash && bytesToHex(hash)})`
    throw new OperatorError(
      `the upstream is on another branch, and the two part more than ${this.#plan.reorgDepthMax} blocks below the head (reorgDepthMax): ` +
        `ours is ${name(lowest.number, ours)} to ${name(head.number, head.hash)}, the upstream's ` +
        `${name(lowest.number, lowest.hash)} to ${name(block.number, block.hash)}; follow a node of our branch, ` +
        'allow more, or begin in an empty folder',
    )
  }

  #warnOfFinalized(forkNumber: number): void {
    const finalized = this.#store.readMarker('finalized')
    if (finalized === undefined || finalized.number <= forkNumber) return
    const text = `the upstream takes back block ${finalized.number} (${bytesToHex(finalized.hash)}), which it had said to be final`
    this.#report({ type: 'said', text })
  }

  /**
   * The upstream says that a block below our head is its head. It may be behind for a moment, or one of several nodes
   * at its address. But if it stays there and does not know our head, it went back (`evm_revert`), and so do we.
   */
  async #lookBack(claim: HeadClaim, upstream: Upstream): Promise<Next> {
    const now = performance.now()
    const since = this.#settled?.hash === claim.hash ? this.#settled.since : now
    this.#settled = { hash: claim.hash, since }
    if (now - since < backMs) return 'idle'
    this.#settled = { hash: claim.hash, since: now }
    const { hash } = this.#store.head
    const deadline = now + this.#plan.timeoutMs
    const ours = await upstream
      .ask('eth_getBlockByHash', [bytesToHex(hash), false], deadline)
      .catch(() => hash)
    if (ours !== null || this.#upstreams.head?.claim.hash !== claim.hash) return 'idle'
    const theirs = { number: claim.number, hash: toHash32(hexToBytes(claim.hash)) }
    if (this.#store.head.number - claim.number > this.#plan.reorgDepthMax) this.#refuse(theirs, theirs)
    this.#warnOfFinalized(claim.number)
    await this.#intake.replace(claim.number, [])
    this.#report({ type: 'head' })
    return 'again'
  }

  #tellState(): void {
    const nodes = this.#upstreams.states()
    const head = this.#upstreams.head?.claim.number
    const state = {
      head,
      isDown: !nodes.some(({ isAnswering, isQuarantined }) => isAnswering && !isQuarantined),
      nodes,
    }
    const told = JSON.stringify(state)
    if (told === this.#stateTold) return
    this.#stateTold = told
    this.#report({ type: 'upstream', state })
  }
}
