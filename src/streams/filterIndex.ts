import type { LogFilter, LogKeys } from '../chain/logFilter.js'

/** The places of a log that a filter may restrict: its address and its four topics. */
const places = 5

/**
 * Maps that the buckets of one position are spread over, by the first six bits of their hash. A Map is made anew as it
 * grows and shrinks: one of 1,300,000 keys takes 40 ms of CPU then, all 64 of 20,000 some 5 ms between them.
 */
const shards = 64
const shardShift = 25

/** Everyone who has one and the same filter. */
interface Group<T> {
  readonly filter: LogFilter
  readonly members: Set<T>
  /** The position at whose buckets this group stands; undefined for a filter that is restricted at none. */
  readonly position: number | undefined
}

/** Groups that stand under one key: most keys have one alone, and a set would take five times the memory. */
type Bucket<T> = Group<T> | Set<Group<T>>

/**
 * Who wants which logs. Equal filters are compared once, however many have them, and a log is compared only with the
 * filters that stand under its address or one of its topics, so matching costs by the block and its hits. To add or
 * remove a filter costs by its own length.
 *
 * Buckets are found by a hash of their key, which takes no memory beside the entry; of two keys with one hash each
 * finds the other's filters too, and compares them in vain.
 */
export class FilterIndex<T> {
  readonly #groups = new Map<string, Group<T>>()
  /** Of each shard of each position, hash of a key → groups that are registered there, each at one position only. */
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

  /** Calls `visit` for everyone whose filter matches, once each. */
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
   * The restricted position whose buckets hold the fewest groups so far: of a thousand filters on one token, each with
   * a receiver of its own, all but a few stand under their receiver. Undefined for a filter that only asks for a
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

/** FNV-1a, in the 31 bits that V8 keeps in the entry itself. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return hash >>> 1
}

function visitGroup<T>({ filter, members }: Group<T>, log: LogKeys, visit: (member: T) => void): void {
  if (filter.matches(log)) for (const member of members) visit(member)
}
