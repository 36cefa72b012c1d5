import type { LogFilter, LogKeys } from '../chain/logFilter.js'

/** Positions of a log that a filter may restrict: its address and its four topics. */
const places = 5

/**
 * Number of Maps that hold the buckets of one position, chosen by the first six bits of the hash. A Map is rebuilt as
 * it grows and shrinks, which blocks the thread for 40 ms with 1,300,000 keys in one Map, and for less than 1 ms with
 * 20,000.
 */
const shards = 64
const shardShift = 25

/** All members with the same filter. */
interface Group<T> {
  readonly filter: LogFilter
  readonly members: Set<T>
  /** The position whose buckets hold this group; undefined for a filter that restricts none. */
  readonly position: number | undefined
}

/** Groups under one key. Most keys have one group, for which a set would take five times the memory. */
type Bucket<T> = Group<T> | Set<Group<T>>

/**
 * Finds the filters that match a log. Equal filters are compared once, and a log is compared only with filters
 * registered under its address or one of its topics, so the cost of matching grows with the logs and their matches,
 * not with the number of filters. Adding or removing a filter takes time linear in its length.
 *
 * Buckets are found by a hash of the key instead of the key itself, which saves its memory. Two keys with the same
 * hash share a bucket, which costs comparisons but never gives a wrong match.
 */
export class FilterIndex<T> {
  readonly #groups = new Map<string, Group<T>>()
  /**
   * Per shard of each position: hash of a key → groups registered under it. Each group is registered at one position
   * only.
   */
  readonly #shards = Array.from({ length: places * shards }, () => new Map<number, Bucket<T>>())
  readonly #unrestricted = new Set<Group<T>>()

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  *members(): Generator<T> {
    for (const group of this.#groups.values()) yield* group.members
  }

  add(filter: LogFilter, member: T): void {
    const known = this.#groups.get(filter.name)
    if (known !== undefined) {
      known.members.add(member)
      return
    }
    const position = this.#choosePosition(filter)
    const group: Group<T> = { filter, members: new Set([member]), position }
    this.#groups.set(filter.name, group)
    if (position === undefined) {
      this.#unrestricted.add(group)
      return
    }
    filter.visitKeys(position, (key) => {
      const hash = hashOf(key)
      const buckets = this.#shardOf(position, hash)
      const bucket = buckets.get(hash)
      if (bucket === undefined) buckets.set(hash, group)
      else if (bucket instanceof Set) bucket.add(group)
      else if (bucket !== group) buckets.set(hash, new Set([bucket, group]))
    })
  }

  remove(filter: LogFilter, member: T): void {
    const group = this.#groups.get(filter.name)
    if (!group?.members.delete(member) || group.members.size > 0) return
    this.#groups.delete(filter.name)
    const { position } = group
    if (position === undefined) {
      this.#unrestricted.delete(group)
      return
    }
    filter.visitKeys(position, (key) => {
      const hash = hashOf(key)
      const buckets = this.#shardOf(position, hash)
      const bucket = buckets.get(hash)
      if (bucket === group) buckets.delete(hash)
      else if (bucket instanceof Set && bucket.delete(group) && bucket.size === 0) buckets.delete(hash)
    })
  }

  /** Calls `visit` once for each member whose filter matches. */
  visitMatches(log: LogKeys, visit: (member: T) => void): void {
    for (const group of this.#unrestricted) visitGroup(group, log, visit)
    this.#visitBucket(0, log.address, log, visit)
    for (const [position, topic] of log.topics.entries()) this.#visitBucket(position + 1, topic, log, visit)
  }

  #visitBucket(position: number, key: string, log: LogKeys, visit: (member: T) => void): void {
    const bucket = this.#bucketOf(position, key)
    if (bucket instanceof Set) for (const group of bucket) visitGroup(group, log, visit)
    else if (bucket !== undefined) visitGroup(bucket, log, visit)
  }

  /**
   * The restricted position whose buckets hold the fewest groups so far: of a thousand filters on one token with
   * different receivers, nearly all are registered under their receiver. Undefined for a filter that only requires a
   * number of topics.
   */
  #choosePosition(filter: LogFilter): number | undefined {
    let best: number | undefined
    let bestCrowd = Number.POSITIVE_INFINITY
    for (const [position, count] of filter.counts.entries()) {
      if (count === 0) continue
      let crowd = 0
      filter.visitKeys(position, (key) => {
        crowd += crowdOf(this.#bucketOf(position, key))
      })
      if (crowd >= bestCrowd) continue
      best = position
      bestCrowd = crowd
    }
    return best
  }

  #bucketOf(position: number, key: string): Bucket<T> | undefined {
    const hash = hashOf(key)
    return this.#shardOf(position, hash).get(hash)
  }

  #shardOf(position: number, hash: number): Map<number, Bucket<T>> {
    return this.#shards[position * shards + (hash >>> shardShift)] as Map<number, Bucket<T>>
  }
}

function crowdOf(bucket: Bucket<unknown> | undefined): number {
  if (bucket === undefined) return 0
  return bucket instanceof Set ? bucket.size : 1
}

/** FNV-1a, cut to 31 bits, which V8 stores in the Map's entry without a separate object. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return hash >>> 1
}

function visitGroup<T>({ filter, members }: Group<T>, log: LogKeys, visit: (member: T) => void): void {
  if (filter.matches(log)) for (const member of members) visit(member)
}
