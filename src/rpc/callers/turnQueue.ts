/**
 * Work that waits for a turn of the event loop (turns.ts): a lane per key, oldest first, served round-robin. Owns the
 * order and how much may wait; turns.ts owns the length and the start of turns.
 */

export interface WaitingWork {
  readonly keyId: string
  /** Memory that it holds while waiting. */
  readonly bytes: number
  /** Longest turn; see turns.ts. */
  readonly msMax: number
  /** Called once: with true when its turn has come, with false when it is refused. */
  goOn(hasTurn: boolean): void
}

interface Lane {
  readonly works: WaitingWork[]
  bytes: number
}

/** Memory counted for a request besides its body: 64 Ki requests without a body may wait. */
const workBytes = 1_024

export class TurnQueue {
  readonly #bytesMax: number
  /** Key id → its lane, in the order in which they are served. */
  readonly #lanes = new Map<string, Lane>()
  #bytes = 0

  /** `bytesMax` limits the memory of all waiting work. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  /**
   * Adds work. If that is too much, the newest work of the key with the most is refused, which may be this one.
   * Returns whether this one waits.
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

  /** The work that is served next. */
  get next(): WaitingWork | undefined {
    const [lane] = this.#lanes.values()
    return lane?.works[0]
  }

  /** Removes and returns {@link next}; its key is then the last to be served. */
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
