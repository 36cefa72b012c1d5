import t from 'tap'
import { loadJavaScript } from '../../../../src/execution/evm/tracers/javascriptEngine.js'
import { Tracing } from '../../../../src/execution/evm/tracers/tracing.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { addressOf, demoStore, goOn, limits, requestOf } from './demoExecution.js'

const to = addressOf(1)
/** JUMPDEST PUSH0 JUMP: until the gas is used up. */
const code = Uint8Array.of(0x5b, 0x5f, 0x56)
const request = requestOf({ to }, [{ address: to, code }])
const options = { enableMemory: false, disableStack: false, disableStorage: false, enableReturnData: false }
const tracer = { tracer: 'opcodes', ...options, limit: 0 } as const
const { block, message, stateOverrides = [], gasMax } = request
const calls = { block, bundles: [{ calls: [{ message }] }], stateOverrides, gasMax, form: 'one' } as const
const traced = { subject: { kind: 'calls', ...calls }, tracer } as const

t.test('a trace that grows too long within a transaction ends with a fault', (t) => {
  const tracing = new Tracing(demoStore, { ...limits, answerBytesMax: 2 ** 20 })
  const parts: Uint8Array[] = []
  const trace = () => tracing.trace(traced, goOn, (part) => parts.push(part))
  t.throws(trace, new FaultError({ kind: 'TraceTooLarge', limitBytes: 2 ** 20 }))
  t.ok(parts.length > 0)
  t.end()
})

t.test('what the taker of parts throws comes out as it is', (t) => {
  const tracing = new Tracing(demoStore, { ...limits, answerBytesMax: 2 ** 30 })
  const gone = new Error('nobody reads')
  const trace = () =>
    tracing.trace(traced, goOn, () => {
      throw gone
    })
  t.throws(trace, gone)
  t.throws(trace, gone, 'and the kernel is as before')
  t.end()
})

/** Reads slots without end, through all exceptions. */
const reading = `{
  read: function (db, address) {
    for (var at = 0; at < 1e6; at++) {
      try { db.getState(address, toWord('0x' + at.toString(16))) } catch (_) {}
    }
  },
  step: function (log, db) { if (log.getPC() === 0) this.read(db, log.contract.getAddress()) },
  fault: function () {},
  result: function (ctx, db) {
    this.read(db, ctx.to)
    return 'all is well'
  },
}`

t.test(
  'a kernel that has no memory left ends a tracer in JavaScript, which catches what it can',
  async (t) => {
    await loadJavaScript()
    const memoryBytesMax = 2 ** 20
    const tracing = new Tracing(demoStore, { ...limits, memoryBytesMax, answerBytesMax: 2 ** 30 })
    const outOfMemory = new FaultError({ kind: 'ExecutionOutOfMemory', limitBytes: memoryBytesMax })
    // Within the run, and after it.
    for (const code of [reading, reading.replace('if (log.getPC() === 0)', 'if (false)')]) {
      const request = { ...traced, tracer: { tracer: 'javascript', code, config: '{}' } } as const
      const stateOverrides = [{ address: to, code: Uint8Array.of(0) }]
      const subject = { ...traced.subject, stateOverrides }
      t.throws(() => tracing.trace({ ...request, subject }, goOn, () => {}), outOfMemory)
      await loadJavaScript()
    }
    const over = new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: 0.05 })
    t.throws(
      () => tracing.trace({ ...traced, timeMs: 50 }, goOn, () => {}),
      over,
      'and the kernel is as before',
    )
  },
)
