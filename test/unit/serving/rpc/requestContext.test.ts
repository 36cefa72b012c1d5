/** Waiters for the end of a request are called, even if the end has passed already. */
import t from 'tap'
import { EdgeCounts } from '../../../../src/serving/metrics/edgeCounts.js'
import type { JobOwner } from '../../../../src/serving/pool/jobs.js'
import { type JsonStream, runInParts } from '../../../../src/serving/rpc/answers/jsonStream.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { CallCounter } from '../../../../src/serving/rpc/dispatch/callCounter.js'

t.test('a listener is called once, at the end or after it, and not if it was forgotten', async (t) => {
  const context = new RequestContext()
  const called: string[] = []
  const forgotten = () => called.push('forgotten')
  context.onFinished(() => called.push('before'))
  context.onFinished(forgotten)
  context.forget(forgotten)
  t.same(called, [])
  context.finish()
  t.same(called, ['before'])
  context.onFinished(() => called.push('after'))
  t.same(called, ['before', 'after'])
  context.finish()
  t.same(called, ['before', 'after'])
})

t.test('a job whose caller left, or whose stream was cancelled, hears of it whenever it asks', async (t) => {
  const context = new RequestContext()
  const owners: JobOwner[] = []
  const stream = runInParts((owner) => {
    owners.push(owner)
    owner.takePart?.(Buffer.from('[1'), () => undefined)
    return new Promise(() => undefined)
  }, context)
  const started = (await stream) as JsonStream
  let reported = 0
  owners[0]?.onFinished(() => reported++)
  started.cancel()
  t.equal(reported, 1)
  owners[0]?.onFinished(() => reported++)
  t.equal(reported, 2)
})

t.test('the bytes of a stream are counted for its key, whenever its client leaves', async (t) => {
  for (const leaves of ['before the first part', 'after it'] as const) {
    const context = new RequestContext()
    const counted: (readonly [calls: number, bytes: number])[] = []
    const usage = {
      count: (_key: string, _slot: number, calls: 0 | 1, _isError: boolean, _units: number, bytes: number) =>
        void counted.push([calls, bytes]),
      noteSlow: () => undefined,
      noteFailed: () => undefined,
      refused: () => undefined,
    }
    const counter = new CallCounter(
      new EdgeCounts(new SharedArrayBuffer(EdgeCounts.bytesFor(1)), ['test'], 0),
      'demo',
      usage,
      new Map(),
    )
    const call = { kind: 'call', method: 'test', id: '1', params: [] } as never
    const begun = counter.begin(call, true, context)
    if (leaves === 'before the first part') context.finish()
    const stream = await runInParts((owner) => {
      owner.takePart?.(Buffer.from('[1'), () => undefined)
      return Promise.resolve(Buffer.from(']'))
    }, context)
    const atHead = { name: 'demo', head: { number: 0, hash: undefined, generation: 0 } }
    counter.end(begun, { context, usedAt: () => atHead }, stream)
    context.finish()
    const [calls, bytes] = counted.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0])
    t.equal(calls, 1, leaves)
    t.ok(bytes > 0, `${bytes} bytes ${leaves}`)
  }
})
