import { Wallet } from 'ethers'
import t from 'tap'
import { addressOf, examples, quantity } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'trace_rawTransaction'
const service = await startService()
t.teardown(() => service.stop())
const [ada] = examples.accounts
const wallet = new Wallet(ada?.privateKey ?? '')
const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1, gasLimit: 21_000 }
const plan = { type: 2, chainId: examples.chainId, to: addressOf('bea'), value: 7, ...fees }

t.test('a signed transaction does what its message does, whatever its nonce', async (t) => {
  const message = {
    from: wallet.address,
    to: plan.to,
    value: '0x7',
    gas: '0x5208',
    maxFeePerGas: quantity(fees.maxFeePerGas),
    maxPriorityFeePerGas: '0x1',
  }
  const types = ['trace', 'stateDiff', 'vmTrace']
  for (const nonce of [0, ada?.nonce ?? 0, 10_000]) {
    const [raw, called] = await askResults(service, [
      [method, [await wallet.signTransaction({ ...plan, nonce }), types]],
      ['trace_call', [message, types]],
    ])
    t.strictSame(raw, called)
  }
  const older = await wallet.signTransaction({ ...plan, nonce: 0 })
  const [[replay], [same]] = [
    await askResults(service, [[method, [older, types, '0xc8']]]),
    await askResults(service, [['trace_call', [message, types, '0xc8']]]),
  ]
  t.strictSame(replay, same)
})

t.test('what no block can contain is refused', async (t) => {
  const other = await wallet.signTransaction({ ...plan, nonce: 0, chainId: 1 })
  await checkRefusals(t, service, method, [
    [['0x', ['trace']], -32000, 'typed transaction too short'],
    [
      [other, ['trace']],
      -32000,
      `invalid sender: invalid chain id for signer: have 1 want ${examples.chainId}`,
    ],
    [[other], -32602, 'missing value for required argument 1'],
  ])
})
