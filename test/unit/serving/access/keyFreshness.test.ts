import { Worker } from 'node:worker_threads'
import t from 'tap'
import {
  freshnessClockMs,
  KeyFreshness,
  keyFreshnessBytes,
  lookMs,
} from '../../../../src/serving/access/keyFreshness.js'
import { once } from '../../../library/until.js'

const memory = () => new SharedArrayBuffer(keyFreshnessBytes)

t.test(
  'keys are believed for the grace after the database was heard, and before that not at all',
  async (t) => {
    let nowMs = 5_000
    const reach = new KeyFreshness(memory(), 60_000, () => nowMs)
    t.ok(reach.isOver)
    reach.noteWhole(nowMs, true)
    nowMs += 60_000
    t.strictSame(reach.figures, { isAnswering: true, ageSeconds: 60, isAccepting: true })
    nowMs++
    t.ok(reach.isOver)
    // The copy of a process before, from a time at which this machine did not run.
    reach.noteWhole(nowMs - 100_000, false)
    t.strictSame(reach.figures, { isAnswering: false, ageSeconds: 100, isAccepting: false })
  },
)

t.test('without a grace keys are accepted between two looks at the database', async (t) => {
  let nowMs = 5_000
  const reach = new KeyFreshness(memory(), 0, () => nowMs)
  reach.noteWhole(nowMs, true)
  nowMs += 2 * lookMs
  t.notOk(reach.isOver)
  nowMs += 3 * lookMs
  t.ok(reach.isOver)
})

t.test('a wall clock that is set changes nothing', async (t) => {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  const reach = new KeyFreshness(memory(), 600_000)
  reach.noteWhole(freshnessClockMs(), true)
  Date.now = () => now() + 3_600_000
  t.notOk(reach.isOver)
  reach.noteWhole(freshnessClockMs() - 600_001, true)
  Date.now = () => now() - 3_600_000
  t.ok(reach.isOver)
})

t.test('threads that begin later have the same clock', async (t) => {
  const module = JSON.stringify(
    new URL('../../../../src/serving/access/keyFreshness.js', import.meta.url).href,
  )
  const before = freshnessClockMs()
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
    import(${module}).then(({ freshnessClockMs }) => parentPort.postMessage(freshnessClockMs()))`,
    { eval: true },
  )
  const [there] = (await once(worker, 'message')) as [number]
  t.ok(before <= there && there <= freshnessClockMs(), `${before} ${there}`)
  await worker.terminate()
})
