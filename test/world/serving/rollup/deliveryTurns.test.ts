// @shares
import t from 'tap'
import { nobody } from '../../../../src/data/store/node/submissions.js'
import { DeliveryTurns } from '../../../../src/serving/rollup/deliveryTurns.js'
import type { Lane } from '../../../../src/serving/rollup/submissionStore.js'
import { until } from '../../../library/until.js'
import { keyIdOf } from '../../../rollup/queues.js'

const lane = (key: string, sender: number): Lane => ({ key, sender: `0x${sender.toString(16)}` })
const a = keyIdOf(1)
const b = keyIdOf(2)
const c = keyIdOf(3)

function makeTurns(inFlightMax: number) {
  const turned = { times: 0 }
  const turns = new DeliveryTurns({ inFlightMax, pauseMs: () => 5, onTurn: () => turned.times++ })
  const keysOf = (count: number) => Array.from({ length: count }, () => turns.begin()?.key)
  return { turns, turned, keysOf }
}

t.test('keys take turns, whatever the number of their senders', async (t) => {
  const { turns, keysOf } = makeTurns(100)
  for (let sender = 0; sender < 30; sender++) turns.add(lane(a, sender))
  for (let sender = 0; sender < 2; sender++) for (const key of [b, c]) turns.add(lane(key, sender))
  t.strictSame(keysOf(7), [a, b, c, a, b, c, a])
  turns.stop()
  t.equal(turns.begin(), undefined)
})

t.test('a key has half of the attempts that others leave; without keys, all', async (t) => {
  for (const [key, most] of [
    [a, 4],
    [nobody, 8],
  ] as const) {
    const { turns, keysOf } = makeTurns(8)
    for (let sender = 0; sender < 30; sender++) turns.add(lane(key, sender))
    t.equal(keysOf(20).filter((begun) => begun === key).length, most)
    turns.add(lane(b, 0))
    t.equal(turns.begin()?.key, most === 4 ? b : undefined)
    for (let ended = 0; ended < 2; ended++) turns.end(lane(key, 0))
    t.ok(turns.begin(), 'those that end make room')
  }
})

t.test('silence to one key pauses that key alone, with one attempt at a time until an answer', async (t) => {
  const { turns, turned, keysOf } = makeTurns(100)
  for (let sender = 0; sender < 10; sender++) for (const key of [a, b]) turns.add(lane(key, sender))
  t.strictSame(keysOf(6), [a, b, a, b, a, b])
  for (let sender = 0; sender < 3; sender++) {
    t.equal(turns.silentKeys.size, 0)
    turns.noteSilence(a)
    turns.noteAnswer(b)
    for (const key of [a, b]) turns.end(lane(key, sender))
  }
  t.strictSame([...turns.silentKeys], [a])
  t.strictSame(keysOf(3), [b, b, b])
  await until(() => turned.times > 0)
  t.strictSame(keysOf(5), [a, b, b, b, b])
  t.equal(turns.begin(), undefined, 'one attempt alone of the silent one')
  turns.noteAnswer(a)
  t.equal(turns.silentKeys.size, 0)
  t.strictSame(keysOf(2), [a, a])
})

t.test('where the sequencer asks for a pause, all pause', async (t) => {
  const { turns, turned, keysOf } = makeTurns(100)
  for (const key of [a, b]) turns.add(lane(key, 0))
  turns.hold(20)
  turns.hold(1)
  t.strictSame(keysOf(1), [undefined])
  await until(() => turned.times > 0)
  t.strictSame(keysOf(2), [a, b])
})
