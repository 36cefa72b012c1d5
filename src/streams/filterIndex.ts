import type { LogFilter, LogKeys } from '../chain/logFilter.js'

/** The places of a log that a filter may restrict: its address and its four topics. */
const places = 5

/** Everyone who has one and the same filter. */
interface Group<T> {
  readonly filter: LogFilter
  readonly members: Set<T>
  /** The buckets that hold this group, by place and key. */
  readonly place: number | undefined
  readonly keys: readonly string[]
}

/**
 * Who wants which logs. Equal filters are compared once, however many have them, and a log is compared only with the
 * filters that stand under its address or one of its topics, so matching costs by the block and its hits.
 */
export class FilterIndex<T> {
  readonly #groups = new Map<string, Group<T>>()
  /** Of each place, key → groups that are registered there. A group is registered at one place only. */
  readonly #buckets = Array.from({ length: places }, () => new Map<string, Set<Group<T>>>())
  readonly #unrestricted = new Set<Group<T>>()

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  add(filter: LogFilter, member: T): void {
    const known = this.#groups.get(filter.name)
    if (known !== undefined) {
      known.members.add(member)
      return
    }
    const group: Group<T> = { filter, members: new Set([member]), ...this.#choosePlace(filter) }
    this.#groups.set(filter.name, group)
    if (group.place === undefined) this.#unrestricted.add(group)
    for (const key of group.keys) {
      const buckets = this.#bucketsAt(group.place as number)
      const bucket = buckets.get(key)
      if (bucket === undefined) buckets.set(key, new Set([group]))
      else bucket.add(group)
    }
  }

  remove(filter: LogFilter, member: T): void {
    const group = this.#groups.get(filter.name)
    if (!group?.members.delete(member) || group.members.size > 0) return
    this.#groups.delete(filter.name)
    this.#unrestricted.delete(group)
    for (const key of group.keys) {
      const buckets = this.#bucketsAt(group.place as number)
      const bucket = buckets.get(key)
      bucket?.delete(group)
      if (bucket?.size === 0) buckets.delete(key)
    }
  }

  /** Calls `visit` for everyone whose filter matches, once each. */
  visitMatches(log: LogKeys, visit: (member: T) => void): void {
    for (const group of this.#unrestricted) visitGroup(group, log, visit)
    this.#visitBucket(0, log.address, log, visit)
    for (const [position, topic] of log.topics.entries()) this.#visitBucket(position + 1, topic, log, visit)
  }

  #visitBucket(place: number, key: string, log: LogKeys, visit: (member: T) => void): void {
    const bucket = this.#bucketsAt(place).get(key)
    if (bucket !== undefined) for (const group of bucket) visitGroup(group, log, visit)
  }

  /**
   * The restricted place whose buckets hold the fewest groups so far: of a thousand filters on one token, each with
   * a receiver of its own, all but a few stand under their receiver.
   */
  #choosePlace(filter: LogFilter): Pick<Group<T>, 'place' | 'keys'> {
    let best: { place: number; keys: readonly string[]; crowd: number } | undefined
    for (const [place, alternatives] of [filter.addresses, ...filter.topics].entries()) {
      if (alternatives.size === 0) continue
      const buckets = this.#bucketsAt(place)
      let crowd = 0
      for (const key of alternatives) crowd += buckets.get(key)?.size ?? 0
      if (best === undefined || crowd < best.crowd) best = { place, keys: [...alternatives], crowd }
    }
    // A filter that only asks for a number of topics is restricted at no place.
    return best ?? { place: undefined, keys: [] }
  }

  #bucketsAt(place: number): Map<string, Set<Group<T>>> {
    const buckets = this.#buckets[place]
    if (buckets === undefined) throw new RangeError(`a log has no place ${place}`)
    return buckets
  }
}

function visitGroup<T>({ filter, members }: Group<T>, log: LogKeys, visit: (member: T) => void): void {
  if (filter.matches(log)) for (const member of members) visit(member)
}
