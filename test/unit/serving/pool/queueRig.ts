/** A queue of items with names, and a clock that moves only on command, for the tests of fairQueue.ts. */

import type { Linked } from '../../../../src/primitives/linkedList.js'
import { FairQueue, type Queued } from '../../../../src/serving/pool/fairQueue.js'

export type Name = 'a' | 'b' | 'c'
export const names: readonly Name[] = ['a', 'b', 'c']

export interface Item extends Queued, Linked<Item> {
  readonly label: string
}

/** `a1 of x` is an item of class a and key x; a digit after the key is its weight. */
export function item(label: string, bytes = 1): Item {
  const [name, keyId] = label.split(' of ') as [string, string?]
  const weight = Number(/\d+$/.exec(keyId ?? '')?.[0] ?? 1)
  const queued = { class: name[0] as Name, keyId: keyId ?? 'x', weight, bytes, isLong: false, outSinceMs: 0 }
  return { label, ...queued, list: undefined, previous: undefined, next: undefined }
}

export interface Rig {
  readonly queue: FairQueue<Item>
  readonly clock: { ms: number }
  add(...labels: string[]): string[]
  /** Takes an item, which is done after `ms`. */
  serve(ms: number): string | undefined
}

export function open({
  permits = 100,
  permitsOfKey = 100,
  waitingMax = 1_000,
  waitingBytesMax = 1e9,
  longPermits = 1,
} = {}): Rig {
  const clock = { ms: 1e6 }
  const shares = new Map(names.map((name) => [name, { permits, permitsOfKey, waitingMax }]))
  const queue = new FairQueue<Item>(shares, { waitingBytesMax, longPermits }, () => clock.ms)
  return {
    queue,
    clock,
    add: (...labels) => labels.flatMap((label) => queue.add(item(label)).map((dropped) => dropped.label)),
    serve(ms) {
      const taken = queue.take()
      if (taken === undefined) return undefined
      clock.ms += ms
      queue.giveBack(taken, ms)
      queue.release(taken.class)
      return taken.label
    },
  }
}

export const upTo = (count: number, label: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => label(at + 1))

export function serveAll({ serve }: Rig, ms: number): string[] {
  const served: string[] = []
  for (let label = serve(ms); label !== undefined; label = serve(ms)) served.push(label)
  return served
}
