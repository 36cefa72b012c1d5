import t from 'tap'
import { checkRefusals } from '../../rpc/questions.js'
import { ada, owner, poor, startSigners, unknownElsewhere, unknownHere, walletOf } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

const method = 'personal_sign'

t.test('viem has messages signed', async (t) => {
  const service = await startSigners(t)
  const wallet = walletOf(service, owner.address)
  for (const message of ['hello ✓', { raw: '0x' as const }, { raw: `0x${'ff'.repeat(100)}` as const }]) {
    t.equal(await wallet.signMessage({ message }), await owner.signMessage({ message }))
  }
  await checkRefusals(t, service, method, [
    [['0x12', poor.address], -32000, unknownHere(poor.address)],
    [[poor.address, '0x12'], -32602, 'invalid argument 1: hex string has length 2, want 40 for address'],
  ])
})

t.test('elsewhere nothing is signed, with a password neither', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [[['0x12', ada, 'password'], -32000, unknownElsewhere(ada)]])
})
