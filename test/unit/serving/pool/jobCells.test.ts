import t from 'tap'
import { JobSignal, JobSignals } from '../../../../src/serving/pool/jobCells.js'

/** A thread's side in the midst of a job. */
function beginJob(
  cells: JobSignals,
  { cell, serial }: { readonly cell: number; readonly serial: number },
): JobSignal {
  const jobCell = new JobSignal(cells.shared)
  jobCell.begin(cell, serial)
  return jobCell
}

t.test('only the job that is meant stops, whoever had its cell before', async (t) => {
  const cells = new JobSignals(2)
  const first = cells.take()
  const second = cells.take()
  t.throws(() => cells.take(), RangeError)
  const firstCell = beginJob(cells, first)
  const secondCell = beginJob(cells, second)
  cells.stop(first.cell, first.serial)
  t.ok(firstCell.isStopped)
  t.notOk(secondCell.isStopped)
  cells.release(first.cell)
  const third = cells.take()
  t.equal(third.cell, first.cell)
  t.notOk(beginJob(cells, third).isStopped)
  t.ok(firstCell.isStopped, 'a thread that still works on the first keeps being told')
})

t.test('a thread may be ended only while its job does not hold the lock', async (t) => {
  const cells = new JobSignals(1)
  const { cell, serial } = cells.take()
  const jobCell = beginJob(cells, { cell, serial })
  t.notOk(cells.seal(cell, serial), 'a job begins with the lock held')
  jobCell.unlock()
  t.equal(
    jobCell.locked(() => {
      t.notOk(cells.seal(cell, serial))
      return 'result'
    }),
    'result',
  )
  t.throws(() =>
    jobCell.locked(() => {
      throw new Error('from within')
    }),
  )
  t.ok(cells.seal(cell, serial), 'the lock is given back, whatever happened')
  t.notOk(cells.seal(cell, serial), 'and taken once')
})

t.test('a seal meant for a job that is over does not touch the next one in its cell', async (t) => {
  const cells = new JobSignals(1)
  const first = cells.take()
  cells.release(first.cell)
  const second = cells.take()
  beginJob(cells, second).unlock()
  t.notOk(cells.seal(first.cell, first.serial))
  t.ok(cells.seal(second.cell, second.serial))
})

t.test('a thread that runs the job in another one ends that under the same rule', async (t) => {
  const cells = new JobSignals(1)
  const { cell, serial } = cells.take()
  const outer = beginJob(cells, { cell, serial })
  const inner = beginJob(cells, { cell, serial })
  t.notOk(outer.seal(), 'it begins with the lock held')
  inner.unlock()
  inner.locked(() => t.notOk(outer.seal()))
  t.ok(outer.seal())
  t.notOk(outer.seal(), 'once')
  t.notOk(cells.seal(cell, serial), 'and the edge does not end the thread of the outer one meanwhile')
})
