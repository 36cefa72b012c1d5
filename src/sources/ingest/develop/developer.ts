/**
 * A running developer chain: it makes blocks at intervals and when callers ask, takes transactions, and changes the
 * state at the head. Owns when a block is made. `developerCalls.ts` has the calls of callers, and their forms.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { decodeHeader } from '../../../data/chain/header.js'
import type { NextBlock } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import type { EmptyRun } from '../../../data/store/emptyRuns.js'
import { StoreError } from '../../../data/store/lmdb/environment.js'
import { type Address, bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import { excerpt } from '../../../primitives/jsonType.js'
import { NotStoredError } from '../../../primitives/notStored.js'
import { sourceEnded } from '../thread/callAnswerer.js'
import type { DevelopPlan } from '../thread/messages.js'
import { Ticker } from '../thread/pace.js'
import { Announcements } from '../transactions/announcements.js'
import type { BlockMaker, Payment } from './blockMaker.js'
import { ChainClock, clockSeconds } from './chainClock.js'
import { integer, invalid } from './developParams.js'
import type { NewBase } from './forkedNodes.js'
import { notAFork, refusal } from './refusedActions.js'
import { type FirstState, Snapshots } from './snapshots.js'
import { type AccountByHand, buildByHand } from './stateByHand.js'
import { type DumpedRows, dumpState } from './stateDump.js'

/** Type of transactions with blobs (EIP-4844). */
const blobType = 3
/** A call for fewer blocks executes them, so that others can verify the chain. */
const runMin = 1_024
/** Most blocks of one run: hashing them takes some tenths of a second, and other calls wait for it. */
const runMax = 65_536
/** Limit of timestamps that are numbers: 48 bits. */
const timestampMax = 2 ** 48 - 1
/** Blocks of one transaction of the store: a flush takes as long as some blocks, and other calls wait for all of them. */
const minedTogether = 50
const gweiMax = 2n ** 64n - 1n
const gwei = 10n ** 9n
/** Most characters of the parameters of a change by hand that are stored and shown. */
const whatCharsMax = 120

/** Runs work again until all data that it reads is stored. */
export type Supply = <T>(work: () => T) => Promise<T>

export interface DeveloperEvents {
  /** Called after each block and revert. */
  onMade(): Promise<void>
  /** Called with the reason why no blocks are made, as a sentence; with undefined once one was made. */
  reportTrouble(trouble: string | undefined): void
  readonly first: FirstState
  /** Whether replicas get the blocks. Replicas refuse state without a block. */
  readonly isPublished: boolean
  /** Fetches missing data of a fork; absent if the store has everything. */
  readonly supply?: Supply | undefined
  /** Accounts and slots of a fork that differ from its base. */
  changed?(): DumpedRows
  /** Makes another block the base of a fork, whose accounts have their ether there. Own blocks are removed. */
  moveBase?(base: NewBase): Promise<void>
}

/** Methods reject with FaultError for a caller's fault, and with OperatorError if no blocks can be made. */
export class Developer {
  readonly store: ChainWriter
  readonly maker: BlockMaker
  readonly clock: ChainClock
  readonly snapshots: Snapshots
  readonly announcements = new Announcements()
  readonly limits: DevelopPlan['limits']
  readonly #events: DeveloperEvents
  readonly #signal: AbortSignal
  readonly #paceAtStart: number | undefined
  #blockSeconds: number | undefined
  /** Aborted when the time between blocks changes. */
  #pace = new AbortController()
  #refreshing: Promise<void> | undefined
  #previewed: string | undefined

  /** Calls that make many blocks end early once `signal` is aborted. */
  constructor(
    store: ChainWriter,
    maker: BlockMaker,
    { blockSeconds, mining, limits }: DevelopPlan,
    events: DeveloperEvents,
    signal: AbortSignal,
  ) {
    this.store = store
    this.maker = maker
    this.limits = limits
    this.clock = new ChainClock(store, () => maker.head, events.supply !== undefined)
    this.snapshots = new Snapshots(store, this.clock, maker.waiting, events.first)
    this.#paceAtStart = mining ? blockSeconds : undefined
    this.#blockSeconds = this.#paceAtStart
    this.#events = events
    this.#signal = signal
    signal.addEventListener('abort', () => void this.announcements.close())
  }

  /** Whether the chain is a fork of another one, whose nodes provide missing data. */
  get isFork(): boolean {
    return this.#events.supply !== undefined
  }

  /** Time between two blocks; 0 means a block for each transaction. If undefined, only requested blocks are made. */
  get blockSeconds(): number | undefined {
    return this.#blockSeconds
  }

  setPace(blockSeconds: number | undefined): void {
    this.#blockSeconds = blockSeconds
    this.#pace.abort()
    this.#pace = new AbortController()
  }

  /** Makes blocks at the current interval, until the signal is aborted. */
  async run(): Promise<void> {
    // A restart loses the waiting transactions.
    await this.refreshPending()
    while (!this.#signal.aborted) {
      const inForce = AbortSignal.any([this.#signal, this.#pace.signal])
      const ticker = this.#blockSeconds ? new Ticker(this.#blockSeconds * 1_000, inForce) : undefined
      // The cause may be gone at the next block; `reportTrouble` reports it.
      while (await ticker?.wait()) {
        await this.make().catch(throwStoreErrors)
        await this.refreshPending()
      }
      if (!inForce.aborted) await once(inForce, 'abort')
    }
  }

  /** Makes a block now, with this timestamp or the clock's next one. */
  async make(payment?: Payment, timestamp?: number): Promise<void> {
    await this.#supplied(() => this.#makeNext(timestamp ?? this.clock.next, timestamp !== undefined, payment))
    await this.#events.onMade()
  }

  /**
   * Throws NotStoredError, and changes nothing, if the block reads missing data. The clock follows a timestamp that does
   * not come from it.
   */
  #makeNext(timestamp: number, isGiven: boolean, payment?: Payment): void {
    const isSet = isGiven || this.clock.set !== undefined
    try {
      this.maker.make(timestamp, payment)
    } catch (error) {
      if (error instanceof NotStoredError) throw error
      const isCallers = error instanceof FaultError || error instanceof StoreError
      if (!isCallers) this.#events.reportTrouble(`no blocks are made: ${(error as Error).message}`)
      throw error
    }
    if (isSet) this.clock.aheadSeconds = timestamp - clockSeconds()
    this.#events.reportTrouble(undefined)
    this.#dropNextBlock()
  }

  /** Drops the settings of the block that was made. */
  #dropNextBlock(): void {
    const { next } = this.store.readByHand() ?? {}
    if (next === undefined) return
    const { clock, coinbase, interval } = next
    const isAhead = clock !== undefined && this.clock.aheadSeconds > 0
    const rest = {
      ...(isAhead && { clock }),
      ...(coinbase !== undefined && { coinbase }),
      ...(interval !== undefined && { interval }),
    }
    const isNothing = Object.keys(rest).length === 0
    if (isNothing || Object.keys(next).length > Object.keys(rest).length)
      this.store.writeNextBlock(isNothing ? undefined : rest)
  }

  /** If each transaction gets a block, makes blocks of all that can run. */
  async makeAtOnce(): Promise<void> {
    while (this.#blockSeconds === 0 && this.maker.hasWork(this.clock.next)) await this.make()
  }

  /** Makes blocks, each `seconds` after its parent, or at the clock's times for 0. */
  async mine(blocks: number, seconds: number): Promise<void> {
    const mayRun = !this.isFork && !this.#events.isPublished && this.store.canHaveRuns
    const { executedBlocksMax } = this.limits
    if (!mayRun || blocks < runMin) integer(blocks, executedBlocksMax)
    if (Number(this.maker.head.timestamp) + blocks * Math.max(seconds, 1) > timestampMax)
      throw invalid('these blocks are too far in the future', 1)
    const timeOf = (at: number) =>
      at > 0 && seconds > 0 ? Number(this.maker.head.timestamp) + seconds : undefined
    // A fork fetches missing data before each block.
    if (this.isFork) {
      for (let made = 0; made < blocks; made++) {
        if (this.#signal.aborted) throw new FaultError(sourceEnded)
        await this.make(undefined, timeOf(made))
      }
      return
    }
    const hasRuns = mayRun && blocks >= runMin
    let executed = 0
    let isNoted = false
    for (let left = blocks; left > 0; ) {
      // The first block has the values that were set for it, and the waiting transactions.
      const isFirst = left === blocks
      if (hasRuns && !isFirst && !isNoted && this.#emptyRun(left, seconds) !== undefined) {
        this.noteByHand(`${blocks} blocks by one call, most of them without system calls`)
        isNoted = true
      }
      try {
        this.store.writeTogether(() => {
          for (let at = hasRuns && isFirst ? minedTogether - 1 : 0; at < minedTogether && left > 0; at++) {
            const run = isNoted ? this.#emptyRun(left, seconds) : undefined
            if (run === undefined) {
              if (++executed > executedBlocksMax)
                throw messageRefused(`at most ${executedBlocksMax} blocks are executed by one call`)
              const given = timeOf(blocks - left--)
              this.#makeNext(given ?? this.clock.next, given !== undefined)
            } else {
              const appended = this.#appendRun(run, seconds)
              left -= appended
              if (appended > 1) break
            }
          }
        })
      } finally {
        await this.#events.onMade()
      }
      // Lets a stop message arrive.
      await setImmediate()
      if (this.#signal.aborted) throw new FaultError(sourceEnded)
    }
  }

  /** The next of `left` blocks, as many as one run can have; undefined if the next block has to be executed. */
  #emptyRun(left: number, seconds: number): EmptyRun | undefined {
    const timestamp = seconds > 0 ? Number(this.maker.head.timestamp) + seconds : this.clock.next
    if (this.maker.hasWork(timestamp)) return undefined
    const step = Math.max(seconds || (this.store.readByHand()?.next?.interval ?? 1), 1)
    return this.maker.emptyRun(timestamp, step, Math.min(left, runMax))
  }

  /** Returns the number of blocks. */
  #appendRun(run: EmptyRun, seconds: number): number {
    const before = this.store.head.number
    this.store.appendRun(run)
    if (seconds > 0)
      this.clock.aheadSeconds = run.timestamp + (run.last - before - 1) * run.step - clockSeconds()
    return run.last - before
  }

  async send(raw: Uint8Array): Promise<Hash32> {
    if (raw[0] === blobType) {
      // A malformed transaction is refused first, with its own message.
      this.maker.check(raw, this.clock.next)
      const { checkSidecar } = await import('./blobSidecars.js')
      checkSidecar(raw)
    }
    await this.know(() => this.maker.senderOf(raw, this.clock.next))
    const hash = this.maker.take(raw, this.clock.next)
    this.announcements.add(hash)
    await this.makeAtOnce()
    await this.refreshPending()
    return hash
  }

  /** Resolves once an account is stored. */
  async know(address: () => Address): Promise<void> {
    await this.#events.supply?.(() => this.maker.accountOf(address()))
  }

  /**
   * Resolves to the result of `work`, once all data that `work` reads is stored. `work` changes nothing before it has read
   * all of it.
   */
  #supplied<T>(work: () => T): Promise<T> | T {
    const { supply } = this.#events
    return supply === undefined ? work() : supply(work)
  }

  /**
   * Stores the block that could be made of the waiting transactions, for reads at `pending`. Calls of one turn of the
   * event loop share its execution.
   */
  refreshPending(): Promise<void> {
    this.#refreshing ??= setImmediate().then(async () => {
      this.#refreshing = undefined
      if (this.#signal.aborted || this.#previewed === this.#previewKey) return
      const next = this.maker.waiting.isEmpty
        ? undefined
        : await this.#supplied(() => this.maker.preview(this.clock.next))
      if (next !== undefined || this.store.readPending() !== undefined) {
        this.store.writePending(next)
        await this.#events.onMade()
      }
      this.#previewed = this.#previewKey
    })
    return this.#refreshing
  }

  /** Changes with everything that the block of {@link refreshPending} depends on, besides the time. */
  get #previewKey(): string {
    const { revision = 0 } = this.store.readByHand() ?? {}
    return `${bytesToHex(this.store.head.hash)} ${revision} ${this.maker.waiting.version}`
  }

  /** Sets values of the next block; callers see them in the pending block at once. */
  async setNextBlock(more: NextBlock): Promise<void> {
    this.store.writeNextBlock({ ...this.store.readByHand()?.next, ...more })
    await this.#events.onMade()
  }

  /** Removes the set interval between timestamps; false if there is none. */
  async removeInterval(): Promise<boolean> {
    const { interval, ...rest } = this.store.readByHand()?.next ?? {}
    if (interval === undefined) return false
    this.store.writeNextBlock(rest)
    await this.#events.onMade()
    return true
  }

  async moveClock(aheadSeconds: number): Promise<void> {
    this.clock.aheadSeconds = aheadSeconds
    await this.setNextBlock({ clock: clockSeconds() + aheadSeconds })
  }

  /** Changes accounts at the head, without a block; the state root of the next block has them. `which` is for operators. */
  async changeAccounts(method: string, which: string, wanted: readonly AccountByHand[]): Promise<void> {
    this.requireUnpublished(method)
    const build = () => this.maker.onState((state) => buildByHand(state, wanted))
    const { code, nodes, ...change } = await this.#supplied(build)
    this.store.changeByHand({ ...change, what: `${method} ${which}` }, code, nodes)
    await this.#events.onMade()
    await this.makeAtOnce()
  }

  /** Notes that the next block will differ from the block that other clients compute. */
  noteByHand(what: string): void {
    this.requireUnpublished(what)
    const { stateRoot } = this.maker.headState
    this.store.changeByHand({
      what: excerpt(what, whatCharsMax),
      stateRoot,
      accounts: [],
      slots: [],
      trie: [],
    })
  }

  requireUnpublished(method: string): void {
    if (!this.#events.isPublished) return
    throw refusal(excerpt(method, whatCharsMax), [
      'replicas would refuse a chain that was changed by hand',
      'write it into "alloc" of the genesis',
    ])
  }

  /**
   * Raises a balance by a withdrawal in a block of its own. Any node can check that, unlike a direct change of the
   * state.
   */
  async addBalance(address: Address, wei: bigint): Promise<void> {
    const amount = (wei + gwei - 1n) / gwei
    if (amount > gweiMax) throw messageRefused(`a balance can be raised by at most ${gweiMax} gwei at once`)
    if (amount > 0n) await this.make({ address, gwei: amount })
  }

  /** Goes back to a snapshot, and removes it; false if no snapshot has this id. */
  async revert(id: number): Promise<boolean> {
    const isKnown = this.snapshots.revert(id)
    if (isKnown) await this.#events.onMade()
    return isKnown
  }

  /** Removes the last blocks. */
  async rollback(blocks: number): Promise<void> {
    this.snapshots.goBack(this.snapshots.below(blocks))
    await this.#events.onMade()
  }

  /** The state in the form of {@link dumpState}; for a fork, only what was changed since its base. */
  async dump(): Promise<string> {
    const { changed } = this.#events
    return this.#supplied(() => dumpState(this.store, changed?.()))
  }

  /** Makes another block the base of a fork; see {@link reset}. Rejects with FaultError on a chain that is no fork. */
  async resetTo(base: NewBase, method: string): Promise<void> {
    const { moveBase } = this.#events
    if (moveBase === undefined) throw refusal(`${method} with "forking"`, notAFork)
    await moveBase(base)
    await this.reset()
  }

  /** Removes all blocks that this chain made; settings are those of the start. */
  async reset(): Promise<void> {
    const { first } = this.snapshots
    const hash = this.store.readCanonicalHash(first.number) as Hash32
    const { timestamp } = decodeHeader(this.store.readHeader(hash) as Uint8Array)
    this.snapshots.goBack({ ...first, aheadSeconds: this.clock.aheadFrom(Number(timestamp)) })
    this.store.writeNextBlock(undefined)
    this.snapshots.clear()
    this.setPace(this.#paceAtStart)
    await this.#events.onMade()
  }

  /**
   * Replaces the last blocks by as many others. These have only the transactions that are placed in them; those of the
   * old blocks wait again, as on a node that follows a reorganisation.
   */
  async reorganise(blocks: number, placed: ReadonlyMap<number, readonly Uint8Array[]>): Promise<void> {
    const below = this.snapshots.below(blocks)
    for (const at of placed.keys())
      if (at >= blocks) throw invalid(`block ${at} is none of ${blocks} new blocks`, 1)
    const old = this.maker.sentAfter(below.number)
    this.snapshots.goBack(below)
    await this.#events.onMade()
    for (let at = 0; at < blocks; at++) {
      for (const raw of placed.get(at) ?? []) this.maker.take(raw, this.clock.next)
      // Makes the hash of the new block differ from the old one, even if all else is equal.
      await this.setNextBlock({ prevRandao: bytesToHex(randomBytes(32)) })
      await this.make()
    }
    for (const raw of old) this.maker.takeAgain(raw, this.clock.next)
    await this.makeAtOnce()
  }
}

function throwStoreErrors(error: unknown): void {
  if (error instanceof StoreError) throw error
}
