import t from 'tap'
import { blocks, unknownHash } from '../../rpc/demoChain.js'
import { nestedCalls } from '../../rpc/otterscanCalls.js'
import { startService } from '../../service/service.js'

const method = 'ots_getTransactionError'
const service = await startService()
t.teardown(() => service.stop())

t.test('a reverted transaction has its data, every other one none', async (t) => {
  let reverted = 0
  let otherwise = 0
  for (const { transactions } of blocks) {
    for (const { hash } of transactions.slice(0, 2)) {
      const { error, output = '0x' } = await nestedCalls(service, hash)
      const isReverted = error === 'execution reverted'
      if (isReverted && output !== '0x') reverted++
      else if (error !== undefined) otherwise++
      t.equal((await service.call(method, [hash])).result, isReverted ? output : '0x', hash)
    }
  }
  t.ok(reverted > 0)
  t.ok(otherwise > 0)
})

t.test('a transaction that the chain does not have is null', async (t) => {
  t.equal((await service.call(method, [unknownHash])).result, null)
})
