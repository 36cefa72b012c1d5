import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { hexToBytes } from '../../../src/primitives/bytes.js'
import { addressOf, hex } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { changesOf, checkVmTrace } from '../../rpc/replayOracle.js'
import { startService } from '../../service/service.js'

const method = 'trace_call'
const service = await startService()
t.teardown(() => service.stop())
const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')
const data = hex(encodeCall('transfer(address,uint256)', [hexToBytes(cal.slice(2)), 1_000]))
const transfer = { from: bea, to: tide, gas: '0x186a0', data }
/** Stores 5 in slot 1 and returns one byte of code. */
const creation = { from: bea, gas: '0x186a0', data: '0x6005600155600160005360016000f3' }

t.test('a message is replayed as other tracers see it', async (t) => {
  for (const call of [
    transfer,
    { ...transfer, from: cal },
    creation,
    { from: bea, to: cal, value: '0x5', gas: '0x5208' },
  ]) {
    for (const block of ['0x64', '0xc8', 'latest']) {
      const [replay, diff, logged, flat, returned] = await askResults(service, [
        [method, [call, ['trace', 'vmTrace', 'stateDiff'], block]],
        ['debug_traceCall', [call, block, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }]],
        ['debug_traceCall', [call, block, { enableMemory: true }]],
        ['debug_traceCall', [call, block, { tracer: 'callTracer' }]],
        ['eth_call', [call, block]],
      ])
      t.strictSame(replay.stateDiff, changesOf(diff))
      checkVmTrace(t, replay.vmTrace, logged.structLogs)
      t.equal(replay.output, returned)
      t.equal(replay.trace[0].action.from, flat.from)
      t.equal(replay.trace[0].result.output ?? replay.trace[0].result.code, flat.output ?? '0x')
      t.notOk('blockHash' in replay.trace[0])
    }
  }
})

t.test('a revert is told by the calls, and is no error', async (t) => {
  const [replay] = await askResults(service, [[method, [{ ...transfer, value: '0x1' }, ['trace']]]])
  const [{ output, gasUsed }] = await askResults(service, [
    ['debug_traceCall', [{ ...transfer, value: '0x1' }, 'latest', { tracer: 'callTracer' }]],
  ])
  const result = { output: output ?? '0x' }
  t.match(replay, { stateDiff: null, vmTrace: null, trace: [{ error: 'Reverted', result }] })
  const own = Number(replay.trace[0].result.gasUsed)
  t.ok(own > 0 && own < Number(gasUsed), 'without the intrinsic gas')
  await checkRefusals(t, service, method, [
    [[transfer, ['trace'], 'pending'], -32000, 'tracing on top of pending is not supported'],
    [[transfer, ['trace'], '0xffff'], -32000, 'header not found'],
    [[transfer], -32602, 'missing value for required argument 1'],
  ])
})
