/**
 * The counts that a server's limits apply to: bytes and WebSockets of all its connections. Several edges count together
 * in shared memory, so a limit is the same however connections are spread over them. Owns the counts; the limits are
 * checked before something is counted.
 */
import { CounterTable, idNumber, type TableShape } from '../access/counterTable.js'
import type { SubscriptionTotals } from '../streams/subscriberPool.js'

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

type AddOfKey = (key: string, change: number) => number

function localTotal(): Total {
  return {
    value: 0,
    add(this: { value: number }, change) {
      this.value += change
      return this.value
    },
  }
}

/** 64 bits, because counts of bytes may exceed 32. */
function sharedTotal(words: BigInt64Array, index: number): Total {
  return {
    get value() {
      return Number(Atomics.load(words, index))
    },
    add: (change) => Number(Atomics.add(words, index, BigInt(change))) + change,
  }
}

export function localTotals(): ServerTotals {
  return {
    bodyBytes: localTotal(),
    socketBytes: localTotal(),
    sockets: localTotal(),
    subscriptionBytes: localTotal(),
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

/** Maximum rows: 80 MiB. */
const rowsMax = 2 ** 21

/** Counts of keys: twice as many rows as keys in use at the same time, so that groups are rarely full. */
function shapeFor(socketsMax: number): TableShape {
  const rows = Math.min(2 ** Math.ceil(Math.log2(Math.max(socketsMax, 1) * 2)), rowsMax)
  return { rows, rowsPerGroup: Math.min(rows, 128), numbers: 3 }
}

/** Memory for the totals of all edges of a process, which serve at most `socketsMax` WebSockets together. */
export function allotTotals(socketsMax: number): SharedArrayBuffer {
  return new SharedArrayBuffer(sharedWords * 8 + CounterTable.bytesFor(shapeFor(socketsMax)))
}

/** The totals in the memory of {@link allotTotals}; keys are identified by ids of 12 hex digits. */
export function sharedTotals(memory: SharedArrayBuffer, socketsMax: number): ServerTotals {
  const words = new BigInt64Array(memory, 0, sharedWords)
  const isUsed = (at: number) => [0, 1, 2].some((count) => table.numbers[at + count] !== 0)
  const keptFor = (at: number) => (isUsed(at) ? Number.POSITIVE_INFINITY : 0)
  const table = new CounterTable(shapeFor(socketsMax), keptFor, memory, sharedWords * 8)
  /** Returns Infinity if there is no room for the key. */
  const countsAt =
    (count: number): AddOfKey =>
    (key, change) => {
      const at = table.take(idNumber(key))
      if (at === undefined) return Number.POSITIVE_INFINITY
      const sum = (table.numbers[at + count] as number) + change
      table.numbers[at + count] = sum
      table.giveBack()
      return sum
    }
  return {
    bodyBytes: sharedTotal(words, 0),
    socketBytes: sharedTotal(words, 1),
    sockets: sharedTotal(words, 2),
    subscriptionBytes: sharedTotal(words, 3),
    addOfKey: countsAt(0),
    addSubscriptionBytesOfKey: countsAt(1),
    addSubscriptionsOfKey: countsAt(2),
  }
}
