/**
 * Shares the time of a listening thread between tasks of one kind. Tasks beyond the time of a turn of the event loop
 * wait for a later turn, and sockets are polled in between. Long requests, arriving bodies, WebSocket messages, events
 * of subscriptions and ending subscriptions have an object each.
 *
 * - A turn ends after the time that its next task permits, and after `tasksMax` waiting tasks. At least one continues
 *   in each turn. A task that did not wait counts as well, if it calls {@link TimeSlices.begin}.
 * - Kinds continue one after the other. If a turn has no time left for a kind that takes time, it continues in the next
 *   turn. So with any number of waiting kinds, each waits for little more than the time of one.
 * - Tasks of one flow, that of a key, continue in their order; flows alternate, one task at a time. So however many
 *   tasks of one key wait, the first task of another comes next.
 * - Waiting tasks take at most `bytesMax`. Beyond that, the newest task of the largest flow is refused.
 * - A {@link Share} limits one connection in a turn, by number and by cost, and all together by time. Its delayed work
 *   continues in order, because it waits as one task.
 */
import { type Linked, LinkedList } from './linkedList.js'

/** A piece of work that may wait. */
export interface Task {
  /** Set by the {@link TimeSlices} in which it waits; undefined at first, and whenever it does not wait. */
  place: Place | undefined
}

/** Position of a waiting task. */
export interface Place extends Linked<Place> {
  readonly task: Task
  readonly flow: Flow
  readonly bytes: number
}

export interface SliceOptions<W> {
  /** Continues a task on its turn; with `hasTurn` false it was refused. */
  goOn(task: W, hasTurn: boolean): void
  /** The flow of a task; if absent, all tasks are in one flow. */
  flowOf?(task: W): string
  /** Memory of a waiting task; if absent, it is not counted. */
  bytesOf?(task: W): number
  readonly bytesMax?: number
  /** Milliseconds of a turn after which a task must wait for a later one; if absent, time ends no turn. */
  msMaxOf?(task: W): number
  readonly tasksMax?: number
  /** Called first in each turn; returns whether it needs another. */
  onTurn?(): boolean
  /** Limits of one {@link Share}; `msMax`: of all together. */
  readonly share?: { readonly tasksMax: number; readonly costMax: number; readonly msMax?: number }
}

/** Use of a turn by one owner. */
export class Share {
  turn = -1
  tasks = 0
  cost = 0
}

interface Flow {
  readonly name: string
  readonly places: LinkedList<Place>
  bytes: number
}

/**
 * Milliseconds of a turn of the event loop after which further kinds that take time wait for the next one. It is short,
 * because if all kinds wait, a connection gets one answer per turn. Polling the sockets once more takes some 10 µs.
 */
const kindsMsMax = 1

/**
 * Number of turns with waiting tasks for which a thread counts as cold, and the share of its time that a turn gets then.
 * Code runs five to ten times slower until V8 has compiled it, and so does the rest of a turn. It was measured with one
 * client beside batches of 900 reads, or calls of 480 KB, over 16 connections. In the fourth second after the start,
 * the client got 1.0 to 1.8 times as many answers. In the first second it got no more (six pairs of runs, two busy
 * cores).
 */
const coldTurns = 5_000
const coldShare = 1 / 4

let turnsDone = 0

/** Share of its time that a turn gets. */
function turnShare(): number {
  return turnsDone < coldTurns ? coldShare : 1
}

/** For tests: sets the number of turns with waiting tasks that this thread has had. */
export function countTurns(turns: number): void {
  turnsDone = turns
}

interface Kind {
  readonly takesTime: boolean
  next(): void
}

/** Kinds whose next turn is due, in the order of their turns. */
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
  // `setImmediate` runs after the sockets are polled; a nested one runs after they are polled again.
  if (!isScheduled) setImmediate(goOnWithKinds)
  isScheduled = true
}

export class TimeSlices<W extends Task> {
  readonly #options: SliceOptions<W>
  /** Flows in the order in which they are served. */
  readonly #flows = new Map<string, Flow>()
  #bytes = 0
  #turn = 0
  /** Start of the first task of this turn; undefined if there was none. */
  #beganMs: number | undefined

  constructor(options: SliceOptions<W>) {
    this.#options = options
  }

  /** Whether time ends its turns; other kinds, such as bodies, do little in one. */
  get takesTime(): boolean {
    return this.#options.msMaxOf !== undefined
  }

  get isEmpty(): boolean {
    return this.#flows.size === 0
  }

  /** Starts the time of this turn, unless it has started. */
  begin(): void {
    if (this.#beganMs !== undefined) return
    this.#beganMs = performance.now()
    this.#endTurnLater()
  }

  /** Whether work has taken `msMax` milliseconds of this turn, or less if the thread is cold. */
  isOver(msMax: number): boolean {
    return this.#beganMs !== undefined && performance.now() - this.#beganMs >= msMax * turnShare()
  }

  /** Adds time that the consequences of a task will take at the end of this turn. */
  spend(ms: number): void {
    if (this.#beganMs !== undefined) this.#beganMs -= ms
  }

  /**
   * Counts a task before it is done. Returns false without counting it if the share of this turn is used up. Short work
   * (`isShort`) ignores the time.
   */
  take(share: Share, cost: number, isShort = false): boolean {
    this.#endTurnLater()
    if (share.turn !== this.#turn) {
      share.turn = this.#turn
      share.tasks = 0
      share.cost = 0
    }
    const { tasksMax, costMax, msMax } = this.#options.share as NonNullable<SliceOptions<W>['share']>
    if (share.tasks >= tasksMax || share.cost >= costMax) return false
    if (msMax !== undefined && !isShort) {
      this.begin()
      if (this.isOver(msMax)) return false
    }
    share.tasks++
    share.cost += cost
    return true
  }

  /**
   * Queues a task for a later turn; one that waits already keeps its place. Returns false if it was refused at once.
   */
  wait(task: W): boolean {
    if (task.place !== undefined) return true
    const { flowOf, bytesOf, bytesMax = Number.POSITIVE_INFINITY } = this.#options
    const name = flowOf?.(task) ?? ''
    const flow = this.#flows.get(name) ?? { name, places: new LinkedList(), bytes: 0 }
    if (flow.places.size === 0) this.#flows.set(name, flow)
    const bytes = bytesOf?.(task) ?? 0
    const place: Place = { task, flow, bytes, list: undefined, previous: undefined, next: undefined }
    task.place = place
    flow.places.add(place)
    flow.bytes += bytes
    this.#bytes += bytes
    this.#endTurnLater()
    while (this.#bytes > bytesMax) this.#refuseNewest()
    return task.place !== undefined
  }

  /** Ends the wait of a task, if it waits. */
  forget({ place }: W): void {
    if (place !== undefined) this.#leave(place)
  }

  /** Ends this turn and begins the next at once, without polling sockets. */
  next(): void {
    const { goOn, msMaxOf, tasksMax = Number.POSITIVE_INFINITY, onTurn } = this.#options
    kinds.delete(this)
    this.#turn++
    this.#beganMs = performance.now()
    if (onTurn?.()) this.#endTurnLater()
    for (let tasks = 0; tasks < tasksMax; tasks++) {
      const [flow] = this.#flows.values()
      if (flow === undefined) break
      const place = flow.places.first as Place
      const task = place.task as W
      if (tasks > 0 && msMaxOf !== undefined && this.isOver(msMaxOf(task))) break
      this.#flows.delete(flow.name)
      this.#leave(place)
      if (flow.places.size > 0) this.#flows.set(flow.name, flow)
      goOn(task, true)
    }
    this.#beganMs = undefined
    if (!this.isEmpty) this.#endTurnLater()
  }

  /** Ends all waits. */
  close(): void {
    kinds.delete(this)
    for (const { places } of this.#flows.values()) for (const { task } of places) task.place = undefined
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
    this.#options.goOn(place.task as W, false)
  }

  #leave(place: Place): void {
    const { task, flow, bytes } = place
    task.place = undefined
    flow.places.remove(place)
    flow.bytes -= bytes
    this.#bytes -= bytes
    if (flow.places.size === 0) this.#flows.delete(flow.name)
  }
}
