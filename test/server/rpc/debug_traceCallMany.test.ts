import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { hexToBytes } from '../../../src/primitives/bytes.js'
import { addressOf, hex } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_traceCallMany'
const service = await startService()
t.teardown(() => service.stop())

const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')
const transfer = {
  from: bea,
  to: tide,
  gas: '0x186a0',
  data: hex(encodeCall('transfer(address,uint256)', [hexToBytes(cal.slice(2)), 1_000])),
}
const place = { blockNumber: '0xc8' }

t.test('the first message is traced as alone, and later ones on what it left', async (t) => {
  for (const options of [
    { tracer: 'callTracer', tracerConfig: { withLog: true } },
    {},
    { tracer: 'prestateTracer' },
  ]) {
    const bundles = [{ transactions: [transfer, transfer] }, { transactions: [transfer] }]
    const [many, alone] = await askResults(service, [
      [method, [bundles, place, options]],
      ['debug_traceCall', [transfer, '0xc8', options]],
    ])
    t.strictSame(many[0][0], alone)
    t.strictSame([many[0].length, many[1].length], [2, 1])
  }
  const diff = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
  const [[[first, second]]] = await askResults(service, [
    [method, [[{ transactions: [transfer, transfer] }], place, diff]],
  ])
  // Each message begins with the state that the previous one left.
  const slotsOf = (state: Record<string, { storage?: object }>) => state[tide]?.storage
  t.ok(slotsOf(first.post))
  t.match(slotsOf(second.pre), slotsOf(first.post) as object)
})

t.test('as for a single message, options override states and blocks', async (t) => {
  const asker = `0x${'6'.repeat(40)}`
  const overrides = { [asker]: { code: '0x4360005260206000f3' } }
  const options = { tracer: 'callTracer', stateOverrides: overrides, blockOverrides: { number: '0x1234' } }
  const [[[first], [second]]] = await askResults(service, [
    [method, [[{ transactions: [{ to: asker }] }, { transactions: [{ to: asker }] }], place, options]],
  ])
  t.match([BigInt(first.output), BigInt(second.output)], [0x1234n, 0x1235n])
  await checkRefusals(t, service, method, [
    [
      [[{ transactions: [transfer] }], { blockNumber: 'pending' }],
      -32000,
      'tracing on top of pending is not supported',
    ],
    [[[]], -32000, 'empty bundles'],
  ])
})
