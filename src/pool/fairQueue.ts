/** How much of one class of work may wait and run. */
export interface ClassShare {
  /** Items that may wait. */
  readonly waitingMax: number
  /** Items that may be out at the same time, so that one class never holds every thread. */
  readonly permits: number
}

interface Lane<T> extends ClassShare {
  /** In order of arrival. A Set, because an item that is cancelled leaves from the middle. */
  readonly waiting: Set<T>
  out: number
}

/**
 * A bounded first-in-first-out queue per class, served in turn. Among classes that have something waiting and a
 * permit left, the one served longest ago comes next. So however much of one class arrives, the first item of another
 * waits for one of those that are out to be released, and then for at most one item of each other class.
 */
export class FairQueue<C extends string, T> {
  readonly #lanes: Map<C, Lane<T>>
  /** Classes, the one served longest ago first. */
  readonly #order: C[]
  #waiting = 0

  constructor(shares: ReadonlyMap<C, ClassShare>) {
    this.#order = [...shares.keys()]
    this.#lanes = new Map()
    for (const [name, share] of shares) this.#lanes.set(name, { ...share, waiting: new Set(), out: 0 })
  }

  /** Items that wait, of one class or of all. */
  waiting(name?: C): number {
    return name === undefined ? this.#waiting : this.#lane(name).waiting.size
  }

  /** Permits of a class that were taken and are not released yet. */
  out(name: C): number {
    return this.#lane(name).out
  }

  isFull(name: C): boolean {
    const { waiting, waitingMax } = this.#lane(name)
    return waiting.size >= waitingMax
  }

  /** Puts an item at the end of its class. Throws RangeError where {@link isFull}. */
  add(name: C, item: T): void {
    if (this.isFull(name)) throw new RangeError(`the queue of ${name} is full`)
    this.#lane(name).waiting.add(item)
    this.#waiting++
  }

  /** Takes an item out that waits; false where it does not. */
  remove(name: C, item: T): boolean {
    const found = this.#lane(name).waiting.delete(item)
    if (found) this.#waiting--
    return found
  }

  /** The next item, with a permit of its class; undefined where nothing waits that may run. */
  take(): T | undefined {
    if (this.#waiting === 0) return undefined
    for (let i = 0; i < this.#order.length; i++) {
      const name = this.#order[i] as C
      const lane = this.#lane(name)
      if (lane.waiting.size === 0 || lane.out >= lane.permits) continue
      const item = lane.waiting.values().next().value as T
      lane.waiting.delete(item)
      lane.out++
      this.#waiting--
      this.#order.splice(i, 1)
      this.#order.push(name)
      return item
    }
    return undefined
  }

  /** The next item of a class, under the permit of one taken before; undefined where none waits or it does not fit. */
  takeBeside(name: C, fits: (item: T) => boolean): T | undefined {
    const { waiting } = this.#lane(name)
    const item = waiting.values().next().value
    if (item === undefined || !fits(item)) return undefined
    waiting.delete(item)
    this.#waiting--
    return item
  }

  /** Takes out all that waits, without permits. */
  clear(): T[] {
    const items = [...this.#lanes.values()].flatMap(({ waiting }) => [...waiting])
    for (const { waiting } of this.#lanes.values()) waiting.clear()
    this.#waiting = 0
    return items
  }

  /** Gives the permit of an item back that was taken. */
  release(name: C): void {
    this.#lane(name).out--
  }

  #lane(name: C): Lane<T> {
    const lane = this.#lanes.get(name)
    if (lane === undefined) throw new RangeError(`there is no class ${name}`)
    return lane
  }
}
