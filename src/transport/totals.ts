/**
 * What the limits of a server are compared with: bytes and WebSockets of all its connections. A server that is one
 * of several edges counts together with the others, in memory that they share, so that a limit means the same however
 * the connections spread. Owns the counts; each limit is looked at where something is about to be counted.
 */
import type { SubscriptionTotals } from '../streams/subscriberPool.js'
import { KeyedCounts } from './keyedCounts.js'

/** A number that grows and shrinks. */
export interface Total {
  readonly value: number
  /** Returns the new value. Two edges that add at the same time get different ones. */
  add(change: number): number
}

export interface ServerTotals extends SubscriptionTotals {
  /** Bytes of bodies still arriving. */
  readonly bodyBytes: Total
  /** Unsent bytes and waiting messages of WebSockets. */
  readonly socketBytes: Total
  readonly sockets: Total
  readonly subscriptionBytes: Total
  /** Adds to the WebSockets of one key and returns their new number. */
  addOfKey(key: string, change: number): number
}

/** Adds to a count of one key and returns it. */
type AddOfKey = (key: string, change: number) => number

class LocalTotal implements Total {
  value = 0

  add(change: number): number {
    this.value += change
    return this.value
  }
}

/** 64 bits, because bytes may be more than 32 hold. A change costs 0.1 µs. */
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

/** Of a server that is alone. */
export function localTotals(): ServerTotals {
  return {
    bodyBytes: new LocalTotal(),
    socketBytes: new LocalTotal(),
    sockets: new LocalTotal(),
    subscriptionBytes: new LocalTotal(),
    addOfKey: localCounts(),
    addSubscriptionBytesOfKey: localCounts(),
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

/** Memory for the totals of `edges` that serve at most `socketsMax` WebSockets together. */
export function allotTotals(socketsMax: number, edges: number): SharedArrayBuffer {
  return new SharedArrayBuffer(sharedWords * 8 + 2 * KeyedCounts.bytesFor(socketsMax, edges))
}

/** The totals of the edge of this number, from 0, in the memory that {@link allotTotals} made for all. */
export function sharedTotals(memory: SharedArrayBuffer, edges: number, edge: number): ServerTotals {
  const words = new BigInt64Array(memory, 0, sharedWords)
  const firstBytes = sharedWords * 8
  const bytes = (memory.byteLength - firstBytes) / 2
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
  }
}
