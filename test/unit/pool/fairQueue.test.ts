import fc from 'fast-check'
import t from 'tap'
import { FairQueue } from '../../../src/pool/fairQueue.js'
import { propertyRuns } from '../../property.js'

type Name = 'a' | 'b' | 'c'
const names: readonly Name[] = ['a', 'b', 'c']

function openQueue({ permits = 100, waitingMax = 1_000 } = {}): FairQueue<Name, string> {
  return new FairQueue(new Map(names.map((name) => [name, { permits, waitingMax }])))
}

function takeAll(queue: FairQueue<Name, string>): string[] {
  const taken: string[] = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item)
  return taken
}

t.test('one class is served in the order of arrival', async (t) => {
  const queue = openQueue()
  for (const item of ['a1', 'a2', 'a3']) queue.add('a', item)
  t.strictSame(takeAll(queue), ['a1', 'a2', 'a3'])
})

t.test('classes take turns, however much of one has arrived first', async (t) => {
  const queue = openQueue()
  for (let i = 1; i <= 4; i++) queue.add('a', `a${i}`)
  for (let i = 1; i <= 2; i++) queue.add('b', `b${i}`)
  queue.add('c', 'c1')
  t.strictSame(takeAll(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

t.test('a class without a permit left is passed over, and goes on once one is released', async (t) => {
  const queue = openQueue({ permits: 1 })
  queue.add('a', 'a1')
  queue.add('a', 'a2')
  queue.add('b', 'b1')
  t.strictSame(takeAll(queue), ['a1', 'b1'])
  t.equal(queue.out('a'), 1)
  queue.release('a')
  t.strictSame(takeAll(queue), ['a2'])
})

t.test('items that are taken beside another share its permit', async (t) => {
  const queue = openQueue({ permits: 2 })
  for (const item of ['a1', 'a2', 'a3', 'b1']) queue.add('a', item)
  t.equal(queue.take(), 'a1')
  t.equal(
    queue.takeBeside('a', () => false),
    undefined,
  )
  const isOfA = (item: string) => item.startsWith('a')
  const beside = [1, 2, 3].map(() => queue.takeBeside('a', isOfA))
  t.strictSame(beside, ['a2', 'a3', undefined], 'an item that does not fit is not passed over')
  t.equal(queue.out('a'), 1)
  t.equal(queue.waiting(), 1)
  t.equal(queue.waiting('a'), 1)
  queue.release('a')
  t.equal(
    queue.takeBeside('b', () => true),
    undefined,
  )
})

t.test('a full class takes no more, others do', async (t) => {
  const queue = openQueue({ waitingMax: 2 })
  queue.add('a', 'a1')
  t.notOk(queue.isFull('a'))
  queue.add('a', 'a2')
  t.ok(queue.isFull('a'))
  t.throws(() => queue.add('a', 'a3'), RangeError)
  queue.add('b', 'b1')
  t.equal(queue.waiting(), 3)
  t.equal(queue.waiting('a'), 2)
})

t.test('an item that waits can be taken out of the middle', async (t) => {
  const queue = openQueue()
  for (const item of ['a1', 'a2', 'a3']) queue.add('a', item)
  t.ok(queue.remove('a', 'a2'))
  t.notOk(queue.remove('a', 'a2'))
  t.strictSame(takeAll(queue), ['a1', 'a3'])
  t.notOk(queue.remove('a', 'a1'), 'what was taken does not wait')
})

t.test('all that waits is cleared at once, permits or not', async (t) => {
  const queue = openQueue({ permits: 1 })
  for (const item of ['a1', 'a2', 'a3']) queue.add('a', item)
  queue.add('b', 'b1')
  queue.take()
  t.strictSame(queue.clear().sort(), ['a2', 'a3', 'b1'])
  t.equal(queue.waiting(), 0)
  t.equal(queue.take(), undefined)
})

t.test(
  'nothing is lost, order holds within a class, permits hold, and no class waits for more than a round',
  async (_t) => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), name: fc.constantFrom(...names) }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('release' as const), pick: fc.nat() }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 3 }), (steps, permits) => {
        const queue = openQueue({ permits })
        const waiting: Record<Name, string[]> = { a: [], b: [], c: [] }
        const out: Name[] = []
        const outOf = (name: Name) => out.filter((each) => each === name).length
        /** Items of other classes taken while the class had one that could have been. */
        const overtaken: Record<Name, number> = { a: 0, b: 0, c: 0 }
        let serial = 0
        for (const each of steps) {
          if (each.kind === 'add') {
            const item = `${each.name}${serial++}`
            queue.add(each.name, item)
            waiting[each.name].push(item)
          } else if (each.kind === 'release' && out.length > 0) {
            const [name] = out.splice(each.pick % out.length, 1)
            queue.release(name as Name)
          } else if (each.kind === 'take') {
            const eligible = names.filter((name) => waiting[name].length > 0 && outOf(name) < permits)
            const item = queue.take()
            if (item === undefined) {
              if (eligible.length > 0) return false
              continue
            }
            const taken = item[0] as Name
            if (!eligible.includes(taken) || waiting[taken].shift() !== item) return false
            out.push(taken)
            for (const name of eligible) overtaken[name] = name === taken ? 0 : overtaken[name] + 1
            if (Object.values(overtaken).some((count) => count >= names.length)) return false
          }
        }
        return queue.waiting() === names.reduce((sum, name) => sum + waiting[name].length, 0)
      }),
      propertyRuns(500),
    )
  },
)
