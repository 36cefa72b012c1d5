/**
 * Work that waits for a turn of the event loop: a lane for each key, which take turns, each with its oldest first.
 * Owns the order and how much may wait; how long a turn is and when it comes is decided in turns.ts.
 */

export interface WaitingWork {
  readonly keyId: string
  /** Memory that waits with it. */
  readonly bytes: number
  /** The longest that a turn may be; see turns.ts. */
  readonly msMax: number
  /** To be called once: with true when its turn has come, with false when it is turned away. */
  goOn(hasTurn: boolean): void
}

interface Lane {
  readonly works: WaitingWork[]
  bytes: number
}

/** What keeps a request beside its body: 64 Ki requests without one may wait. */
const workBytes = 1_024

export class TurnQueue {
  readonly #bytesMax: number
  /** By key, in the order of their next turns. */
  readonly #lanes = new Map<string, Lane>()
  #bytes = 0

  /** `bytesMax` bounds the memory of all that waits. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  /**
   * Lets work wait. Where that is too much, the key with the most waiting loses its newest: another work, or this one.
   * Whether this one waits.
   */
  add(work: WaitingWork): boolean {
    let lane = this.#lanes.get(work.keyId)
    if (lane === undefined) {
      lane = { works: [], bytes: 0 }
      this.#lanes.set(work.keyId, lane)
    }
    lane.works.push(work)
    this.#count(lane, work, 1)
    let waits = true
    while (this.#bytes > this.#bytesMax) waits = this.#dropNewest() !== work && waits
    return waits
  }

  /** The work whose turn is next. */
  get next(): WaitingWork | undefined {
    const [lane] = this.#lanes.values()
    return lane?.works[0]
  }

  /** Takes {@link next} out; its key comes after all others from then on. */
  take(): WaitingWork | undefined {
    const [first] = this.#lanes
    if (first === undefined) return undefined
    const [keyId, lane] = first
    const work = lane.works.shift() as WaitingWork
    this.#count(lane, work, -1)
    this.#lanes.delete(keyId)
    if (lane.works.length > 0) this.#lanes.set(keyId, lane)
    return work
  }

  #dropNewest(): WaitingWork {
    let [longestKey, longest] = [...this.#lanes][0] as [string, Lane]
    for (const [keyId, lane] of this.#lanes) {
      if (lane.bytes > longest.bytes) [longestKey, longest] = [keyId, lane]
    }
    const work = longest.works.pop() as WaitingWork
    this.#count(longest, work, -1)
    if (longest.works.length === 0) this.#lanes.delete(longestKey)
    work.goOn(false)
    return work
  }

  #count(lane: Lane, { bytes }: WaitingWork, sign: 1 | -1): void {
    const change = sign * (bytes + workBytes)
    lane.bytes += change
    this.#bytes += change
  }
}
