import t from 'tap'
import { bucketSeconds } from '../../../../src/primitives/durationBuckets.js'
import { CallCounts } from '../../../../src/sources/ingest/engine/engineFigures.js'

t.test('calls are counted by method and outcome, and names of a client make no figure', async (t) => {
  const counts = new CallCounts((method) => method.startsWith('engine_'))
  const status = (status: string) => ({ result: { status } })
  counts.add('engine_newPayloadV4', status('VALID'), 3)
  counts.add('engine_newPayloadV4', status('VALID'), 900)
  counts.add('engine_newPayloadV3', { error: { code: -38005 } }, 1)
  counts.add('engine_forkchoiceUpdatedV3', { result: { payloadStatus: { status: 'SYNCING' } } }, 1)
  counts.add('engine_getPayloadV4', { result: { executionPayload: {} } }, 1)
  counts.add('engine_getBlobsV2', { result: null }, 1)
  for (const name of ['a', 'b']) counts.add(name, { error: { code: -32601 } }, 1)
  const { calls, payloads } = counts.read()
  t.strictSame(calls, [
    { method: 'engine_newPayloadV4', outcome: 'VALID', count: 2 },
    { method: 'engine_newPayloadV3', outcome: '-38005', count: 1 },
    { method: 'engine_forkchoiceUpdatedV3', outcome: 'SYNCING', count: 1 },
    { method: 'engine_getPayloadV4', outcome: 'ok', count: 1 },
    { method: 'engine_getBlobsV2', outcome: 'ok', count: 1 },
    { method: 'other', outcome: '-32601', count: 2 },
  ])
  const timed = payloads.buckets.flatMap((count, bucket) => (count > 0 ? [bucketSeconds(bucket)] : []))
  t.strictSame(timed, [0.001024, 0.004096, 1.048576], 'only blocks are timed')
  t.ok(Math.abs(payloads.seconds - 0.904) < 1e-9)
})
