// @shares
import fc from 'fast-check'
import t from 'tap'
import { propertyRuns } from '../../../library/property.js'
import { shareKept } from '../../../unit/primitives/youngObjects.js'
import { type Item, item, open, serveAll, upTo } from '../../../unit/serving/pool/queueRig.js'

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

t.test('a key of weight 3 gets three times the time of another', async (t) => {
  const rig = open()
  rig.add(...upTo(100, (at) => `a${at} of heavy3`), ...upTo(100, (at) => `a${at} of light`))
  const served = upTo(80, () => String(rig.serve(10)))
  const heavy = served.filter((label) => label.endsWith('heavy3')).length
  t.ok(heavy >= 58 && heavy <= 62, `${heavy} of 80`)
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
  t.strictSame(queue.putBack(third, 50, true), [])
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
  queue.putBack(second, 20, true)
  queue.release('a')
  t.notOk(queue.isOutranked(first), '20 ms of y, 20 of x')
  t.equal(queue.take(), undefined, 'all long places are taken')
  clock.ms += 1_000
  add('a1 of z')
  t.ok(queue.isOutranked(first), '20 ms of y, 1020 of x')
  queue.remove(second)
  t.notOk(queue.isOutranked(first), 'what is not long has another place')
})

t.test('a class is full for a key exactly where its next item would be dropped at once', async (t) => {
  let dropped = 0
  let kept = 0
  const label = fc
    .tuple(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y', 'z'))
    .map(([name, key]) => `${name} of ${key}`)
  fc.assert(
    fc.property(fc.array(label, { maxLength: 40 }), fc.integer({ min: 1, max: 6 }), (labels, waitingMax) => {
      const { queue } = open({ waitingMax })
      for (const [at, label] of labels.entries()) {
        const added = item(label)
        const isFull = queue.isFullFor(added.class, added.keyId)
        const isDropped = queue.add(added).includes(added)
        if (isDropped) dropped++
        else kept++
        if (isFull !== isDropped) throw new Error(`item ${at}, ${label}: ${isFull}`)
        if (at % 5 === 4) queue.take()
      }
    }),
    propertyRuns(300),
  )
  t.ok(dropped > 0 && kept > 0, `${dropped} dropped, ${kept} kept`)
})

t.test('what has run is no longer in memory after the next collection of young objects', async (t) => {
  const { queue } = open()
  const kept = shareKept((content, index) => {
    queue.add({ ...item('a1'), content } as Item)
    if (index < 64) return
    const taken = queue.take() as Item
    queue.giveBack(taken, 1)
    queue.release(taken.class)
  })
  t.ok(kept < 0.3, `${kept} of all are kept`)
})

t.test('of one key only so many of a class are out, however much room there is', async (t) => {
  const { queue, add } = open({ permits: 3, permitsOfKey: 2 })
  add(...upTo(5, (at) => `a${at} of x`), 'b1 of x')
  const out = Array.from({ length: 4 }, () => queue.take())
  t.strictSame(
    out.map((each) => each?.label),
    ['a1 of x', 'b1 of x', 'a2 of x', undefined],
  )
  t.notOk(queue.isOutranked(out[0] as Item), 'by no item of its own key, which has no room')
  add('a1 of y', 'a2 of y')
  t.equal(queue.take()?.label, 'a1 of y')
  t.equal(queue.take(), undefined, 'the class is full')
  const first = out[0] as Item
  queue.giveBack(first, 5)
  queue.release(first.class)
  t.equal(queue.take()?.label, 'a2 of y')
})
