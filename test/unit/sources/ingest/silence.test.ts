import t from 'tap'
import { Silence, silentMs } from '../../../../src/sources/ingest/engine/silence.js'

t.test('a silent consensus client is reported in steps, and its next call ends that', async (t) => {
  const told: (string | undefined)[] = []
  const silence = new Silence(0, (trouble) => told.push(trouble))
  for (let ms = 0; ms < silentMs; ms += 1_000) silence.look(ms)
  t.strictSame(told, [], 'a client that calls within two slots is not silent')
  for (let ms = silentMs; ms <= 45_000; ms += 1_000) silence.look(ms)
  silence.called(45_500)
  for (let ms = 45_500; ms < 45_500 + silentMs; ms += 1_000) silence.called(ms)
  t.strictSame(told, [
    'the consensus client has not called for 30 s',
    'the consensus client has not called for 40 s',
    undefined,
  ])
})
