import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { hexToBytes } from '../../../src/primitives/bytes.js'
import { addressOf, blockAt, hex, type Json, quantity } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { code, person } from '../../rpc/simulating.js'
import { startService } from '../../service/service.js'

const method = 'eth_callMany'
const service = await startService()
t.teardown(() => service.stop())

const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')
const bytesOfCal = hexToBytes(cal.slice(2))
const transfer = {
  from: bea,
  to: tide,
  data: hex(encodeCall('transfer(address,uint256)', [bytesOfCal, 1_000])),
}
const read = { to: tide, data: hex(encodeCall('balanceOf(address)', [bytesOfCal])) }
/** The call returns number, time, base fee and coinbase of its block. */
const looking = code(
  ...(['NUMBER', 0, 'MSTORE', 'TIMESTAMP', 32, 'MSTORE', 'BASEFEE', 64, 'MSTORE'] as const),
  ...(['COINBASE', 96, 'MSTORE', 128, 0, 'RETURN'] as const),
)

t.test('a later call finds what an earlier one did, as in a simulation', async (t) => {
  const calls = [read, transfer, read, { ...transfer, from: person('7') }, transfer, read]
  for (const block of ['0x64', '0xc8', 'latest']) {
    const [many, simulated] = await askResults(service, [
      [method, [[{ transactions: calls }], { blockNumber: block }]],
      ['eth_simulateV1', [{ blockStateCalls: [{ calls }] }, block]],
    ])
    t.equal(many.length, 1)
    for (const [at, { returnData, error }] of simulated[0].calls.entries()) {
      const { value, error: why } = many[0][at]
      if (error === undefined) t.equal(value, returnData)
      else t.match(why, /^execution reverted/)
    }
    const [alone] = await askResults(service, [['eth_call', [read, block]]])
    t.equal(many[0][0].value, alone)
  }
})

t.test('each bundle is in a block of its own, with overrides that stay', async (t) => {
  const lookout = person('8')
  const look = { to: lookout }
  const overrides = { [lookout]: { code: looking } }
  const number = 200
  const [{ timestamp }] = await askResults(service, [['eth_getBlockByNumber', [quantity(number), false]]])
  const bundles = [
    { transactions: [look, look] },
    { transactions: [look], blockOverride: { coinbase: cal, baseFee: '0x7' } },
    { transactions: [] },
    { transactions: [look], blockOverride: { blockNumber: '0x1000', timestamp: '0x70000000' } },
  ]
  const [many] = await askResults(service, [
    [method, [bundles, { blockNumber: quantity(number) }, overrides]],
  ])
  t.strictSame(
    many.map((results: unknown[]) => results.length),
    [2, 1, 0, 1],
  )
  const seen = ({ value }: { value: string }) =>
    [0, 1, 2, 3].map((at) => BigInt(`0x${value.slice(2 + at * 64, 66 + at * 64)}`))
  const [own] = await askResults(service, [['eth_call', [look, quantity(number), overrides]]])
  t.equal(many[0][0].value, own)
  t.strictSame(many[0][1], many[0][0])
  const [, second, , last] = many.map(([first]: [{ value: string }]) => first && seen(first))
  // A call without fees finds no base fee.
  t.strictSame(second, [BigInt(number + 1), BigInt(timestamp) + 12n, 0n, BigInt(cal)])
  t.strictSame(last, [0x1000n, 0x70000000n, 0n, BigInt(cal)])
})

t.test('calls run before a transaction of a block on demand', async (t) => {
  const number = 200
  const { transactions } = blockAt(number)
  const senders = (await askResults(service, [['eth_getBlockByNumber', [quantity(number), true]]]))[0]
    .transactions as Json[]
  const balances: bigint[] = []
  const asking = person('9')
  const [who] = senders.map(({ from }) => String(from))
  const ask = { to: asking }
  const overrides = { [asking]: { code: code(BigInt(who ?? 0), 'BALANCE', 0, 'MSTORE', 32, 0, 'RETURN') } }
  for (const transactionIndex of [0, 1, transactions.length - 1, -1]) {
    const place = { blockNumber: quantity(number), transactionIndex }
    const [[[{ value }]]] = await askResults(service, [
      [method, [[{ transactions: [ask] }], place, overrides]],
    ])
    balances.push(BigInt(value))
  }
  const [before, after] = await askResults(service, [
    ['eth_getBalance', [who, quantity(number - 1)]],
    ['eth_getBalance', [who, quantity(number)]],
  ])
  t.equal(balances[0], BigInt(before))
  t.ok((balances[1] ?? 0n) < (balances[0] ?? 0n))
  t.equal(balances.at(-1), BigInt(after))
})

t.test('what cannot run is refused as a whole', async (t) => {
  const poor = { from: person('7'), to: cal, value: '0x1', gas: '0x5208' }
  await checkRefusals(t, service, method, [
    [[[]], -32000, 'empty bundles'],
    [[[{ transactions: [] }]], -32000, 'empty bundles'],
    [
      [[{ transactions: [read, poor] }]],
      -32000,
      `err: insufficient funds for gas * price + value: address 0x${'7'.repeat(40)} have 0 want 1 (supplied gas 21000)`,
    ],
    [
      [[{ transactions: [read], blockOverride: { blockHash: {} } }]],
      -32000,
      'block override "blockHash" is not supported',
    ],
    [
      [[{ transactions: Array(5_001).fill({}) }]],
      -32602,
      'invalid argument 0: transactions: want at most 5000 calls',
    ],
    [[[{ transactions: [read] }], { blockNumber: '0xffff' }], -32000, 'header not found'],
    [
      [[{ transactions: [read] }], { blockNumber: '0x1', transactionIndex: -2 }],
      -32602,
      'invalid argument 1: transactionIndex: want a transaction index from 0 to 9007199254740991, got -2',
    ],
  ])
})
