/**
 * How work of one kind shares a listening thread. What does not fit into a turn of the event loop waits for a later
 * one, and sockets are polled in between. Long requests, bodies that arrive, WebSocket messages, events of
 * subscriptions and subscriptions that end have an object each.
 *
 * - A turn is over after the time that its next work allows, and after `worksMax` waiting works. At least one goes on
 *   in each turn. Work that did not wait counts as well, where it calls {@link TimeSlices.begin}.
 * - Kinds go on one after the other, and those that take time and for which a turn of the event loop has none
 *   left in the next one: however many kinds of work wait, others wait for little more than the time of one.
 * - Works of one flow, that of a key, go on in their order; flows take turns, one work at a time. So however
 *   much one key has waiting, the first work of another comes next.
 * - Works that wait hold at most `bytesMax`. Beyond, the newest of the flow with the most is refused.
 * - A {@link Share} limits what one connection does in a turn, by number and by cost, and what all do by time. Whatever
 *   it holds back goes on in its order, because it waits as one work.
 */
import { type Linked, LinkedList } from './linkedList.js'

/** What waits, or may. */
export interface Work {
  /** Set by the {@link TimeSlices} that it waits for; undefined at first, and whenever it does not wait. */
  place: Place | undefined
}

/** Where a work waits. */
export interface Place extends Linked<Place> {
  readonly work: Work
  readonly flow: Flow
  readonly bytes: number
}

export interface SliceOptions<W> {
  /** Goes on with a work whose turn has come; with `hasTurn` false it was refused. */
  goOn(work: W, hasTurn: boolean): void
  /** Absent: all in one flow. */
  flowOf?(work: W): string
  /** Memory that a work holds while it waits; absent: none that counts. */
  bytesOf?(work: W): number
  readonly bytesMax?: number
  /** Milliseconds of a turn after which a work goes on in a later one only; absent: time ends no turn. */
  msMaxOf?(work: W): number
  readonly worksMax?: number
  /** Called first in each turn; returns whether it needs another. */
  onTurn?(): boolean
  /** Of one {@link Share}; `msMax`: of all together. */
  readonly share?: { readonly worksMax: number; readonly costMax: number; readonly msMax?: number }
}

/** What somebody has used of a turn. */
export class Share {
  turn = -1
  works = 0
  cost = 0
}

interface Flow {
  readonly name: string
  readonly places: LinkedList<Place>
  bytes: number
}

/**
 * Milliseconds of a turn of the event loop after which further kinds of work that take time wait for the next one. Short,
 * since where all kinds wait a connection gets one answer a turn; to poll the sockets once more takes some 10 µs.
 */
const kindsMsMax = 1

/**
 * Turns with work that waits for which a thread counts as cold, and the part of its time that a turn has then. Its code
 * runs five to ten times as slowly until V8 has compiled it, and so does what a turn does besides. Beside batches of 900
 * reads, or calls of 480 KB, over 16 connections, a neighbour then got 1.0 to 1.8 times as many answers in the fourth second
 * after the start (six pairs of runs, two busy cores); in the first second no more.
 */
const coldTurns = 5_000
const coldShare = 1 / 4

let turnsDone = 0

/** Part of its time that a turn has. */
function turnShare(): number {
  return turnsDone < coldTurns ? coldShare : 1
}

/** For tests: how many turns with work that waits this thread has had. */
export function countTurns(turns: number): void {
  turnsDone = turns
}

interface Kind {
  readonly takesTime: boolean
  next(): void
}

/** Kinds of work whose next turn is due, in the order in which they get it. */
const kinds = new Set<Kind>()
let isScheduled = false

function goOnWithKinds(): void {
  isScheduled = false
  if (turnsDone < coldTurns) turnsDone++
  const beganMs = performance.now()
  try {
    for (const kind of [...kinds]) {
      const isLate = kind.takesTime && performance.now() - beganMs >= kindsMsMax
      if (!isLate && kinds.has(kind)) kind.next()
    }
  } finally {
    if (kinds.size > 0) goOnLater()
  }
}

function goOnLater(): void {
  // `setImmediate` runs after the sockets were polled, and one set from within runs after they were polled again.
  if (!isScheduled) setImmediate(goOnWithKinds)
  isScheduled = true
}

export class TimeSlices<W extends Work> {
  readonly #options: SliceOptions<W>
  /** In the order in which they are served. */
  readonly #flows = new Map<string, Flow>()
  #bytes = 0
  #turn = 0
  /** When the first work of this turn began; undefined where there was none. */
  #beganMs: number | undefined

  constructor(options: SliceOptions<W>) {
    this.#options = options
  }

  /** Whether time ends its turns; others, such as those of bodies, do little in one. */
  get takesTime(): boolean {
    return this.#options.msMaxOf !== undefined
  }

  get isEmpty(): boolean {
    return this.#flows.size === 0
  }

  /** Has the time of this turn begin, if it has not. */
  begin(): void {
    if (this.#beganMs !== undefined) return
    this.#beganMs = performance.now()
    this.#endTurnLater()
  }

  /** Whether work has taken `msMax` milliseconds of this turn; of a thread that is cold, less. */
  isOver(msMax: number): boolean {
    return this.#beganMs !== undefined && performance.now() - this.#beganMs >= msMax * turnShare()
  }

  /** Counts time that what follows from a work will take at the end of this turn. */
  spend(ms: number): void {
    if (this.#beganMs !== undefined) this.#beganMs -= ms
  }

  /**
   * Counts a work that is about to be done; false, and it is not counted, where the share of this turn is used up. Short
   * work, `isShort`, is done whatever the time.
   */
  take(share: Share, cost: number, isShort = false): boolean {
    this.#endTurnLater()
    if (share.turn !== this.#turn) {
      share.turn = this.#turn
      share.works = 0
      share.cost = 0
    }
    const { worksMax, costMax, msMax } = this.#options.share as NonNullable<SliceOptions<W>['share']>
    if (share.works >= worksMax || share.cost >= costMax) return false
    if (msMax !== undefined && !isShort) {
      this.begin()
      if (this.isOver(msMax)) return false
    }
    share.works++
    share.cost += cost
    return true
  }

  /** Has a work go on in a later turn; one that waits already keeps its place. False where it was refused at once. */
  wait(work: W): boolean {
    if (work.place !== undefined) return true
    const { flowOf, bytesOf, bytesMax = Number.POSITIVE_INFINITY } = this.#options
    const name = flowOf?.(work) ?? ''
    const flow = this.#flows.get(name) ?? { name, places: new LinkedList(), bytes: 0 }
    if (flow.places.size === 0) this.#flows.set(name, flow)
    const bytes = bytesOf?.(work) ?? 0
    const place: Place = { work, flow, bytes, list: undefined, previous: undefined, next: undefined }
    work.place = place
    flow.places.add(place)
    flow.bytes += bytes
    this.#bytes += bytes
    this.#endTurnLater()
    while (this.#bytes > bytesMax) this.#refuseNewest()
    return work.place !== undefined
  }

  /** Ends the wait of a work, if it waits. */
  forget({ place }: W): void {
    if (place !== undefined) this.#leave(place)
  }

  /** Ends this turn and begins the next at once, although no sockets were polled. */
  next(): void {
    const { goOn, msMaxOf, worksMax = Number.POSITIVE_INFINITY, onTurn } = this.#options
    kinds.delete(this)
    this.#turn++
    this.#beganMs = performance.now()
    if (onTurn?.()) this.#endTurnLater()
    for (let works = 0; works < worksMax; works++) {
      const [flow] = this.#flows.values()
      if (flow === undefined) break
      const place = flow.places.first as Place
      const work = place.work as W
      if (works > 0 && msMaxOf !== undefined && this.isOver(msMaxOf(work))) break
      this.#flows.delete(flow.name)
      this.#leave(place)
      if (flow.places.size > 0) this.#flows.set(flow.name, flow)
      goOn(work, true)
    }
    this.#beganMs = undefined
    if (!this.isEmpty) this.#endTurnLater()
  }

  /** Ends all waits. */
  close(): void {
    kinds.delete(this)
    for (const { places } of this.#flows.values()) for (const { work } of places) work.place = undefined
    this.#flows.clear()
    this.#bytes = 0
  }

  #endTurnLater(): void {
    kinds.add(this)
    goOnLater()
  }

  #refuseNewest(): void {
    let heaviest: Flow | undefined
    for (const flow of this.#flows.values()) if (flow.bytes > (heaviest?.bytes ?? -1)) heaviest = flow
    const place = heaviest?.places.last as Place
    this.#leave(place)
    this.#options.goOn(place.work as W, false)
  }

  #leave(place: Place): void {
    const { work, flow, bytes } = place
    work.place = undefined
    flow.places.remove(place)
    flow.bytes -= bytes
    this.#bytes -= bytes
    if (flow.places.size === 0) this.#flows.delete(flow.name)
  }
}
