import fc from 'fast-check'
import t from 'tap'
import { nobody } from '../../../../src/data/store/node/submissions.js'
import { mayTake, recordsBeyond } from '../../../../src/serving/rollup/queueSizes.js'
import { anonymousId } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { propertyRuns } from '../../../library/property.js'

t.test('the key of nobody is the same to the store and to callers', async (t) => {
  t.equal(nobody, anonymousId)
})

t.test('keys that take all that they may leave places for the next', async (t) => {
  const cases = fc.record({
    max: fc.integer({ min: 20, max: 400 }),
    share: fc.integer({ min: 1, max: 80 }).map((percent) => percent / 100),
    takers: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 2_000 }),
  })
  const run = fc.check(
    fc.property(cases, ({ max, share, takers }) => {
      const owned = new Map<number, number>()
      let total = 0
      const take = (key: number): boolean => {
        const own = owned.get(key) ?? 0
        if (!mayTake(String(key), { own, total, more: 1, max, share })) return false
        owned.set(key, own + 1)
        total++
        return true
      }
      for (const key of takers) take(key)
      // Each key takes as much as it may.
      for (let key = 0; key <= 5; key++) while (take(key));
      for (const own of owned.values()) if (own > Math.max(1, share * max)) return false
      const left = max - total
      return left >= max * (1 - share) ** 6 - 6 && take(6) === left > 0
    }),
    propertyRuns(200),
  )
  t.equal(fc.defaultReportMessage(run), undefined)
})

t.test('a share of all, or no key, takes all there is', async (t) => {
  const last = { own: 9, total: 9, more: 1, max: 10 }
  t.ok(mayTake('a', { ...last, share: 1 }))
  t.notOk(mayTake('a', { ...last, share: 0.5 }))
  t.ok(mayTake(nobody, { ...last, share: 0.5 }))
  for (const key of ['a', nobody]) t.notOk(mayTake(key, { ...last, more: 2, share: 1 }))
})

t.test('records go from keys that have the most, and no more than needed', async (t) => {
  const counts = fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 20 })
  const run = fc.check(
    fc.property(counts, fc.integer({ min: 0, max: 2_000 }), (settled, max) => {
      const before = new Map(settled.map((count, key) => [String(key), count]))
      const beyond = recordsBeyond(before, max)
      const left = [...before].map(([key, count]) => count - (beyond.get(key) ?? 0))
      const most = Math.max(0, ...left)
      const total = left.reduce((sum, count) => sum + count, 0)
      const all = settled.reduce((sum, count) => sum + count, 0)
      // A key that lost transactions has about as many left as the key with the most.
      const isFair = [...beyond.keys()].every((key) => (left[Number(key)] ?? 0) >= most - 1)
      return total === Math.min(all, max) && isFair && left.every((count) => count >= 0)
    }),
    propertyRuns(500),
  )
  t.equal(fc.defaultReportMessage(run), undefined)
})
