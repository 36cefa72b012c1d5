import t from 'tap'
import { isStopped, StopFlags } from '../../../src/pool/stopFlags.js'

t.test('only the job that is meant stops, whoever had its cell before', async (t) => {
  const flags = new StopFlags(2)
  const cells = new Int32Array(flags.shared)
  const first = flags.take()
  const second = flags.take()
  t.throws(() => flags.take(), RangeError)
  flags.stop(first.cell, first.serial)
  t.ok(isStopped(cells, first.cell, first.serial))
  t.notOk(isStopped(cells, second.cell, second.serial))
  flags.release(first.cell)
  const third = flags.take()
  t.equal(third.cell, first.cell)
  t.notOk(isStopped(cells, third.cell, third.serial))
  t.ok(isStopped(cells, first.cell, first.serial), 'a thread that still works on the first keeps being told')
})
