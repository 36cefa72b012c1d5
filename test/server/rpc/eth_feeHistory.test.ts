import t from 'tap'
import { forkBlock, headBlock, quantity } from '../../rpc/demoChain.js'
import { blockRefusals, checkRefusals, countRefusals, type ErrorCase } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_feeHistory'
const service = await startService()
t.teardown(() => service.stop())

const percentiles = [0, 10.5, 50, 99, 100]

/** The figures of a block by its own data. */
async function expectedOf(number: number) {
  const { result: block } = await service.call('eth_getBlockByNumber', [quantity(number), false])
  const { result: receipts } = await service.call('eth_getBlockReceipts', [quantity(number)])
  const baseFee = BigInt(block.baseFeePerGas ?? 0)
  const tips = (receipts as Record<string, string>[])
    .map(({ effectiveGasPrice, gasUsed }) => ({
      tip: BigInt(effectiveGasPrice ?? 0) - baseFee,
      gas: Number(gasUsed),
    }))
    .sort((a, b) => Number(a.tip - b.tip))
  const reward = percentiles.map((percentile) => {
    const threshold = Math.floor((Number(block.gasUsed) * percentile) / 100)
    let sum = 0
    const found = tips.find(({ gas }) => {
      sum += gas
      return sum >= threshold
    })
    return quantity((found ?? tips.at(-1))?.tip ?? 0n)
  })
  const blob = receipts.find(({ blobGasPrice }: { blobGasPrice?: string }) => blobGasPrice !== undefined)
  return { baseFee, reward, ratio: Number(block.gasUsed) / Number(block.gasLimit), blob: blob?.blobGasPrice }
}

t.test('every block of the chain is told as its receipts have it', async (t) => {
  const { result } = await service.call(method, [1_024, 'latest', percentiles])
  t.equal(result.oldestBlock, '0x0')
  t.equal(result.baseFeePerGas.length, headBlock.number + 2)
  t.equal(result.baseFeePerBlobGas.length, headBlock.number + 2)
  let blobs = 0
  for (let number = 0; number <= headBlock.number; number++) {
    const { baseFee, reward, ratio, blob } = await expectedOf(number)
    t.equal(result.baseFeePerGas[number], quantity(baseFee))
    t.strictSame(result.reward[number], reward, `block ${number}`)
    t.equal(result.gasUsedRatio[number], ratio)
    if (blob === undefined) continue
    blobs++
    t.equal(result.baseFeePerBlobGas[number], blob)
    t.ok(result.blobGasUsedRatio[number] > 0 && result.blobGasUsedRatio[number] <= 1)
  }
  t.ok(blobs > 3)
  t.equal(result.baseFeePerGas.at(-1), (await service.call('eth_baseFee')).result)
})

t.test('a range ends where it is told to, and begins at genesis', async (t) => {
  const london = forkBlock('london')
  const whole = (await service.call(method, ['0x400', 'latest', []])).result
  for (const [count, newest, number] of [
    ['0x5', quantity(london), london],
    ['5', quantity(london - 1), london - 1],
    [5, '0x2', 2],
    ['0x1', 'earliest', 0],
  ] as const) {
    const { result } = await service.call(method, [count, newest])
    const first = Math.max(number + 1 - Number(count), 0)
    t.equal(result.oldestBlock, quantity(first))
    t.notOk('reward' in result)
    t.strictSame(result.baseFeePerGas, whole.baseFeePerGas.slice(first, number + 2))
    t.strictSame(result.gasUsedRatio, whole.gasUsedRatio.slice(first, number + 1))
    t.strictSame(Object.keys(result), [
      'oldestBlock',
      'baseFeePerGas',
      'gasUsedRatio',
      'baseFeePerBlobGas',
      'blobGasUsedRatio',
    ])
  }
})

t.test('the pending block comes after the head, and is empty', async (t) => {
  const { result } = await service.call(method, ['0x2', 'pending', [50]])
  t.equal(result.oldestBlock, quantity(headBlock.number))
  t.equal(result.reward[1][0], '0x0')
  t.equal(result.gasUsedRatio[1], 0)
  t.equal(result.baseFeePerGas[1], (await service.call('eth_baseFee')).result)
})

t.test('no blocks are no range', async (t) => {
  for (const count of ['0x0', 0, '']) {
    // Asked as text, because the percentile is none that the method declares.
    const params = [count, '0xffff', [200]]
    const { text } = await service.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    t.strictSame(JSON.parse(text).result, { oldestBlock: '0x0', gasUsedRatio: null })
  }
})

t.test('wrong parameters are refused', async (t) => {
  const count = (value: unknown, got: string): ErrorCase => [
    [value, 'latest', []],
    -32602,
    `invalid argument 0: want a hex or decimal integer, got ${got}`,
  ]
  const list = (value: unknown, got: string): ErrorCase => [
    ['0x1', 'latest', value],
    -32602,
    `invalid argument 2: want an array of numbers, got ${got}`,
  ]
  await checkRefusals(t, service, method, [
    ...countRefusals(['0x1', 'latest', []], 2),
    ...blockRefusals(1, (block) => ['0x1', block, []]),
    count(-1, 'another'),
    count(1.5, 'another'),
    count('0x', 'another'),
    count('x', 'another'),
    count(true, 'boolean'),
    list('50', 'string'),
    list([50, '60'], 'string in it'),
    [['0x1', 'latest', [101]], -32000, 'invalid reward percentile: 101.000000'],
    [['0x1', 'latest', [-1]], -32000, 'invalid reward percentile: -1.000000'],
    [['0x1', 'latest', [50, 20]], -32000, 'invalid reward percentile: #0:50.000000 >= #1:20.000000'],
    [
      ['0x1', 'latest', Array.from({ length: 101 }, (_, at) => at / 2)],
      -32000,
      'invalid reward percentile: over the query limit 100',
    ],
    [['0x1', '0x111', []], -32000, 'request beyond head block: requested 273, head 264'],
  ])
})
