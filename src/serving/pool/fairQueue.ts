import { type Linked, LinkedList } from '../../primitives/linkedList.js'
import { type ClassShare, type ClassState, type Key, type Lane, sizeOf } from './lanes.js'

interface FairQueueLimits {
  /** Bytes that may wait, all classes together. */
  readonly waitingBytesMax: number
  /** Long items that may run at the same time, all classes together; of one key half as many, rounded up. */
  readonly longPermits: number
}

/** An item of the queue. Only the queue writes `isLong` and `outSinceMs`. */
export interface Queued {
  readonly class: string
  /** Id of its API key. */
  readonly keyId: string
  /** Share of the time that its key has, relative to other keys; that of its newest item counts. 1 where absent. */
  readonly weight?: number
  readonly bytes: number
  /** False at first; see {@link FairQueue.tryMakeLong} and {@link FairQueue.putBack}. */
  isLong: boolean
  /** When it began to run; 0 at first. */
  outSinceMs: number
}

/**
 * Time in which used time loses half its weight. Long enough that a key which repeats calls of five seconds stays
 * behind keys with calls of milliseconds; short enough that after a minute the five seconds count as less than 0.1.
 */
const halfLifeMs = 10_000

/** Least time that an item counts as, so that keys with items too short to measure also alternate. */
const usedMsMin = 0.01

/**
 * Weighted time below which an idle key is forgotten. One thread adds up to at most 14,400 ms of weighted time (a
 * half-life divided by ln 2), so at most that many keys per thread are remembered.
 */
const forgottenMs = 1

/**
 * A bounded queue that shares threads by time: the next item is from the key whose items have recently used the least
 * time for its weight, running ones included; within the key from the class with the least time; and of these the
 * oldest. So however many items of one key wait, another key's first item comes next, and a key whose items take
 * seconds comes after keys whose items take milliseconds.
 *
 * Recently used time is a sum that halves every {@link halfLifeMs}. So keys cannot save up time by being idle, old
 * use is forgotten, and waiting keys move forward while others are served.
 *
 * If too much waits, the newest item of the key with the most is dropped, so no key can fill a class.
 */
export class FairQueue<T extends Queued & Linked<T>> {
  readonly #classes: ReadonlyMap<string, ClassState>
  readonly #limits: FairQueueLimits
  readonly #clockMs: () => number
  readonly #keys = new Map<string, Key<T>>()
  readonly #waitingKeys = new Set<Key<T>>()
  #waiting = 0
  #waitingBytes = 0
  #longOut = 0
  #epochMs: number

  /** `clockMs` never goes back. */
  constructor(
    shares: ReadonlyMap<string, ClassShare>,
    limits: FairQueueLimits,
    clockMs = () => performance.now(),
  ) {
    this.#classes = new Map([...shares].map(([name, share]) => [name, { ...share, waiting: 0, out: 0 }]))
    this.#limits = limits
    this.#clockMs = clockMs
    this.#epochMs = clockMs()
  }

  waiting(name?: string): number {
    return name === undefined ? this.#waiting : this.#class(name).waiting
  }

  get keys(): number {
    return this.#keys.size
  }

  /** Whether an item would be dropped at once: the class is full, and no other key has more in it. */
  isFullFor(name: string, keyId: string): boolean {
    const state = this.#class(name)
    if (state.waiting < state.waitingMax) return false
    const own = this.#keys.get(keyId)?.lanes.find((lane) => lane.class === state)
    const size = own === undefined ? 0 : sizeOf(own)
    for (const { lanes } of this.#waitingKeys) {
      for (const lane of lanes) if (lane.class === state && sizeOf(lane) > size + 1) return false
    }
    return true
  }

  /** Returns the items dropped for lack of room: the newest of the key with the most, which may be the item itself. */
  add(item: T): readonly T[] {
    const lane = this.#laneOf(item)
    const { key } = lane
    key.weight = item.weight ?? 1
    if (item.isLong) lane.waitingLong.add(item)
    else lane.waiting.add(item)
    lane.class.waiting++
    key.waiting++
    key.waitingBytes += item.bytes
    this.#waiting++
    this.#waitingBytes += item.bytes
    this.#waitingKeys.add(key)
    const dropped: T[] = []
    if (lane.class.waiting > lane.class.waitingMax) dropped.push(this.#dropNewest(this.#longestLane(lane)))
    while (this.#waitingBytes > this.#limits.waitingBytesMax) {
      dropped.push(this.#dropNewest(this.#heaviestLane(lane)))
    }
    return dropped
  }

  /** Removes a waiting item; false where it does not wait. */
  remove(item: T): boolean {
    const lane = this.#findLane(item)
    if (lane === undefined || !(lane.waiting.remove(item) || lane.waitingLong.remove(item))) return false
    this.#uncount(lane, item)
    this.#forget(lane.key, this.#nowMs())
    return true
  }

  /** Takes the next item, which runs then with a permit of its class; undefined where none may run. */
  take(): T | undefined {
    if (this.#waiting === 0) return undefined
    const nowMs = this.#nowMs()
    const lane = this.#nextLane(nowMs, (each) => this.#hasRoom(each.class) && this.#hasNext(each))
    if (lane === undefined) return undefined
    lane.class.out++
    const isLong = lane.waitingLong.size > 0 && this.#mayBeLong(lane.key)
    if (isLong) this.#countLong(lane.key, 1)
    return this.#takeOut(lane, (isLong ? lane.waitingLong : lane.waiting).first as T, nowMs)
  }

  /** Takes the next item that is not long to run under the permit of a running one; undefined where none fits. */
  takeBeside(name: string, fits: (item: T) => boolean): T | undefined {
    const state = this.#class(name)
    if (state.waiting === 0) return undefined
    const nowMs = this.#nowMs()
    const lane = this.#nextLane(nowMs, (each) => each.class === state && each.waiting.size > 0)
    const item = lane?.waiting.first
    return item !== undefined && fits(item) ? this.#takeOut(lane as Lane<T>, item, nowMs) : undefined
  }

  /** Records that an item has finished after `ranMs` on its thread. */
  giveBack(item: T, ranMs: number): void {
    const nowMs = this.#nowMs()
    const lane = this.#laneOf(item)
    const { key } = lane
    key.out--
    lane.out--
    lane.outSinceMs -= item.outSinceMs
    // Clears rounding errors, which would count as used time.
    if (lane.out === 0) lane.outSinceMs = 0
    lane.usedMs += Math.max(ranMs - usedMsMin, 0) * this.#scale(nowMs)
    if (item.isLong) this.#countLong(key, -1)
    this.#forget(key, nowMs)
  }

  /** Returns the permit that {@link take} took. */
  release(name: string): void {
    this.#class(name).out--
  }

  /** As {@link giveBack}, for an item that waits again, as a long one if `isLong`. Returns what {@link add} returns. */
  putBack(item: T, ranMs: number, isLong: boolean): readonly T[] {
    this.giveBack(item, ranMs)
    item.isLong ||= isLong
    return this.add(item)
  }

  /** Makes a running item long, if the limits allow it. */
  tryMakeLong(item: T): boolean {
    const { key } = this.#laneOf(item)
    if (!this.#mayBeLong(key)) return false
    item.isLong = true
    this.#countLong(key, 1)
    return true
  }

  /**
   * Whether a running item should give its place to a waiting one: the other key, or for the same key the other
   * class, has used less than half its time. With a smaller difference two equal keys would keep interrupting each
   * other. A long item gives its place only to a long item.
   */
  isOutranked(item: T): boolean {
    const nowMs = this.#nowMs()
    const own = this.#laneOf(item)
    const lane = this.#nextLane(nowMs, (each) => {
      if (each.class !== own.class && !this.#hasRoom(each.class)) return false
      if (!item.isLong) return each.waiting.size > 0
      return each.waitingLong.size > 0 && (each.key === own.key || each.key.longOut < this.#longOfKeyMax)
    })
    if (lane === undefined || lane === own) return false
    if (lane.key === own.key) return this.#laneUse(lane, nowMs) < this.#laneUse(own, nowMs) / 2
    return this.#use(lane.key, nowMs) / lane.key.weight < this.#use(own.key, nowMs) / own.key.weight / 2
  }

  clear(): T[] {
    const lanes = [...this.#waitingKeys].flatMap((key) => key.lanes)
    const items = lanes.flatMap(({ waiting, waitingLong }) => [...waitingLong, ...waiting])
    for (const item of items) this.remove(item)
    return items
  }

  #takeOut(lane: Lane<T>, item: T, nowMs: number): T {
    item.list?.remove(item)
    this.#uncount(lane, item)
    item.outSinceMs = nowMs
    lane.key.out++
    lane.out++
    lane.outSinceMs += nowMs
    lane.usedMs += usedMsMin * this.#scale(nowMs)
    return item
  }

  #uncount({ class: state, key }: Lane<T>, { bytes }: T): void {
    state.waiting--
    key.waiting--
    key.waitingBytes -= bytes
    this.#waiting--
    this.#waitingBytes -= bytes
    if (key.waiting === 0) this.#waitingKeys.delete(key)
  }

  /** Of the `ready` lanes: the one with the least time of the key with the least time. */
  #nextLane(nowMs: number, ready: (lane: Lane<T>) => boolean): Lane<T> | undefined {
    let next: Lane<T> | undefined
    let leastOfKeys = Number.POSITIVE_INFINITY
    for (const key of this.#waitingKeys) {
      let use = 0
      let best: Lane<T> | undefined
      let least = Number.POSITIVE_INFINITY
      for (const lane of key.lanes) {
        const laneUse = this.#laneUse(lane, nowMs)
        use += laneUse
        if (laneUse >= least || !ready(lane)) continue
        best = lane
        least = laneUse
      }
      if (best === undefined || use / key.weight >= leastOfKeys) continue
      next = best
      leastOfKeys = use / key.weight
    }
    return next
  }

  #use(key: Key<T>, nowMs: number): number {
    return key.lanes.reduce((sum, lane) => sum + this.#laneUse(lane, nowMs), 0)
  }

  #laneUse({ usedMs, out, outSinceMs }: Lane<T>, nowMs: number): number {
    return out === 0 ? usedMs : usedMs + (out * nowMs - outSinceMs) * this.#scale(nowMs)
  }

  /** Weight of a millisecond at a time, relative to the epoch: it doubles every half-life. */
  #scale(nowMs: number): number {
    return 2 ** ((nowMs - this.#epochMs) / halfLifeMs)
  }

  /** The time. Begins a new epoch every half-life, to keep numbers small and to forget idle keys. */
  #nowMs(): number {
    const nowMs = this.#clockMs()
    if (nowMs - this.#epochMs < halfLifeMs) return nowMs
    const decay = 1 / this.#scale(nowMs)
    this.#epochMs = nowMs
    for (const key of this.#keys.values()) {
      for (const lane of key.lanes) lane.usedMs *= decay
      this.#forget(key, nowMs)
    }
    return nowMs
  }

  #forget(key: Key<T>, nowMs: number): void {
    if (key.waiting > 0 || key.out > 0) return
    if (this.#use(key, nowMs) < forgottenMs * this.#scale(nowMs)) this.#keys.delete(key.id)
  }

  #hasRoom({ out, permits }: ClassState): boolean {
    return out < permits
  }

  #hasNext({ waiting, waitingLong, key }: Lane<T>): boolean {
    return waiting.size > 0 || (waitingLong.size > 0 && this.#mayBeLong(key))
  }

  #mayBeLong({ longOut }: Key<T>): boolean {
    return this.#longOut < this.#limits.longPermits && longOut < this.#longOfKeyMax
  }

  get #longOfKeyMax(): number {
    return Math.ceil(this.#limits.longPermits / 2)
  }

  #countLong(key: Key<T>, by: number): void {
    this.#longOut += by
    key.longOut += by
  }

  /** The lane with most items in the class of `newest`; `newest` where no other has more. */
  #longestLane(newest: Lane<T>): Lane<T> {
    let longest = newest
    for (const { lanes } of this.#waitingKeys) {
      for (const lane of lanes)
        if (lane.class === newest.class && sizeOf(lane) > sizeOf(longest)) longest = lane
    }
    return longest
  }

  /** The longest lane of the key with most bytes; `newest` where no other key has more. */
  #heaviestLane(newest: Lane<T>): Lane<T> {
    let heaviest = newest.key
    for (const key of this.#waitingKeys) if (key.waitingBytes > heaviest.waitingBytes) heaviest = key
    if (heaviest === newest.key && sizeOf(newest) > 0) return newest
    return heaviest.lanes.reduce((longest, lane) => (sizeOf(lane) > sizeOf(longest) ? lane : longest))
  }

  #dropNewest({ waiting, waitingLong }: Lane<T>): T {
    const newest = (waiting.size > 0 ? waiting : waitingLong).last as T
    this.remove(newest)
    return newest
  }

  #laneOf(item: T): Lane<T> {
    const found = this.#findLane(item)
    if (found !== undefined) return found
    const { keyId: id } = item
    let key = this.#keys.get(id)
    if (key === undefined) {
      key = { id, weight: item.weight ?? 1, lanes: [], waiting: 0, waitingBytes: 0, out: 0, longOut: 0 }
      this.#keys.set(id, key)
    }
    const lane: Lane<T> = {
      class: this.#class(item.class),
      key,
      waiting: new LinkedList(),
      waitingLong: new LinkedList(),
      usedMs: 0,
      out: 0,
      outSinceMs: 0,
    }
    key.lanes.push(lane)
    return lane
  }

  #findLane(item: T): Lane<T> | undefined {
    const state = this.#class(item.class)
    return this.#keys.get(item.keyId)?.lanes.find((lane) => lane.class === state)
  }

  #class(name: string): ClassState {
    const state = this.#classes.get(name)
    if (state === undefined) throw new RangeError(`there is no class ${name}`)
    return state
  }
}
