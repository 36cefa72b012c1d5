import t from 'tap'
import { type Hex, parseTransaction, recoverTransactionAddress } from 'viem'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { ada, owner, poor, startSigners, stranger, unknownElsewhere, unknownHere } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

const method = 'eth_signTransaction'
const transfer = { from: owner.address, to: stranger, value: '0x7' }

t.test('a transaction is filled in and signed, and sent by the caller', async (t) => {
  const service = await startSigners(t)
  const [raw] = (await askResults(service, [[method, [transfer]]])) as [Hex]
  t.match(parseTransaction(raw), { to: stranger, value: 7n, chainId: 7357, gas: 21_000n })
  t.equal(await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` }), owner.address)
  t.equal((await service.call('eth_blockNumber')).result, '0x0', 'nothing is sent')
  t.match(await service.call('eth_sendRawTransaction', [raw]), { result: /^0x/ })
  t.match(await service.call('eth_getBalance', [stranger, 'latest']), { result: '0x7' })
  const [next] = (await askResults(service, [[method, [{ ...transfer, nonce: '0x9' }]]])) as [Hex]
  t.equal(parseTransaction(next).nonce, 9)
  await checkRefusals(t, service, method, [
    [[{ ...transfer, from: poor.address, gas: '0x5208' }], -32000, unknownHere(poor.address)],
    [[{ to: ada }], -32602, 'invalid argument 0: missing "from", the account that signs'],
  ])
})

t.test('elsewhere nothing is signed', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [[[{ from: ada, to: ada }], -32000, unknownElsewhere(ada)]])
})
