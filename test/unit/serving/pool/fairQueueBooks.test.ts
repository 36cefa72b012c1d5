/** The fair queue beside a simple record of the time of each key, for any arrivals. */
import fc from 'fast-check'
import t from 'tap'
import { propertyRuns, runsFactor } from '../../../library/property.js'
import { type Item, item, names, open } from './queueRig.js'

interface Out {
  readonly item: Item
  readonly sinceMs: number
}

/** A simple meter with the same results: it reads its lists again for each call. */
class Books {
  /** Items in order of arrival. */
  waiting: Item[] = []
  readonly out: Out[] = []
  used: { readonly item: Item; readonly ms: number; readonly atMs: number }[] = []
  readonly #permits: number
  readonly #longPermits: number

  constructor(permits: number, longPermits: number) {
    this.#permits = permits
    this.#longPermits = longPermits
  }

  mayBeLong(keyId: string): boolean {
    const long = this.out.filter(({ item }) => item.isLong)
    const ofKey = long.filter(({ item }) => item.keyId === keyId)
    return long.length < this.#longPermits && ofKey.length < Math.ceil(this.#longPermits / 2)
  }

  #canGo(each: Item): boolean {
    const out = this.out.filter(({ item }) => item.class === each.class).length
    return out < this.#permits && (!each.isLong || this.mayBeLong(each.keyId))
  }

  #use(nowMs: number, isMeant: (item: Item) => boolean): number {
    const done = this.used
      .filter(({ item }) => isMeant(item))
      .map(({ ms, atMs }) => ms * 2 ** ((atMs - nowMs) / 10_000))
    const out = this.out.filter(({ item }) => isMeant(item)).map(({ sinceMs }) => nowMs - sinceMs)
    return [...done, ...out].reduce((sum, ms) => sum + ms, 0)
  }

  mayTake(taken: Item | undefined, nowMs: number): boolean {
    const ready = this.waiting.filter((each) => this.#canGo(each))
    if (taken === undefined) return ready.length === 0
    if (!ready.includes(taken)) return false
    const ofKey = (keyId: string) => this.#use(nowMs, (each) => each.keyId === keyId)
    const ofLane = (name: string) =>
      this.#use(nowMs, (each) => each.keyId === taken.keyId && each.class === name)
    // The queue forgets less than a millisecond of an idle key's time, halved with the rest.
    const slackMs = 2.5
    if (ready.some((each) => ofKey(each.keyId) < ofKey(taken.keyId) - slackMs)) return false
    const own = ready.filter((each) => each.keyId === taken.keyId)
    if (own.some((each) => ofLane(each.class) < ofLane(taken.class) - slackMs)) return false
    const lane = own.filter((each) => each.class === taken.class)
    return (lane.find((each) => each.isLong) ?? lane[0]) === taken
  }

  take(taken: Item, nowMs: number): void {
    this.waiting = this.waiting.filter((each) => each !== taken)
    this.out.push({ item: taken, sinceMs: nowMs })
    this.used.push({ item: taken, ms: 0.01, atMs: nowMs })
  }

  /** An idle key that has used hardly any time is forgotten. */
  rest(keyId: string, nowMs: number): void {
    const isMeant = (each: Item) => each.keyId === keyId
    if (this.waiting.some(isMeant) || this.out.some(({ item }) => isMeant(item))) return
    if (this.#use(nowMs, isMeant) < 1) this.used = this.used.filter(({ item }) => !isMeant(item))
  }
}

t.test('the next item is always one of the key with the least time, by naive books', async (t) => {
  const keys = ['x', 'y', 'z', 'w']
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('add' as const),
        name: fc.constantFrom(...names),
        key: fc.constantFrom(...keys),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('back' as const), pick: fc.nat(), again: fc.boolean() }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.oneof(fc.nat(20), fc.nat(1_000), fc.nat(30_000)),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('long' as const), pick: fc.nat() }) },
  )
  let taken = 0
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 20, maxLength: 200, size: 'max' }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 3 }),
      (steps, permits, longPermits) => {
        const { queue, clock } = open({ permits, longPermits })
        const books = new Books(permits, longPermits)
        let serial = 0
        for (const each of steps) {
          if (each.kind === 'add') {
            const added = item(`${each.name}${serial++} of ${each.key}`)
            if (queue.add(added).length > 0) return false
            books.waiting.push(added)
          } else if (each.kind === 'pass') clock.ms += each.ms
          else if (each.kind === 'take') {
            const found = queue.take()
            if (!books.mayTake(found, clock.ms)) return false
            if (found !== undefined) {
              books.take(found, clock.ms)
              taken++
            }
          } else if (each.kind === 'cancel' && books.waiting.length > 0) {
            const [gone] = books.waiting.splice(each.pick % books.waiting.length, 1) as [Item]
            if (!queue.remove(gone)) return false
            books.rest(gone.keyId, clock.ms)
          } else if (each.kind === 'back' && books.out.length > 0) {
            const [{ item: back, sinceMs }] = books.out.splice(each.pick % books.out.length, 1) as [Out]
            const ranMs = clock.ms - sinceMs
            books.used.push({ item: back, ms: Math.max(ranMs - 0.01, 0), atMs: clock.ms })
            if (each.again) {
              queue.putBack(back, ranMs, true)
              books.waiting.push(back)
            } else {
              queue.giveBack(back, ranMs)
              books.rest(back.keyId, clock.ms)
            }
            queue.release(back.class)
          } else if (each.kind === 'long' && books.out.length > 0) {
            const { item: running } = books.out[each.pick % books.out.length] as Out
            if (!running.isLong) {
              const may = books.mayBeLong(running.keyId)
              if (queue.tryMakeLong(running) !== may) return false
            }
          }
        }
        return queue.waiting() === books.waiting.length
      },
    ),
    propertyRuns(300),
  )
  t.ok(taken > 1_000 * runsFactor, `${taken} items were taken`)
})

t.test('whatever arrives, bounds hold, and who loses a place had most', async (t) => {
  const arrival = fc.record({
    name: fc.constantFrom(...names),
    key: fc.constantFrom('x', 'y', 'z'),
    bytes: fc.integer({ min: 1, max: 60 }),
  })
  let lost = 0
  fc.assert(
    fc.property(fc.array(arrival, { minLength: 20, maxLength: 100, size: 'max' }), (arrivals) => {
      const { queue } = open({ waitingMax: 5, waitingBytesMax: 200 })
      let waiting: Item[] = []
      const count = (ofWhom: Item) =>
        waiting.filter((each) => each.keyId === ofWhom.keyId && each.class === ofWhom.class).length
      const bytes = (keyId?: string) =>
        waiting.reduce((sum, each) => sum + (keyId === undefined || each.keyId === keyId ? each.bytes : 0), 0)
      for (const [at, arrived] of arrivals.entries()) {
        const added = item(`${arrived.name}${at} of ${arrived.key}`, arrived.bytes)
        waiting.push(added)
        for (const dropped of queue.add(added)) {
          lost++
          const ofClass = waiting.filter((each) => each.class === dropped.class)
          const isByCount = ofClass.length > 5 && ofClass.every((each) => count(each) <= count(dropped))
          const isByBytes =
            bytes() > 200 && waiting.every((each) => bytes(each.keyId) <= bytes(dropped.keyId))
          const lane = ofClass.filter((each) => each.keyId === dropped.keyId)
          if (!(isByCount || isByBytes) || lane.at(-1) !== dropped) return false
          waiting = waiting.filter((each) => each !== dropped)
        }
        if (queue.waiting() !== waiting.length || bytes() > 200) return false
        if (names.some((name) => waiting.filter((each) => each.class === name).length > 5)) return false
      }
      return true
    }),
    propertyRuns(200),
  )
  t.ok(lost > 100 * runsFactor, `${lost} lost their place`)
})
