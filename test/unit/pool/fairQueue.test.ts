import fc from 'fast-check'
import t from 'tap'
import { FairQueue, type Queued } from '../../../src/pool/fairQueue.js'
import { propertyRuns } from '../../property.js'

type Name = 'a' | 'b' | 'c'
const names: readonly Name[] = ['a', 'b', 'c']

interface Item extends Queued<Name> {
  readonly label: string
}

/** `a1 of x` is an item of class a and key x. */
function item(label: string, bytes = 1): Item {
  const [name, keyId] = label.split(' of ') as [string, string?]
  return { label, class: name[0] as Name, keyId: keyId ?? 'x', bytes, isLong: false }
}

interface Rig {
  readonly queue: FairQueue<Name, Item>
  readonly clock: { ms: number }
  add(...labels: string[]): string[]
  /** Takes an item, which is done after `ms`. */
  serve(ms: number): string | undefined
}

function open({ permits = 100, waitingMax = 1_000, waitingBytesMax = 1e9, longPermits = 1 } = {}): Rig {
  const clock = { ms: 1e6 }
  const shares = new Map(names.map((name) => [name, { permits, waitingMax }]))
  const queue = new FairQueue<Name, Item>(shares, { waitingBytesMax, longPermits }, () => clock.ms)
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

const upTo = (count: number, label: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => label(at + 1))

function serveAll({ serve }: Rig, ms: number): string[] {
  const served: string[] = []
  for (let label = serve(ms); label !== undefined; label = serve(ms)) served.push(label)
  return served
}

t.test('one class of one key is served in the order of arrival', async (t) => {
  const rig = open()
  rig.add('a1', 'a2', 'a3')
  t.strictSame(serveAll(rig, 1), ['a1', 'a2', 'a3'])
})

t.test('classes of one key share its time, however much of one has arrived first', async (t) => {
  const rig = open()
  rig.add(...upTo(4, (at) => `a${at}`), 'b1', 'b2', 'c1')
  t.strictSame(serveAll(rig, 1), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

t.test('the first item of a key comes next, however many of another wait', async (t) => {
  const rig = open()
  rig.add(...upTo(500, (at) => `a${at} of x`))
  t.equal(rig.serve(1), 'a1 of x')
  rig.add('a501 of y', 'a502 of y', 'b1 of z')
  t.strictSame(
    upTo(4, () => String(rig.serve(1))),
    ['a501 of y', 'b1 of z', 'a2 of x', 'a502 of y'],
  )
})

t.test('a key whose items took seconds comes after all whose items took milliseconds', async (t) => {
  const rig = open()
  const { add, serve } = rig
  add('a0 of slow')
  serve(5_000)
  add('a1 of slow', ...upTo(100, (at) => `a${at} of quick`), ...upTo(100, (at) => `a${at} of other`))
  const order = serveAll(rig, 5)
  t.equal(order.at(-1), 'a1 of slow')
  t.equal(order.length, 201)
})

t.test('what is out counts before it is back', async (t) => {
  const { queue, clock, add } = open()
  add('a1 of x', 'a2 of x')
  const first = queue.take()
  clock.ms += 100
  add('b1 of y', 'b2 of y')
  t.equal(queue.take()?.label, 'b1 of y')
  clock.ms += 99
  t.equal(queue.take()?.label, 'b2 of y', '99 ms of y, 199 of x')
  t.equal(first?.label, 'a1 of x')
})

t.test('items that are out are shared evenly from the first moment on', async (t) => {
  const { queue, add } = open()
  add('a1 of x', 'a2 of x', 'a3 of x', 'a1 of y', 'a2 of y')
  t.strictSame(
    upTo(5, () => String(queue.take()?.label)),
    ['a1 of x', 'a1 of y', 'a2 of x', 'a2 of y', 'a3 of x'],
  )
})

t.test('use is forgotten by halves, and nobody saves up time by resting', async (t) => {
  const { clock, add, serve, queue } = open()
  add('a0 of slow', 'a0 of quick')
  serve(1_000)
  serve(100)
  clock.ms += 20_000
  add('b1 of new')
  serve(200)
  add('a1 of slow', 'a1 of quick', 'b2 of new')
  t.strictSame(
    upTo(3, () => String(serve(1))),
    ['a1 of quick', 'b2 of new', 'a1 of slow'],
    '25, 200 and 250 ms',
  )
  clock.ms += 1e8
  add('a2 of quick')
  serve(0)
  t.equal(queue.keys, 0, 'keys at rest are forgotten')
})

t.test('keys that use nothing measurable have their turns', async (t) => {
  const rig = open()
  rig.add(...upTo(3, (at) => `a${at} of x`), ...upTo(3, (at) => `a${at} of y`))
  t.strictSame(serveAll(rig, 0), ['a1 of x', 'a1 of y', 'a2 of x', 'a2 of y', 'a3 of x', 'a3 of y'])
})

t.test('a class without a permit left is passed over, and goes on once one is released', async (t) => {
  const { queue, add } = open({ permits: 1 })
  add('a1', 'a2', 'b1 of y')
  const first = queue.take() as Item
  t.strictSame([first.label, queue.take()?.label, queue.take()], ['a1', 'b1 of y', undefined])
  queue.giveBack(first, 1)
  t.equal(queue.take(), undefined, 'its thread is not free yet')
  queue.release('a')
  t.equal(queue.take()?.label, 'a2')
})

t.test('items that are taken beside another share its permit', async (t) => {
  const { queue, add } = open({ permits: 1 })
  add('a1 of x', 'a2 of x', 'a3 of x', 'a1 of y', 'b1')
  t.equal(queue.take()?.label, 'a1 of x')
  t.equal(
    queue.takeBeside('a', () => false),
    undefined,
  )
  const beside = upTo(4, () => String(queue.takeBeside('a', ({ class: name }) => name === 'a')?.label))
  t.strictSame(beside, ['a1 of y', 'a2 of x', 'a3 of x', 'undefined'], 'keys take turns here too')
  t.equal(queue.waiting(), 1)
  t.equal(queue.waiting('a'), 0)
})

t.test('a key that fills a class makes room for others, newest first', async (t) => {
  const { add, queue } = open({ waitingMax: 4 })
  add('a1 of x', 'a2 of x', 'a3 of x', 'a4 of x')
  t.strictSame(add('a5 of x'), ['a5 of x'])
  t.strictSame(add('a1 of y'), ['a4 of x'])
  t.strictSame(add('a2 of y'), ['a3 of x'])
  t.strictSame(add('a3 of y'), ['a3 of y'], 'who has as much as any other is refused')
  t.strictSame(add('a1 of z'), ['a2 of x'])
  t.strictSame(add('b1 of x'), [], 'other classes have their own room')
  t.equal(queue.waiting('a'), 4)
})

t.test('a key that fills the bytes makes room for others', async (t) => {
  const { queue } = open({ waitingBytesMax: 100 })
  const add = (label: string, bytes: number) => queue.add(item(label, bytes)).map((each) => each.label)
  t.strictSame(add('a1 of x', 60), [])
  t.strictSame(add('b1 of x', 30), [])
  t.strictSame(add('b2 of x', 20), ['b2 of x'])
  t.strictSame(add('c1 of y', 20), ['a1 of x'])
  t.strictSame(add('c2 of y', 60), ['c2 of y'])
  t.strictSame(add('c3 of y', 50), [])
  queue.clear()
  t.strictSame(add('a2 of x', 100), [], 'room is given back')
})

t.test('an item that waits can be taken out of the middle', async (t) => {
  const rig = open()
  const items = ['a1', 'a2', 'a3'].map((label) => item(label))
  for (const each of items) rig.queue.add(each)
  t.ok(rig.queue.remove(items[1] as Item))
  t.notOk(rig.queue.remove(items[1] as Item))
  t.strictSame(serveAll(rig, 1), ['a1', 'a3'])
  t.notOk(rig.queue.remove(items[0] as Item), 'what was taken does not wait')
})

t.test('all that waits is cleared at once, permits or not', async (t) => {
  const { queue, add } = open({ permits: 1 })
  add('a1', 'a2', 'a3', 'b1 of y')
  queue.take()
  t.strictSame(
    queue
      .clear()
      .map(({ label }) => label)
      .sort(),
    ['a2', 'a3', 'b1 of y'],
  )
  t.equal(queue.waiting(), 0)
  t.equal(queue.take(), undefined)
})

t.test('long items have fewer places, and one key has half of them', async (t) => {
  const { queue, add, clock } = open({ longPermits: 3 })
  add(...upTo(3, (at) => `a${at} of x`))
  const [first, second, third] = upTo(3, () => '').map(() => queue.take()) as [Item, Item, Item]
  t.ok(queue.tryMakeLong(first))
  t.ok(queue.tryMakeLong(second))
  t.notOk(queue.tryMakeLong(third), 'two of three are the half, rounded up')
  clock.ms += 50
  t.strictSame(queue.putBack(third, 50), [])
  queue.release('a')
  add('a4 of x')
  t.equal(queue.take()?.label, 'a4 of x', 'the others of its key go on')
  t.equal(queue.take(), undefined)
  queue.giveBack(first, 50)
  t.equal(queue.take(), third)
  queue.giveBack(third, 50)
  queue.giveBack(second, 50)
  add('a1 of y', 'a2 of y', 'a1 of z', 'a2 of z')
  const more = upTo(4, () => '').map(() => queue.take()) as Item[]
  t.strictSame(
    more.map((each) => queue.tryMakeLong(each)),
    [true, true, true, false],
  )
})

t.test('an item gives its place up to whose key has had less than half the time', async (t) => {
  const { queue, add, clock, serve } = open({ longPermits: 1 })
  add('a1 of x')
  const running = queue.take() as Item
  add('a2 of x')
  clock.ms += 50
  t.notOk(queue.isOutranked(running), 'one of its own kind has no better right')
  add('b1 of x')
  t.ok(queue.isOutranked(running), 'another class of its key has had nothing')
  t.equal(serve(0), 'b1 of x')
  add('a0 of y')
  t.ok(queue.isOutranked(running))
  serve(60)
  add('a1 of y')
  t.notOk(queue.isOutranked(running), '60 ms beside 110')
  clock.ms += 10_000
  t.ok(queue.isOutranked(running))
})

t.test('a long item gives its place up to long ones alone', async (t) => {
  const { queue, add, clock } = open({ longPermits: 1 })
  add('a1 of x', 'a1 of y')
  const [first, second] = [queue.take(), queue.take()] as [Item, Item]
  clock.ms += 20
  t.ok(queue.tryMakeLong(first))
  queue.putBack(second, 20)
  queue.release('a')
  t.notOk(queue.isOutranked(first), '20 ms of y, 20 of x')
  t.equal(queue.take(), undefined, 'all long places are taken')
  clock.ms += 1_000
  add('a1 of z')
  t.ok(queue.isOutranked(first), '20 ms of y, 1020 of x')
  queue.remove(second)
  t.notOk(queue.isOutranked(first), 'what is not long has another place')
})

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
              queue.putBack(back, ranMs)
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
  t.ok(taken > 1_000, `${taken} items were taken`)
})

interface Out {
  readonly item: Item
  readonly sinceMs: number
}

/** The same by lists that are gone through again and again. */
class Books {
  /** In order of arrival. */
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
    const ofLane = (name: Name) =>
      this.#use(nowMs, (each) => each.keyId === taken.keyId && each.class === name)
    // What the queue forgets of keys at rest is less than a millisecond, halved with the rest.
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

  /** A key at rest that has used next to nothing is forgotten. */
  rest(keyId: string, nowMs: number): void {
    const isMeant = (each: Item) => each.keyId === keyId
    if (this.waiting.some(isMeant) || this.out.some(({ item }) => isMeant(item))) return
    if (this.#use(nowMs, isMeant) < 1) this.used = this.used.filter(({ item }) => !isMeant(item))
  }
}

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
  t.ok(lost > 100, `${lost} lost their place`)
})
