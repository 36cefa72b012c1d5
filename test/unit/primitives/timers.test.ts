import t from 'tap'
import { type Deferred, defer } from '../../../src/primitives/deferred.js'
import { reportTimersTo, setInterval, setTimeout, timerMsMax } from '../../../src/primitives/timers.js'

/** The next report of a timer. */
function nextReport(): Promise<unknown> {
  const reported: Deferred<unknown> = defer()
  reportTimersTo(reported.resolve)
  return reported.promise
}

t.test('what a timer throws, or its promise is rejected with, is reported and ends nothing', async (t) => {
  const broken = new Error('broken')
  const callbacks = [
    () => {
      throw broken
    },
    () => Promise.reject(broken),
  ]
  for (const callback of callbacks) {
    const late = nextReport()
    setTimeout(callback, 1)
    t.equal(await late, broken)
    const again = nextReport()
    const timer = setInterval(callback, 1)
    t.equal(await again, broken)
    clearInterval(timer)
  }
})

t.test('an interval goes on after a failure, and reports the same one in a row once', async (t) => {
  const reports: unknown[] = []
  reportTimersTo((error) => reports.push(String(error)))
  const failures = ['first', 'first', undefined, 'first', 'second']
  const done = defer<void>()
  const timer = setInterval(() => {
    if (failures.length === 0) return done.resolve()
    const failure = failures.shift()
    if (failure !== undefined) throw failure
  }, 1)
  await done.promise
  clearInterval(timer)
  t.strictSame(reports, ['first', 'first', 'second'])
})

t.test('a timeout gets its arguments', async (t) => {
  const got = defer<readonly unknown[]>()
  setTimeout((...words: string[]) => got.resolve(words), 1, 'a', 'b')
  t.strictSame(await got.promise, ['a', 'b'])
})

t.test('a time that is too long for a timer is not over at once', async (t) => {
  let count = 0
  const late = () => {
    count++
  }
  const timers = [setTimeout(late, timerMsMax + 1), setInterval(late, 2 ** 40)]
  // An overflown timer is due after a millisecond.
  const { promise, resolve } = defer<void>()
  setTimeout(resolve, 20)
  await promise
  t.equal(count, 0)
  for (const timer of timers) clearTimeout(timer)
})
