/** How much of one class of work may wait and be out. */
export interface ClassShare {
  /** Items that may wait. */
  readonly waitingMax: number
  /** Items that may be out at the same time. */
  readonly permits: number
}

export interface FairQueueLimits {
  /** Bytes that may wait, over all classes. */
  readonly waitingBytesMax: number
  /** Long items that may be out at the same time, over all classes; of one key half of them, rounded up. */
  readonly longPermits: number
}

/** What waits. The queue alone writes `isLong`. */
export interface Queued<C extends string> {
  readonly class: C
  /** Whose it is. */
  readonly keyId: string
  readonly bytes: number
  /** False at first; see {@link FairQueue.tryMakeLong} and {@link FairQueue.putBack}. */
  isLong: boolean
}

interface ClassState extends ClassShare {
  waiting: number
  out: number
}

/** One key's part of one class: what waits, and the time that it had. */
interface Lane<C extends string, T> {
  readonly class: ClassState
  readonly key: Key<C, T>
  /** In order of arrival. Sets, because an item that is cancelled leaves from the middle. */
  readonly waiting: Set<T>
  readonly waitingLong: Set<T>
  /** Time that items were out which are back, in milliseconds as they counted at the queue's epoch. */
  usedMs: number
  out: number
  /** The moments since when items are out, added up. */
  outSinceMs: number
}

interface Key<C extends string, T> {
  readonly id: string
  /** A few at most; those that were asked for. */
  readonly lanes: Lane<C, T>[]
  waiting: number
  waitingBytes: number
  out: number
  longOut: number
}

/**
 * How soon use counts for half. Long enough that a key which repeats a call of five seconds stays behind all who ask
 * for milliseconds; short enough that after a minute of waiting the five seconds count for less than 0.1.
 */
const halfLifeMs = 10_000

/** What an item counts for at least, so that keys whose items take no measurable time have their turns too. */
const usedMsMin = 0.01

/**
 * Use that is forgotten with a key at rest. As one thread cannot give more than 14,400 ms that still count (a half-life
 * by ln 2), no more keys a thread than that are remembered.
 */
const forgottenMs = 1

/**
 * A bounded queue of classes of work that shares out threads by time: the next item is one of the key whose items had
 * them for the least time lately, those that are out included; of this key's classes, one of the class that had the
 * least; of these the oldest. So however much of one key waits, the first item of another comes next, and a key whose
 * items take seconds comes after those whose items take milliseconds, where turns by number would give all the same.
 *
 * "Lately" is a sum that halves every {@link halfLifeMs}. Nobody saves up time by asking for nothing, nobody pays for
 * long ago, and those who wait come nearer while others are served.
 *
 * Where too much waits, whoever has most waiting loses the newest: nobody fills a class for all.
 */
export class FairQueue<C extends string, T extends Queued<C>> {
  readonly #classes: ReadonlyMap<C, ClassState>
  readonly #limits: FairQueueLimits
  readonly #clockMs: () => number
  readonly #keys = new Map<string, Key<C, T>>()
  /** Those that have something waiting. */
  readonly #waitingKeys = new Set<Key<C, T>>()
  /** Items that are out, and since when. */
  readonly #out = new Map<T, number>()
  #waiting = 0
  #waitingBytes = 0
  #longOut = 0
  #epochMs: number

  /** `clockMs` must not go back. */
  constructor(
    shares: ReadonlyMap<C, ClassShare>,
    limits: FairQueueLimits,
    clockMs = () => performance.now(),
  ) {
    this.#classes = new Map([...shares].map(([name, share]) => [name, { ...share, waiting: 0, out: 0 }]))
    this.#limits = limits
    this.#clockMs = clockMs
    this.#epochMs = clockMs()
  }

  /** Items that wait, of one class or of all. */
  waiting(name?: C): number {
    return name === undefined ? this.#waiting : this.#class(name).waiting
  }

  /** Keys that are remembered. */
  get keys(): number {
    return this.#keys.size
  }

  /**
   * Puts an item at the end of its key's lane. Returns what finds no room any more: the newest items of whoever has
   * most waiting, which may be the item itself.
   */
  add(item: T): readonly T[] {
    const lane = this.#laneOf(item)
    const { key } = lane
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

  /** Takes an item out that waits; false where it does not. */
  remove(item: T): boolean {
    const lane = this.#findLane(item)
    if (lane === undefined || !(lane.waiting.delete(item) || lane.waitingLong.delete(item))) return false
    this.#uncount(lane, item)
    this.#forget(lane.key, this.#nowMs())
    return true
  }

  /** The next item, which is out then, with a permit of its class; undefined where nothing waits that may be out. */
  take(): T | undefined {
    if (this.#waiting === 0) return undefined
    const nowMs = this.#nowMs()
    const lane = this.#nextLane(nowMs, (each) => this.#hasRoom(each.class) && this.#hasNext(each))
    if (lane === undefined) return undefined
    lane.class.out++
    const isLong = lane.waitingLong.size > 0 && this.#mayBeLong(lane.key)
    if (isLong) this.#countLong(lane.key, 1)
    return this.#takeOut(lane, firstOf(isLong ? lane.waitingLong : lane.waiting) as T, nowMs)
  }

  /**
   * The next item of a class, under the permit of one that is out; undefined where none waits or it does not fit. Long
   * ones stay.
   */
  takeBeside(name: C, fits: (item: T) => boolean): T | undefined {
    const state = this.#class(name)
    if (state.waiting === 0) return undefined
    const nowMs = this.#nowMs()
    const lane = this.#nextLane(nowMs, (each) => each.class === state && each.waiting.size > 0)
    const item = lane && firstOf(lane.waiting)
    return item !== undefined && fits(item) ? this.#takeOut(lane as Lane<C, T>, item, nowMs) : undefined
  }

  /** An item is back that had its thread for so long. */
  giveBack(item: T, ranMs: number): void {
    const nowMs = this.#nowMs()
    const lane = this.#laneOf(item)
    const { key } = lane
    key.out--
    lane.out--
    lane.outSinceMs -= this.#out.get(item) as number
    // What rounding leaves of an empty sum would count as use.
    if (lane.out === 0) lane.outSinceMs = 0
    this.#out.delete(item)
    lane.usedMs += Math.max(ranMs - usedMsMin, 0) * this.#scale(nowMs)
    if (item.isLong) this.#countLong(key, -1)
    this.#forget(key, nowMs)
  }

  /** Gives the permit back that {@link take} took. */
  release(name: C): void {
    this.#class(name).out--
  }

  /** As {@link giveBack} of an item that is not done: it waits again, as a long one. Returns what {@link add} does. */
  putBack(item: T, ranMs: number): readonly T[] {
    this.giveBack(item, ranMs)
    item.isLong = true
    return this.add(item)
  }

  /** Counts an item that is out as long from here on, if it may be. */
  tryMakeLong(item: T): boolean {
    const { key } = this.#laneOf(item)
    if (!this.#mayBeLong(key)) return false
    item.isLong = true
    this.#countLong(key, 1)
    return true
  }

  /**
   * Whether the place of an item that is out is better given to one that waits: because the key of that one, or of the
   * same key its class, has had less than half the time. Less of a difference would have two keys that want the same
   * take their places from each other. The place of a long item is another long one's, as the others have theirs.
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
    return this.#use(lane.key, nowMs) < this.#use(own.key, nowMs) / 2
  }

  /** Takes out all that waits, without permits. */
  clear(): T[] {
    const lanes = [...this.#waitingKeys].flatMap((key) => key.lanes)
    const items = lanes.flatMap(({ waiting, waitingLong }) => [...waitingLong, ...waiting])
    for (const item of items) this.remove(item)
    return items
  }

  #takeOut(lane: Lane<C, T>, item: T, nowMs: number): T {
    if (!lane.waiting.delete(item)) lane.waitingLong.delete(item)
    this.#uncount(lane, item)
    this.#out.set(item, nowMs)
    lane.key.out++
    lane.out++
    lane.outSinceMs += nowMs
    lane.usedMs += usedMsMin * this.#scale(nowMs)
    return item
  }

  #uncount({ class: state, key }: Lane<C, T>, { bytes }: T): void {
    state.waiting--
    key.waiting--
    key.waitingBytes -= bytes
    this.#waiting--
    this.#waitingBytes -= bytes
    if (key.waiting === 0) this.#waitingKeys.delete(key)
  }

  /** Of the key with the least use, and of its lanes the one with the least, among those that are `ready`. */
  #nextLane(nowMs: number, ready: (lane: Lane<C, T>) => boolean): Lane<C, T> | undefined {
    let next: Lane<C, T> | undefined
    let leastOfKeys = Number.POSITIVE_INFINITY
    for (const key of this.#waitingKeys) {
      let use = 0
      let best: Lane<C, T> | undefined
      let least = Number.POSITIVE_INFINITY
      for (const lane of key.lanes) {
        const laneUse = this.#laneUse(lane, nowMs)
        use += laneUse
        if (laneUse >= least || !ready(lane)) continue
        best = lane
        least = laneUse
      }
      if (best === undefined || use >= leastOfKeys) continue
      next = best
      leastOfKeys = use
    }
    return next
  }

  #use(key: Key<C, T>, nowMs: number): number {
    return key.lanes.reduce((sum, lane) => sum + this.#laneUse(lane, nowMs), 0)
  }

  #laneUse({ usedMs, out, outSinceMs }: Lane<C, T>, nowMs: number): number {
    return out === 0 ? usedMs : usedMs + (out * nowMs - outSinceMs) * this.#scale(nowMs)
  }

  /** What a millisecond counts for at a moment, in milliseconds at the epoch: what is older halves beside it. */
  #scale(nowMs: number): number {
    return 2 ** ((nowMs - this.#epochMs) / halfLifeMs)
  }

  /** The time. Every half-life is an epoch, so that numbers stay small and keys at rest are found. */
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

  #forget(key: Key<C, T>, nowMs: number): void {
    if (key.waiting > 0 || key.out > 0) return
    if (this.#use(key, nowMs) < forgottenMs * this.#scale(nowMs)) this.#keys.delete(key.id)
  }

  #hasRoom({ out, permits }: ClassState): boolean {
    return out < permits
  }

  #hasNext({ waiting, waitingLong, key }: Lane<C, T>): boolean {
    return waiting.size > 0 || (waitingLong.size > 0 && this.#mayBeLong(key))
  }

  #mayBeLong({ longOut }: Key<C, T>): boolean {
    return this.#longOut < this.#limits.longPermits && longOut < this.#longOfKeyMax
  }

  get #longOfKeyMax(): number {
    return Math.ceil(this.#limits.longPermits / 2)
  }

  #countLong(key: Key<C, T>, by: number): void {
    this.#longOut += by
    key.longOut += by
  }

  /** Of the class of `newest`, the lane with most items: `newest` where no other has more. */
  #longestLane(newest: Lane<C, T>): Lane<C, T> {
    let longest = newest
    for (const { lanes } of this.#waitingKeys) {
      for (const lane of lanes)
        if (lane.class === newest.class && sizeOf(lane) > sizeOf(longest)) longest = lane
    }
    return longest
  }

  /** A lane of the key with most bytes: `newest` where no other has more, else the longest. */
  #heaviestLane(newest: Lane<C, T>): Lane<C, T> {
    let heaviest = newest.key
    for (const key of this.#waitingKeys) if (key.waitingBytes > heaviest.waitingBytes) heaviest = key
    if (heaviest === newest.key && sizeOf(newest) > 0) return newest
    return heaviest.lanes.reduce((longest, lane) => (sizeOf(lane) > sizeOf(longest) ? lane : longest))
  }

  #dropNewest({ waiting, waitingLong }: Lane<C, T>): T {
    let newest: T | undefined
    for (const item of waiting.size > 0 ? waiting : waitingLong) newest = item
    this.remove(newest as T)
    return newest as T
  }

  #laneOf(item: T): Lane<C, T> {
    const found = this.#findLane(item)
    if (found !== undefined) return found
    const { keyId: id } = item
    let key = this.#keys.get(id)
    if (key === undefined) {
      key = { id, lanes: [], waiting: 0, waitingBytes: 0, out: 0, longOut: 0 }
      this.#keys.set(id, key)
    }
    const lane: Lane<C, T> = {
      class: this.#class(item.class),
      key,
      waiting: new Set(),
      waitingLong: new Set(),
      usedMs: 0,
      out: 0,
      outSinceMs: 0,
    }
    key.lanes.push(lane)
    return lane
  }

  #findLane(item: T): Lane<C, T> | undefined {
    const state = this.#class(item.class)
    return this.#keys.get(item.keyId)?.lanes.find((lane) => lane.class === state)
  }

  #class(name: C): ClassState {
    const state = this.#classes.get(name)
    if (state === undefined) throw new RangeError(`there is no class ${name}`)
    return state
  }
}

function sizeOf({ waiting, waitingLong }: Lane<string, unknown>): number {
  return waiting.size + waitingLong.size
}

function firstOf<T>(items: ReadonlySet<T>): T | undefined {
  return items.values().next().value
}
