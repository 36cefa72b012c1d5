/** What waits and runs in a FairQueue (fairQueue.ts): by class, by key, and by both, a lane. */
import type { Linked, LinkedList } from '../../primitives/linkedList.js'

export interface ClassShare {
  /** Items that may wait. */
  readonly waitingMax: number
  /** Items that may run at the same time. */
  readonly permits: number
}

export interface ClassState extends ClassShare {
  waiting: number
  out: number
}

/** The items of one key in one class, and the time that they have used. */
export interface Lane<T extends Linked<T>> {
  readonly class: ClassState
  readonly key: Key<T>
  /** In order of arrival. */
  readonly waiting: LinkedList<T>
  readonly waitingLong: LinkedList<T>
  /** Run time of finished items, in milliseconds weighted as at the queue's epoch. */
  usedMs: number
  out: number
  /** Sum of the start times of running items. */
  outSinceMs: number
}

export interface Key<T extends Linked<T>> {
  readonly id: string
  weight: number
  /** The lanes used so far, a few at most. */
  readonly lanes: Lane<T>[]
  waiting: number
  waitingBytes: number
  out: number
  longOut: number
}

export function sizeOf<T extends Linked<T>>({ waiting, waitingLong }: Lane<T>): number {
  return waiting.size + waitingLong.size
}
