import { randomInt } from 'node:crypto'
import type { LogFilter, LogKeys } from '../../data/chain/logFilter.js'

/** Positions of a log that a filter may restrict: its address and its four topics. */
const places = 5

/**
 * Number of Maps for the buckets of one position, chosen by the first six bits of the hash. A Map is rebuilt as it
 * grows and shrinks. That blocks the thread for 40 ms with 1,300,000 keys in one Map, and for less than 1 ms with
 * 20,000.
 */
const shards = 64
const shardShift = 25

/** Comparisons without a pause. */
const comparisonsPerPause = 64

/** All members with the same filter. */
interface Group<T> {
  readonly filter: LogFilter
  readonly members: Set<T>
  /** The position whose buckets contain this group; undefined for a filter that restricts none. */
  readonly position: number | undefined
}

/** Groups under one key. Most keys have one group, for which a set would take five times the memory. */
type Bucket<T> = Group<T> | Set<Group<T>>

/**
 * Finds the filters that match a log. Equal filters are compared once. A log is compared only with filters registered
 * under its address or one of its topics. So the cost of matching grows with the logs and their matches, not with the
 * number of filters. Adding or removing a filter takes time linear in its length.
 *
 * Buckets are found by a hash of the key instead of the key itself, which saves its memory. Two keys with the same hash
 * share a bucket, which costs comparisons but never gives a wrong match.
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

  /**
   * Yields each member whose filter matches, once. Also yields undefined after every {@link comparisonsPerPause}
   * comparisons. The caller may pause at any yield. Members removed meanwhile are not yielded; none may be added.
   */
  *matches(log: LogKeys): Generator<T | undefined, void> {
    let comparisons = 0
    for (const bucket of this.#bucketsOf(log)) {
      for (const { filter, members } of bucket instanceof Set ? bucket : [bucket]) {
        if (filter.matches(log)) yield* members
        if (++comparisons % comparisonsPerPause === 0) yield undefined
      }
    }
  }

  #bucketsOf({ address, topics }: LogKeys): Bucket<T>[] {
    const ofTopics = topics.map((topic, position) => this.#bucketOf(position + 1, topic))
    return [this.#unrestricted, this.#bucketOf(0, address), ...ofTopics].filter(
      (bucket) => bucket !== undefined,
    )
  }

  /**
   * The restricted position whose buckets have the fewest groups so far. Of a thousand filters on one token with
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

/** Random per process, so that nobody can choose keys that share a bucket. */
const seed = randomInt(2 ** 32)
const factor = randomInt(2 ** 31) * 2 + 1

/**
 * A sum of products, as FNV-1a, by a random factor. Has 31 bits, which V8 stores in the Map's entry without an object.
 */
function hashOf(key: string): number {
  let hash = seed
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), factor)
  // The low bits of a product depend only on the low bits of its factors.
  return (hash ^ (hash >>> 15)) >>> 1
}
