/**
 * How work of one kind shares a listening thread. What does not fit into a turn of the event loop waits for a later
 * one, and sockets are polled in between. Long requests, bodies that arrive, WebSocket messages, events of
 * subscriptions and subscriptions that end have an object each.
 *
 * - A turn is over after the time that its next work allows, and after `worksMax` waiting works. At least one goes on
 *   in each turn. Work that did not wait counts as well, where it calls {@link TimeSlices.begin}.
 * - Works of one lane, which is that of a key, go on in their order; lanes take turns, one work at a time. So however
 *   much one key has waiting, the first work of another comes next.
 * - Works that wait hold at most `bytesMax`. Beyond, the newest of the lane with the most is refused.
 * - A {@link Share} limits what one connection does in a turn, by number and by cost. Whatever it holds back goes on in
 *   its order, because it waits as one work.
 */

/**
 * What waits, or may. A Set of all that waits would be made anew every few works; the sets before keep works alive, with all
 * that they refer to, until the whole heap is marked: batches of 100 calls took a quarter more time.
 */
export interface Work {
  /** Set by the {@link TimeSlices} that it waits for; false at first. */
  isWaiting: boolean
}

export interface SliceOptions<W> {
  /** Goes on with a work whose turn has come; with `hasTurn` false it was refused. */
  goOn(work: W, hasTurn: boolean): void
  /** Absent: all in one lane. */
  laneOf?(work: W): string
  /** Memory that a work holds while it waits; absent: none that counts. */
  bytesOf?(work: W): number
  readonly bytesMax?: number
  /** Milliseconds of a turn after which a work goes on in a later one only; absent: time ends no turn. */
  msMaxOf?(work: W): number
  readonly worksMax?: number
  /** Called first in each turn; returns whether it needs another. */
  onTurn?(): boolean
  readonly share?: { readonly worksMax: number; readonly costMax: number }
}

/** What somebody has used of a turn. */
export class Share {
  turn = -1
  works = 0
  cost = 0
}

interface Lane<W> {
  readonly works: W[]
  bytes: number
}

export class TimeSlices<W extends Work> {
  readonly #options: SliceOptions<W>
  /** In the order in which they are served. */
  readonly #lanes = new Map<string, Lane<W>>()
  #bytes = 0
  #turn = 0
  /** When the first work of this turn began; undefined where there was none. */
  #beganMs: number | undefined
  #nextTurn: NodeJS.Immediate | undefined
  readonly #end = () => this.next()

  constructor(options: SliceOptions<W>) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  /** Has the time of this turn begin, if it has not. */
  begin(): void {
    if (this.#beganMs !== undefined) return
    this.#beganMs = performance.now()
    this.#endTurnLater()
  }

  /** Whether work has taken `msMax` milliseconds of this turn. */
  isOver(msMax: number): boolean {
    return this.#beganMs !== undefined && performance.now() - this.#beganMs >= msMax
  }

  /** Counts a work that is about to be done; false, and it is not counted, where the share of this turn is used up. */
  take(share: Share, cost: number): boolean {
    this.#endTurnLater()
    if (share.turn !== this.#turn) {
      share.turn = this.#turn
      share.works = 0
      share.cost = 0
    }
    const { worksMax, costMax } = this.#options.share as NonNullable<SliceOptions<W>['share']>
    if (share.works >= worksMax || share.cost >= costMax) return false
    share.works++
    share.cost += cost
    return true
  }

  /** Has a work go on in a later turn; one that waits already keeps its place. False where it was refused at once. */
  wait(work: W): boolean {
    if (work.isWaiting) return true
    work.isWaiting = true
    const name = this.#laneOf(work)
    let lane = this.#lanes.get(name)
    if (lane === undefined) {
      lane = { works: [], bytes: 0 }
      this.#lanes.set(name, lane)
    }
    lane.works.push(work)
    this.#count(lane, work, 1)
    this.#endTurnLater()
    const { bytesMax = Number.POSITIVE_INFINITY } = this.#options
    while (this.#bytes > bytesMax) this.#refuseNewest()
    return work.isWaiting
  }

  /** Ends the wait of a work, if it waits. */
  forget(work: W): void {
    if (!work.isWaiting) return
    const name = this.#laneOf(work)
    const lane = this.#lanes.get(name) as Lane<W>
    lane.works.splice(lane.works.indexOf(work), 1)
    if (lane.works.length === 0) this.#lanes.delete(name)
    this.#left(lane, work)
  }

  /** Ends this turn and begins the next at once, although no sockets were polled. */
  next(): void {
    const { goOn, msMaxOf, worksMax = Number.POSITIVE_INFINITY, onTurn } = this.#options
    clearImmediate(this.#nextTurn)
    this.#nextTurn = undefined
    this.#turn++
    this.#beganMs = performance.now()
    if (onTurn?.()) this.#endTurnLater()
    for (let works = 0; works < worksMax; works++) {
      const [first] = this.#lanes
      if (first === undefined) break
      const [name, lane] = first
      const work = lane.works[0] as W
      if (works > 0 && msMaxOf !== undefined && this.isOver(msMaxOf(work))) break
      lane.works.shift()
      this.#lanes.delete(name)
      if (lane.works.length > 0) this.#lanes.set(name, lane)
      this.#left(lane, work)
      goOn(work, true)
    }
    this.#beganMs = undefined
    if (!this.isEmpty) this.#endTurnLater()
  }

  /** Ends all waits. */
  close(): void {
    clearImmediate(this.#nextTurn)
    for (const { works } of this.#lanes.values()) for (const work of works) work.isWaiting = false
    this.#lanes.clear()
    this.#bytes = 0
  }

  #endTurnLater(): void {
    // `setImmediate` runs after the sockets were polled, and one set from within runs after they were polled again.
    this.#nextTurn ??= setImmediate(this.#end)
  }

  #refuseNewest(): void {
    let [heaviestName, heaviest] = [...this.#lanes][0] as [string, Lane<W>]
    for (const [name, lane] of this.#lanes) {
      if (lane.bytes > heaviest.bytes) [heaviestName, heaviest] = [name, lane]
    }
    const work = heaviest.works.pop() as W
    if (heaviest.works.length === 0) this.#lanes.delete(heaviestName)
    this.#left(heaviest, work)
    this.#options.goOn(work, false)
  }

  #left(lane: Lane<W>, work: W): void {
    work.isWaiting = false
    this.#count(lane, work, -1)
  }

  #count(lane: Lane<W>, work: W, sign: 1 | -1): void {
    const bytes = sign * (this.#options.bytesOf?.(work) ?? 0)
    lane.bytes += bytes
    this.#bytes += bytes
  }

  #laneOf(work: W): string {
    return this.#options.laneOf?.(work) ?? ''
  }
}
