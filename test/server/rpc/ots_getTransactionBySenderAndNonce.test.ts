import t from 'tap'
import { examples } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

t.test('a hash is that of the transaction with this sender and nonce', async (t) => {
  for (const { address } of examples.accounts) {
    for (const nonce of [0, 3, 10_000]) {
      const quantity = `0x${nonce.toString(16)}`
      const { result } = await service.call('eth_getTransactionBySenderAndNonce', [address, quantity])
      const hash = result?.hash ?? null
      t.equal((await service.call('ots_getTransactionBySenderAndNonce', [address, nonce])).result, hash)
      t.equal((await service.call('ots_getTransactionBySenderAndNonce', [address, quantity])).result, hash)
    }
  }
  const { error } = await service.call('ots_getTransactionBySenderAndNonce', [
    examples.accounts[0]?.address,
    1.5,
  ])
  t.match(error, { code: -32602, message: /want a nonce from 0 to/ })
})
