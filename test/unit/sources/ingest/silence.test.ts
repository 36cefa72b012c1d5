import t from 'tap'
import { Silence, silentMs } from '../../../../src/sources/ingest/engine/silence.js'

t.test('a silent consensus client is reported in steps, and its next call ends that', async (t) => {
  const reported: (string | undefined)[] = []
  const silence = new Silence(0, (trouble) => reported.push(trouble))
  const dateOf = (ms: number) => new Date(Math.round(performance.timeOrigin + ms)).toISOString()
  for (let ms = 0; ms < silentMs; ms += 1_000) silence.look(ms)
  t.strictSame(reported, [], 'a client that calls within two slots is not silent')
  t.equal(silence.calledAtMs, undefined, 'it has not called yet')
  for (let ms = silentMs; ms <= 45_000; ms += 1_000) silence.look(ms)
  t.equal(silence.silentSinceMs, Math.round(performance.timeOrigin), 'it is silent since the start')
  silence.called(45_500)
  t.equal(silence.silentSinceMs, undefined)
  t.equal(silence.calledAtMs, Math.round(performance.timeOrigin + 45_500))
  for (let ms = 45_500; ms < 45_500 + silentMs; ms += 1_000) silence.called(ms)
  t.strictSame(reported, [
    `the consensus client has not called for 30 s, since ${dateOf(0)}`,
    `the consensus client has not called for 40 s, since ${dateOf(0)}`,
    undefined,
  ])
})
