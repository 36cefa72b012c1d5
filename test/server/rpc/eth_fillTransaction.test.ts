import { Transaction } from 'ethers'
import t from 'tap'
import { addressOf, examples, type Json } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_fillTransaction'
const service = await startService()
t.teardown(() => service.stop())
const bea = addressOf('bea')
const cal = addressOf('cal')
const tide = addressOf('Tide')
const blobs = { blobVersionedHashes: [`0x01${'11'.repeat(31)}`] }
const authorization = {
  chainId: '0x1',
  address: tide,
  nonce: '0x0',
  yParity: '0x0',
  r: `0x${'1'.repeat(64)}`,
  s: `0x${'2'.repeat(63)}`,
}

t.test('the bytes are the transaction, and what was missing comes from other methods', async (t) => {
  const call = { from: bea, to: cal, value: '0x1' }
  const accessList = [{ address: tide, storageKeys: [`0x${'0'.repeat(64)}`] }]
  const asked: Json[] = [
    call,
    { ...call, gasPrice: '0x3b9aca00' },
    { ...call, maxFeePerGas: '0x77359400ff' },
    { ...call, maxPriorityFeePerGas: '0x5' },
    { ...call, accessList },
    { ...call, accessList, gasPrice: '0x3b9aca00', type: '0x1' },
    { ...call, ...blobs },
    { ...call, authorizationList: [authorization], gas: '0x186a0' },
    { from: bea, data: '0x600160005260206000f3' },
    { ...call, nonce: '0x999', gas: '0x5300' },
  ]
  const [tip, nonce, head] = await askResults(service, [
    ['eth_maxPriorityFeePerGas', []],
    ['eth_getTransactionCount', [bea, 'pending']],
    ['eth_getBlockByNumber', ['latest', false]],
  ])
  for (const each of asked) {
    const [{ raw, tx }] = await askResults(service, [[method, [each]]])
    const { gas: _, ...whole } = tx
    t.match(whole, {
      ...each,
      ...(each.gas === undefined ? {} : { gas: undefined }),
      from: undefined,
      data: undefined,
    })
    t.equal(tx.nonce, each.nonce ?? nonce)
    t.equal(tx.input, each.data ?? '0x')
    if (each.gasPrice === undefined) {
      t.equal(tx.maxPriorityFeePerGas, each.maxPriorityFeePerGas ?? tip)
      const most = BigInt(tx.maxPriorityFeePerGas) + 2n * BigInt(head.baseFeePerGas)
      t.equal(BigInt(tx.maxFeePerGas), BigInt((each.maxFeePerGas as string) ?? most))
    }
    const priced = { ...each, ...(each.gasPrice ? {} : { maxFeePerGas: tx.maxFeePerGas }) }
    const [estimate] = await askResults(service, [
      ['eth_estimateGas', [{ ...priced, nonce: undefined }, 'latest']],
    ])
    t.equal(tx.gas, each.gas ?? estimate)
    // The library refuses a signature of zeros, except in legacy transactions, where it is absent.
    if (tx.type !== '0x0') continue
    t.equal(tx.chainId, undefined)
    const own = Transaction.from({
      type: 0,
      nonce: Number(tx.nonce),
      to: tx.to,
      value: tx.value,
      gasPrice: tx.gasPrice,
      gasLimit: tx.gas,
    })
    t.equal(raw.slice(4, -6), own.unsignedSerialized.slice(4))
  }
})

t.test('what no transaction can be is refused', async (t) => {
  await checkRefusals(t, service, method, [
    [[{ from: bea }], -32000, 'contract creation without any data provided'],
    [
      [{ from: bea, to: cal, data: '0x01', input: '0x02' }],
      -32000,
      'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
    ],
    [
      [{ from: bea, to: cal, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' }],
      -32000,
      'maxFeePerGas (0x1) < maxPriorityFeePerGas (0x2)',
    ],
    [[{ from: bea, to: cal, blobVersionedHashes: [] }], -32000, 'need at least 1 blob in transaction'],
    ...[7, 10].map(
      (count) =>
        [
          [{ from: bea, to: cal, blobVersionedHashes: Array(count).fill(blobs.blobVersionedHashes[0]) }],
          -32000,
          `too many blobs in transaction (have=${count}, max=6)`,
        ] as const,
    ),
    [[{ from: bea, data: '0x00', ...blobs }], -32000, 'missing "to" in blob transaction'],
    [
      [{ from: bea, data: '0x00', authorizationList: [authorization] }],
      -32000,
      'missing "to" in set code transaction',
    ],
    [[{ from: bea, to: cal, gasPrice: '0x0' }], -32000, 'gasPrice must be non-zero after london fork'],
    [
      [{ from: bea, to: cal, chainId: '0x1' }],
      -32000,
      `chainId does not match node's (have=1, want=${examples.chainId})`,
    ],
  ])
})
