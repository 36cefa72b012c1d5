/** Results that come in parts: their owner, and the outcome of a part without a taker. */
import t from 'tap'
import { Job } from '../../../../src/serving/pool/job.js'
import { JobSignals } from '../../../../src/serving/pool/jobCells.js'
import type { JobOwner } from '../../../../src/serving/pool/jobs.js'
import type { JobThread } from '../../../../src/serving/pool/jobThread.js'
import { runInParts } from '../../../../src/serving/rpc/answers/jsonStream.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'

t.test('a part for a caller that takes none fails its job, instead of being lost', async (t) => {
  const args = new Uint8Array(0)
  const job = new Job(
    {
      name: 'trace',
      class: 'trace',
      network: 'demo',
      args,
      isShort: false,
      limits: { waitingMax: 1, deadlineMsMax: 1, runMsMax: 1, timedOut: { kind: 'RequestTimedOut' } },
      owner: new RequestContext(),
    },
    () => {},
  )
  const cells = new JobSignals(1)
  const { serial } = job.begin({} as JobThread, cells.take(), 0)
  job.takePart({ serial, part: new Uint8Array(1) }, cells)
  await t.rejects(job.outcome.promise, { message: /^trace gave a part/ })
})

t.test('a result in parts has the share of its key', async (t) => {
  const caller = new RequestContext(undefined, { key: { id: '1234567890ab', limits: { weight: 4 } } })
  let owner: JobOwner | undefined
  await runInParts(async (given) => {
    owner = given
    return new Uint8Array(0)
  }, caller)
  t.equal(owner?.keyId, '1234567890ab')
  t.equal(owner?.weight, 4)
})
