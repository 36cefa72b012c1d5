import t from 'tap'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { ada, owner, poor, startSigners, unknownElsewhere, unknownHere } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

const method = 'eth_sign'

t.test('the signature is the one that viem makes of the same key', async (t) => {
  const service = await startSigners(t)
  for (const raw of ['0x', '0x68656c6c6f', `0x${'ff'.repeat(100)}`] as const) {
    const [signature] = await askResults(service, [[method, [owner.address, raw]]])
    t.equal(signature, await owner.signMessage({ message: { raw } }))
  }
  await checkRefusals(t, service, method, [
    [[poor.address, '0x12'], -32000, unknownHere(poor.address)],
    [['0x12', '0x12'], -32602, 'invalid argument 0: hex string has length 2, want 40 for address'],
    [[owner.address], -32602, 'missing value for required argument 1'],
  ])
})

t.test('elsewhere nothing is signed', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [[[ada, '0x12'], -32000, unknownElsewhere(ada)]])
})
