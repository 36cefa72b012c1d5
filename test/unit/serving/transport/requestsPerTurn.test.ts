import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { RequestsPerTurn, requestsOfKeyMax } from '../../../../src/serving/transport/requestsPerTurn.js'

/** Number of admitted requests, out of `count`, of a key. */
function admitted(shares: RequestsPerTurn, key: string, count: number, tick: number): number {
  let number = 0
  for (let i = 0; i < count; i++) if (shares.admit(key, tick, 0)) number++
  return number
}

t.test('a key that is alone has every turn to itself', async (t) => {
  const shares = new RequestsPerTurn()
  for (let tick = 0; tick < 3; tick++) t.equal(admitted(shares, 'a', 10_000, tick), 10_000)
})

t.test('where there are others, a key has a share of each turn, and they have theirs', async (t) => {
  const shares = new RequestsPerTurn()
  shares.admit('b', 0, 0)
  const share = admitted(shares, 'a', 10_000, 0)
  t.ok(share >= requestsOfKeyMax && share <= requestsOfKeyMax + 64, `${share}`)
  t.equal(admitted(shares, 'b', 500, 0), 500)
  await setImmediate()
  const next = admitted(shares, 'a', 10_000, 0)
  t.ok(next >= requestsOfKeyMax && next <= requestsOfKeyMax + 64, `${next}`)
})

t.test('a key may have a request from each connection beyond its share', async (t) => {
  const shares = new RequestsPerTurn()
  shares.admit('b', 0, 0)
  let refused = 0
  for (let i = 0; i < 5_000; i++) if (!shares.admit('a', 0, 5_000)) refused++
  t.equal(refused, 0)
})

t.test('others are forgotten a while after they have gone', async (t) => {
  const shares = new RequestsPerTurn()
  shares.admit('b', 0, 0)
  shares.admit('a', 0, 0)
  t.equal(admitted(shares, 'a', 10_000, 2), 10_000)
})
