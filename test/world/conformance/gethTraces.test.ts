// @shares
/** Replays traces that go-ethereum made of the demo chain with seven tracer settings and the opcode logger. */
import t from 'tap'
import { recordingOf, replay } from '../../conformance/gethReplay.js'
import { startService } from '../../service/service.js'

const traces = recordingOf('traces.jsonl.gz')

t.test('every recorded trace comes out as from go-ethereum', { skip: traces.skip }, async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  // In batches, whose answers are collected, and one by one, which may be streamed.
  t.match(await replay(`${service.origin}/`, traces, ['--batch', '20']), /^3551 passed, 0 failed$/m)
  const only = ['--only', 'debug_traceBlockByNumber']
  t.match(await replay(`${service.origin}/`, traces, only), /^91 passed, 0 failed$/m)
})
