import t from 'tap'
import { rarelyMade } from '../../../../src/serving/transport/rarelyMade.js'

/** A page that counts how often it is made, and a clock. */
function madePage() {
  const state = { made: 0, ms: 0 }
  const page = rarelyMade(
    () => ({ status: 200, body: String(++state.made) }),
    () => state.ms,
  )
  return { state, page }
}

t.test('whoever asks now and then gets it made anew', (t) => {
  const { state, page } = madePage()
  for (let asked = 1; asked <= 100; asked++) {
    t.match(page(), { body: String(asked) })
    state.ms += 100
  }
  t.end()
})

t.test(
  'a flood has it made ten times a second, and gets none that is older than a tenth of a second',
  (t) => {
    const { state, page } = madePage()
    for (let made = 1; made <= 10; made++) t.match(page(), { body: String(made) }, 'at once, after a pause')
    let changedMs = 0
    let oldestMs = 0
    for (let before = '10'; state.ms < 60_000; state.ms += 0.5) {
      const { body } = page() as { body: string }
      if (body !== before) changedMs = state.ms
      oldestMs = Math.max(oldestMs, state.ms - changedMs)
      before = body
    }
    t.ok(state.made <= 10 + 600, `made ${state.made} times in a minute`)
    t.ok(oldestMs <= 101, `${oldestMs} ms`)
    t.end()
  },
)

t.test('a page that comes later is one for all who wait', async (t) => {
  let made = 0
  const page = rarelyMade(
    async () => ({ status: 200, body: String(++made) }),
    () => 0,
  )
  const bodies = await Promise.all(Array.from({ length: 50 }, async () => (await page()).body))
  t.equal(made, 10)
  t.strictSame(bodies.slice(9), Array(41).fill('10'))
})
