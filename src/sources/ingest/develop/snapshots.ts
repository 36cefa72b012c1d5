/**
 * The states of a developer chain to which callers go back: snapshots, blocks below the head, and the start. Owns the
 * removal of the blocks and changes after a state.
 */
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { messageRefused } from '../../../primitives/faults.js'
import { putNewest } from '../../../primitives/putNewest.js'
import { type ChainClock, clockSeconds } from './chainClock.js'
import type { WaitingTransactions } from './waitingTransactions.js'

/**
 * Most blocks that a revert removes, in one transaction of the store; as many as the longest reorganisation of a
 * follower.
 */
const revertedMax = 8_192
/** Most snapshots that are remembered; test suites that never revert make one per test. */
const snapshotsMax = 1_024

export interface Snapshot {
  readonly number: number
  readonly aheadSeconds: number
  /** Number of changes by hand to the state after this block. */
  readonly changes: number
}

/** The state at the start: the genesis, the last recorded block, or the base of a fork. */
export type FirstState = Pick<Snapshot, 'number' | 'changes'>

export class Snapshots {
  readonly first: FirstState
  readonly #store: ChainWriter
  readonly #clock: ChainClock
  readonly #waiting: WaitingTransactions
  readonly #byId = new Map<number, Snapshot>()
  #lastId = 0

  constructor(store: ChainWriter, clock: ChainClock, waiting: WaitingTransactions, first: FirstState) {
    this.#store = store
    this.#clock = clock
    this.#waiting = waiting
    this.first = first
  }

  /** The number of the block of each snapshot. */
  get blocks(): [id: number, number: number][] {
    return [...this.#byId].map(([id, { number }]) => [id, number])
  }

  /** Remembers the current state; returns its id. */
  take(): number {
    putNewest(this.#byId, ++this.#lastId, this.below(0), snapshotsMax)
    return this.#lastId
  }

  /** Goes back to a snapshot, and removes it with those after it; false if no snapshot has this id. */
  revert(id: number): boolean {
    const snapshot = this.#byId.get(id)
    if (snapshot === undefined) return false
    this.goBack(snapshot)
    for (const later of [...this.#byId.keys()]) if (later >= id) this.#byId.delete(later)
    return true
  }

  clear(): void {
    this.#byId.clear()
  }

  /** The state some blocks below the head. Throws FaultError MessageRefused below the first block. */
  below(blocks: number): Snapshot {
    const { number: head } = this.#store.head
    const number = head - blocks
    if (number < this.first.number) {
      const height = head - this.first.number
      throw messageRefused(`${blocks} blocks cannot be taken back: ${height} were made since the start`)
    }
    return { number, aheadSeconds: this.#clock.aheadSeconds, changes: this.#store.countByHand(number) }
  }

  /**
   * Removes the blocks and changes after a state, what callers set for the next block, and all waiting transactions.
   * Snapshots after the state are dropped.
   */
  goBack({ number, aheadSeconds, changes }: Snapshot): void {
    const blocks = this.#store.countOwnAbove(number)
    if (blocks > revertedMax)
      throw messageRefused(`this is ${blocks} blocks back; at most ${revertedMax} are taken back`)
    for (const [id, { number: at }] of this.#byId) if (at > number) this.#byId.delete(id)
    this.#store.apply(number, [])
    if (this.#store.countByHand(number) > changes) this.#store.undoByHand(changes)
    this.#waiting.clear()
    this.#clock.aheadSeconds = aheadSeconds
    const { next } = this.#store.readByHand() ?? {}
    if (next === undefined) return
    const clock = clockSeconds() + aheadSeconds
    this.#store.writeNextBlock(aheadSeconds > 0 ? { clock } : undefined)
  }
}
