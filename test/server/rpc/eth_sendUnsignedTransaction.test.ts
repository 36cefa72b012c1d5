import t from 'tap'
import { checkRefusals } from '../../rpc/questions.js'
import { ada, other, startSigners, stranger, unknownElsewhere } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

const method = 'eth_sendUnsignedTransaction'

t.test('a transaction of any account is sent without its key', async (t) => {
  const service = await startSigners(t)
  await service.call('anvil_setBalance', [stranger, '0xde0b6b3a7640000'])
  const sent = await service.call(method, [{ from: stranger, to: other.address, value: '0x5' }])
  t.match(await service.call('eth_getTransactionReceipt', [sent.result]), {
    result: { status: '0x1', from: stranger, to: other.address.toLowerCase() },
  })
  t.match(await service.call('eth_getTransactionCount', [stranger, 'latest']), { result: '0x1' })
  await checkRefusals(t, service, method, [
    [[{ to: ada }], -32602, 'invalid argument 0: missing "from", the account that signs'],
  ])
})

t.test('elsewhere none is', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [[[{ from: ada, to: ada }], -32000, unknownElsewhere(ada)]])
})
