import t from 'tap'
import { blocks, examples, headBlock, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals } from '../../rpc/questions.js'
import { expectedTransaction } from '../../rpc/transactionOracle.js'
import { startService } from '../../service/service.js'

const method = 'eth_getTransactionByHash'
const service = await startService()
t.teardown(() => service.stop())

t.test('every transaction is the one of the chain file', async (t) => {
  const places = blocks.flatMap((block) =>
    block.transactions.map(({ hash }, index) => ({ block, hash, index })),
  )
  const answers = await askResults(
    service,
    places.map(({ hash }) => [method, [hash]]),
  )
  t.equal(places.length, examples.totalTransactions)
  for (const [at, { block, index }] of places.entries()) {
    t.strictSame(answers[at], expectedTransaction(block, index))
  }
})

t.test('what is not the hash of a transaction of the chain has none', async (t) => {
  for (const hash of [unknownHash, examples.genesisHash, headBlock.hash]) {
    t.strictSame(await service.call(method, [hash]), { jsonrpc: '2.0', id: 1, result: null })
  }
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [...countRefusals([unknownHash]), ...hashRefusals([])])
})
