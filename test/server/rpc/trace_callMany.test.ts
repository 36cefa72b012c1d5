import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { hexToBytes } from '../../../src/primitives/bytes.js'
import { addressOf, hex } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'trace_callMany'
const service = await startService()
t.teardown(() => service.stop())
const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')
const data = hex(encodeCall('transfer(address,uint256)', [hexToBytes(cal.slice(2)), 1_000]))
const transfer = { from: bea, to: tide, gas: '0x186a0', data }
const read = {
  to: tide,
  gas: '0x186a0',
  data: hex(encodeCall('balanceOf(address)', [hexToBytes(cal.slice(2))])),
}

t.test('each message finds what those before it did, and has its own types', async (t) => {
  const calls = [
    [read, ['trace']],
    [transfer, ['stateDiff']],
    [read, []],
    [transfer, ['trace', 'vmTrace']],
    [read, ['trace']],
  ]
  const [many, [results], alone] = await askResults(service, [
    [method, [calls, '0xc8']],
    ['eth_callMany', [[{ transactions: calls.map(([call]) => call) }], { blockNumber: '0xc8' }]],
    ['trace_call', [read, ['trace'], '0xc8']],
  ])
  t.strictSame(
    many.map(({ output }: { output: string }) => output),
    results.map(({ value }: { value: string }) => value),
  )
  t.strictSame(many[0], alone)
  const kinds = many.map(({ trace, vmTrace, stateDiff }: Record<string, unknown[]>) => [
    trace?.length !== 0,
    vmTrace !== null,
    stateDiff !== null,
  ])
  t.strictSame(kinds, [
    [true, false, false],
    [false, false, true],
    [false, false, false],
    [true, true, false],
    [true, false, false],
  ])
  t.strictSame(await askResults(service, [[method, [[]]]]), [[]])
})

t.test('what is no pair is refused', async (t) => {
  const pairs = 'invalid argument 0: want pairs of a call and trace types'
  await checkRefusals(t, service, method, [
    [[[transfer]], -32602, pairs],
    [[[[transfer]]], -32602, pairs],
    [[[[transfer, ['all']]]], -32602, 'invalid argument 0: want trace, vmTrace or stateDiff, got "all"'],
    [[Array(5_001).fill([])], -32602, 'invalid argument 0: want at most 5000 calls'],
  ])
})
