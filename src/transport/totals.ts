/**
 * The counts that a server's limits are compared with: bytes and WebSockets of all its connections. Several edges
 * count together in shared memory, so that a limit means the same however connections are spread over them. Owns the
 * counts; the limits are compared where something is about to be counted.
 */
import type { SubscriptionTotals } from '../streams/subscriberPool.js'
import { KeyedCounts } from './keyedCounts.js'

/** A count that may be shared between threads. */
export interface Total {
  readonly value: number
  /** Returns the new value. Two edges that add at the same time get different values. */
  add(change: number): number
}

export interface ServerTotals extends SubscriptionTotals {
  /** Bytes of unfinished bodies. */
  readonly bodyBytes: Total
  /** Unsent bytes and waiting messages of WebSockets. */
  readonly socketBytes: Total
  readonly sockets: Total
  readonly subscriptionBytes: Total
  /** Adds to the number of WebSockets of one key and returns it. */
  addOfKey(key: string, change: number): number
}

/** Adds to the count of one key and returns it. */
type AddOfKey = (key: string, change: number) => number

class LocalTotal implements Total {
  value = 0

  add(change: number): number {
    this.value += change
    return this.value
  }
}

/** 64 bits, because counts of bytes may exceed 32. A change takes 0.1 µs. */
class SharedTotal implements Total {
  readonly #words: BigInt64Array
  readonly #index: number

  constructor(words: BigInt64Array, index: number) {
    this.#words = words
    this.#index = index
  }

  get value(): number {
    return Number(Atomics.load(this.#words, this.#index))
  }

  add(change: number): number {
    return Number(Atomics.add(this.#words, this.#index, BigInt(change))) + change
  }
}

/** The totals of a single edge. */
export function localTotals(): ServerTotals {
  return {
    bodyBytes: new LocalTotal(),
    socketBytes: new LocalTotal(),
    sockets: new LocalTotal(),
    subscriptionBytes: new LocalTotal(),
    addOfKey: localCounts(),
    addSubscriptionBytesOfKey: localCounts(),
    addSubscriptionsOfKey: localCounts(),
  }
}

function localCounts(): AddOfKey {
  const ofKeys = new Map<string, number>()
  return (key, change) => {
    const count = (ofKeys.get(key) ?? 0) + change
    if (count === 0) ofKeys.delete(key)
    else ofKeys.set(key, count)
    return count
  }
}

const sharedWords = 4
/** Counts by key. */
const sharedTables = 3

/** Memory for the totals of `edges` edges that serve at most `socketsMax` WebSockets together. */
export function allotTotals(socketsMax: number, edges: number): SharedArrayBuffer {
  return new SharedArrayBuffer(sharedWords * 8 + sharedTables * KeyedCounts.bytesFor(socketsMax, edges))
}

/** The totals of edge number `edge`, from 0, in the memory that {@link allotTotals} made for all. */
export function sharedTotals(memory: SharedArrayBuffer, edges: number, edge: number): ServerTotals {
  const words = new BigInt64Array(memory, 0, sharedWords)
  const firstBytes = sharedWords * 8
  const bytes = (memory.byteLength - firstBytes) / sharedTables
  const sharedCounts = (index: number): AddOfKey => {
    const layout = { offset: firstBytes + index * bytes, bytes, threads: edges, thread: edge }
    const counts = new KeyedCounts(memory, layout)
    return (key, change) => counts.add(key, change)
  }
  return {
    bodyBytes: new SharedTotal(words, 0),
    socketBytes: new SharedTotal(words, 1),
    sockets: new SharedTotal(words, 2),
    subscriptionBytes: new SharedTotal(words, 3),
    addOfKey: sharedCounts(0),
    addSubscriptionBytesOfKey: sharedCounts(1),
    addSubscriptionsOfKey: sharedCounts(2),
  }
}
