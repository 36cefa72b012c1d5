import t from 'tap'
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
