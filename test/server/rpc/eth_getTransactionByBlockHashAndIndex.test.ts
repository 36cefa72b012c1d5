import t from 'tap'
import { examples, headBlock, unknownHash } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals, hashRefusals, indexRefusals } from '../../rpc/questions.js'
import { testTransactionsByIndex } from '../../rpc/transactionsByIndex.js'
import { startService } from '../../service/service.js'

const method = 'eth_getTransactionByBlockHashAndIndex'
const service = await startService()
t.teardown(() => service.stop())

testTransactionsByIndex(service, method, ({ hash }) => hash)

t.test('an unknown hash, genesis and a transaction hash have none', async (t) => {
  const [transaction] = examples.transactions
  for (const hash of [unknownHash, examples.genesisHash, transaction?.hash]) {
    t.equal((await service.call(method, [hash, '0x0'])).result, null)
  }
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals([headBlock.hash, '0x0']),
    ...hashRefusals(['0x0']),
    ...indexRefusals(headBlock.hash),
  ])
})
