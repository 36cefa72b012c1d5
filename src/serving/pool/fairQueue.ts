import { type Linked, LinkedList } from '../../primitives/linkedList.js'

export interface ClassShare {
  readonly waitingMax: number
  /** Items that may run at the same time. */
  readonly permits: number
  /** Permits of one key among them; if absent, all. */
  readonly permitsOfKey?: number
}

interface ClassState extends ClassShare {
  waiting: number
  out: number
}

/** The items of one key in one class, and the time that they have used. */
interface Subqueue<T extends Linked<T>> {
  readonly class: ClassState
  readonly key: Key<T>
  /** Items in order of arrival. */
  readonly waiting: LinkedList<T>
  readonly waitingLong: LinkedList<T>
  /** Run time of finished items, in milliseconds weighted as at the queue's epoch. */
  usedMs: number
  out: number
  /** Sum of the start times of running items. */
  outSinceMs: number
}

interface Key<T extends Linked<T>> {
  readonly id: string
  weight: number
  /** The subqueues used so far, a few at most. */
  readonly subqueues: Subqueue<T>[]
  waiting: number
  waitingBytes: number
  out: number
  longOut: number
}

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
  /** Share of the time for its key, relative to other keys; that of its newest item counts. 1 if absent. */
  readonly weight?: number
  readonly bytes: number
  /** False at first; see {@link FairQueue.tryMakeLong} and {@link FairQueue.putBack}. */
  isLong: boolean
  /** Time at which it began to run; 0 at first. */
  outSinceMs: number
}

/**
 * Time in which used time loses half its weight. Long enough that a key with repeated calls of five seconds stays
 * behind keys with calls of milliseconds. Short enough that after a minute the five seconds count as less than 0.1.
 */
const halfLifeMs = 10_000

/** Least time that an item counts as, so that keys with items too short to measure also alternate. */
const usedMsMin = 0.01

/**
 * Weighted time below which an idle key is forgotten. One thread adds up to at most 14,400 ms of weighted time (a
 * half-life divided by ln 2). So at most that many keys per thread are remembered.
 */
const forgottenMs = 1

/**
 * A bounded queue that shares threads by time. The next item is from the key that has recently used the least time for
 * its weight, running items included. Within the key it is from the class with the least time; of these it is the
 * oldest. So however many items of one key wait, another key's first item comes next. A key whose items take seconds
 * comes after keys whose items take milliseconds.
 *
 * Recently used time is a sum that halves every {@link halfLifeMs}. So keys cannot save up time by being idle, old use
 * is forgotten, and waiting keys move forward while others are served.
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
    const own = this.#keys.get(keyId)?.subqueues.find((subqueue) => subqueue.class === state)
    const size = own === undefined ? 0 : sizeOf(own)
    for (const { subqueues } of this.#waitingKeys) {
      for (const subqueue of subqueues)
        if (subqueue.class === state && sizeOf(subqueue) > size + 1) return false
    }
    return true
  }

  /** Returns the items dropped for lack of room: the newest of the key with the most, which may be the item itself. */
  add(item: T): readonly T[] {
    const subqueue = this.#subqueueOf(item)
    const { key } = subqueue
    key.weight = item.weight ?? 1
    if (item.isLong) subqueue.waitingLong.add(item)
    else subqueue.waiting.add(item)
    subqueue.class.waiting++
    key.waiting++
    key.waitingBytes += item.bytes
    this.#waiting++
    this.#waitingBytes += item.bytes
    this.#waitingKeys.add(key)
    const dropped: T[] = []
    if (subqueue.class.waiting > subqueue.class.waitingMax)
      dropped.push(this.#dropNewest(this.#longestSubqueue(subqueue)))
    while (this.#waitingBytes > this.#limits.waitingBytesMax) {
      dropped.push(this.#dropNewest(this.#heaviestSubqueue(subqueue)))
    }
    return dropped
  }

  /** Removes a waiting item; false if it does not wait. */
  remove(item: T): boolean {
    const subqueue = this.#findSubqueue(item)
    if (subqueue === undefined || !(subqueue.waiting.remove(item) || subqueue.waitingLong.remove(item)))
      return false
    this.#uncount(subqueue, item)
    this.#forget(subqueue.key, this.#nowMs())
    return true
  }

  /** Takes the next item, which then runs with a permit of its class; undefined if none may run. */
  take(): T | undefined {
    if (this.#waiting === 0) return undefined
    const nowMs = this.#nowMs()
    const subqueue = this.#nextSubqueue(nowMs, (each) => this.#hasRoom(each) && this.#hasNext(each))
    if (subqueue === undefined) return undefined
    subqueue.class.out++
    const isLong = subqueue.waitingLong.size > 0 && this.#mayBeLong(subqueue.key)
    if (isLong) this.#countLong(subqueue.key, 1)
    return this.#takeOut(subqueue, (isLong ? subqueue.waitingLong : subqueue.waiting).first as T, nowMs)
  }

  /** Takes the next item that is not long, to run under the permit of a running one; undefined if none fits. */
  takeBeside(name: string, fits: (item: T) => boolean): T | undefined {
    const state = this.#class(name)
    if (state.waiting === 0) return undefined
    const nowMs = this.#nowMs()
    const subqueue = this.#nextSubqueue(nowMs, (each) => each.class === state && each.waiting.size > 0)
    const item = subqueue?.waiting.first
    return item !== undefined && fits(item) ? this.#takeOut(subqueue as Subqueue<T>, item, nowMs) : undefined
  }

  /** Records that an item has finished after `ranMs` on its thread. */
  giveBack(item: T, ranMs: number): void {
    const nowMs = this.#nowMs()
    const subqueue = this.#subqueueOf(item)
    const { key } = subqueue
    key.out--
    subqueue.out--
    subqueue.outSinceMs -= item.outSinceMs
    // Clears rounding errors, which would count as used time.
    if (subqueue.out === 0) subqueue.outSinceMs = 0
    subqueue.usedMs += Math.max(ranMs - usedMsMin, 0) * this.#scale(nowMs)
    if (item.isLong) this.#countLong(key, -1)
    this.#forget(key, nowMs)
  }

  /** Returns the permit that {@link take} took. */
  release(name: string): void {
    this.#class(name).out--
  }

  /**
   * Like {@link giveBack}, but for an item that waits again, as a long one if `isLong`. Returns what {@link add}
   * returns.
   */
  putBack(item: T, ranMs: number, isLong: boolean): readonly T[] {
    this.giveBack(item, ranMs)
    item.isLong ||= isLong
    return this.add(item)
  }

  /** Makes a running item long, if the limits allow it. */
  tryMakeLong(item: T): boolean {
    const { key } = this.#subqueueOf(item)
    if (!this.#mayBeLong(key)) return false
    item.isLong = true
    this.#countLong(key, 1)
    return true
  }

  /**
   * Whether a running item should give its place to a waiting one. The other key must have used less than half its
   * time; for the same key, the other class. With a smaller difference two equal keys would keep interrupting each
   * other. A long item gives its place only to a long item.
   */
  isOutranked(item: T): boolean {
    const nowMs = this.#nowMs()
    const own = this.#subqueueOf(item)
    const subqueue = this.#nextSubqueue(nowMs, (each) => {
      if (each.class === own.class ? !this.#hasRoomOfKey(each) : !this.#hasRoom(each)) return false
      if (!item.isLong) return each.waiting.size > 0
      return each.waitingLong.size > 0 && (each.key === own.key || each.key.longOut < this.#longOfKeyMax)
    })
    if (subqueue === undefined || subqueue === own) return false
    if (subqueue.key === own.key)
      return this.#subqueueUse(subqueue, nowMs) < this.#subqueueUse(own, nowMs) / 2
    return (
      this.#use(subqueue.key, nowMs) / subqueue.key.weight < this.#use(own.key, nowMs) / own.key.weight / 2
    )
  }

  clear(): T[] {
    const subqueues = [...this.#waitingKeys].flatMap((key) => key.subqueues)
    const items = subqueues.flatMap(({ waiting, waitingLong }) => [...waitingLong, ...waiting])
    for (const item of items) this.remove(item)
    return items
  }

  #takeOut(subqueue: Subqueue<T>, item: T, nowMs: number): T {
    item.list?.remove(item)
    this.#uncount(subqueue, item)
    item.outSinceMs = nowMs
    subqueue.key.out++
    subqueue.out++
    subqueue.outSinceMs += nowMs
    subqueue.usedMs += usedMsMin * this.#scale(nowMs)
    return item
  }

  #uncount({ class: state, key }: Subqueue<T>, { bytes }: T): void {
    state.waiting--
    key.waiting--
    key.waitingBytes -= bytes
    this.#waiting--
    this.#waitingBytes -= bytes
    if (key.waiting === 0) this.#waitingKeys.delete(key)
  }

  /** Chooses, of the `ready` subqueues, the one with the least time of the key with the least time. */
  #nextSubqueue(nowMs: number, ready: (subqueue: Subqueue<T>) => boolean): Subqueue<T> | undefined {
    let next: Subqueue<T> | undefined
    let leastOfKeys = Number.POSITIVE_INFINITY
    for (const key of this.#waitingKeys) {
      let use = 0
      let best: Subqueue<T> | undefined
      let least = Number.POSITIVE_INFINITY
      for (const subqueue of key.subqueues) {
        const laneUse = this.#subqueueUse(subqueue, nowMs)
        use += laneUse
        if (laneUse >= least || !ready(subqueue)) continue
        best = subqueue
        least = laneUse
      }
      if (best === undefined || use / key.weight >= leastOfKeys) continue
      next = best
      leastOfKeys = use / key.weight
    }
    return next
  }

  #use(key: Key<T>, nowMs: number): number {
    return key.subqueues.reduce((sum, subqueue) => sum + this.#subqueueUse(subqueue, nowMs), 0)
  }

  #subqueueUse({ usedMs, out, outSinceMs }: Subqueue<T>, nowMs: number): number {
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
      for (const subqueue of key.subqueues) subqueue.usedMs *= decay
      this.#forget(key, nowMs)
    }
    return nowMs
  }

  #forget(key: Key<T>, nowMs: number): void {
    if (key.waiting > 0 || key.out > 0) return
    if (this.#use(key, nowMs) < forgottenMs * this.#scale(nowMs)) this.#keys.delete(key.id)
  }

  #hasRoom(subqueue: Subqueue<T>): boolean {
    const { out, permits } = subqueue.class
    return out < permits && this.#hasRoomOfKey(subqueue)
  }

  #hasRoomOfKey({ class: { permits, permitsOfKey = permits }, out }: Subqueue<T>): boolean {
    return out < permitsOfKey
  }

  #hasNext({ waiting, waitingLong, key }: Subqueue<T>): boolean {
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

  /** The subqueue with most items in the class of `newest`; `newest` if no other has more. */
  #longestSubqueue(newest: Subqueue<T>): Subqueue<T> {
    let longest = newest
    for (const { subqueues } of this.#waitingKeys) {
      for (const subqueue of subqueues)
        if (subqueue.class === newest.class && sizeOf(subqueue) > sizeOf(longest)) longest = subqueue
    }
    return longest
  }

  /** The longest subqueue of the key with most bytes; `newest` if no other key has more. */
  #heaviestSubqueue(newest: Subqueue<T>): Subqueue<T> {
    let heaviest = newest.key
    for (const key of this.#waitingKeys) if (key.waitingBytes > heaviest.waitingBytes) heaviest = key
    if (heaviest === newest.key && sizeOf(newest) > 0) return newest
    return heaviest.subqueues.reduce((longest, subqueue) =>
      sizeOf(subqueue) > sizeOf(longest) ? subqueue : longest,
    )
  }

  #dropNewest({ waiting, waitingLong }: Subqueue<T>): T {
    const newest = (waiting.size > 0 ? waiting : waitingLong).last as T
    this.remove(newest)
    return newest
  }

  #subqueueOf(item: T): Subqueue<T> {
    const found = this.#findSubqueue(item)
    if (found !== undefined) return found
    const { keyId: id } = item
    let key = this.#keys.get(id)
    if (key === undefined) {
      key = { id, weight: item.weight ?? 1, subqueues: [], waiting: 0, waitingBytes: 0, out: 0, longOut: 0 }
      this.#keys.set(id, key)
    }
    const subqueue: Subqueue<T> = {
      class: this.#class(item.class),
      key,
      waiting: new LinkedList(),
      waitingLong: new LinkedList(),
      usedMs: 0,
      out: 0,
      outSinceMs: 0,
    }
    key.subqueues.push(subqueue)
    return subqueue
  }

  #findSubqueue(item: T): Subqueue<T> | undefined {
    const state = this.#class(item.class)
    return this.#keys.get(item.keyId)?.subqueues.find((subqueue) => subqueue.class === state)
  }

  #class(name: string): ClassState {
    const state = this.#classes.get(name)
    if (state === undefined) throw new RangeError(`there is no class ${name}`)
    return state
  }
}

function sizeOf<T extends Linked<T>>({ waiting, waitingLong }: Subqueue<T>): number {
  return waiting.size + waitingLong.size
}
