import t from 'tap'
import { blocks, examples, headBlock, quantity, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getTransactionReceipt'
const service = await startService()
t.teardown(() => service.stop())

t.test('every receipt is the element of its block', async (t) => {
  const rich = blocks.filter(({ transactions }) => transactions.length > 0)
  const lists = await askResults(
    service,
    rich.map(({ number }) => ['eth_getBlockReceipts', [quantity(number)]]),
  )
  for (const [at, { transactions }] of rich.entries()) {
    const answers = await askResults(
      service,
      transactions.map(({ hash }) => [method, [hash]]),
    )
    t.equal(JSON.stringify(answers), JSON.stringify(lists[at]))
  }
})

t.test('members stand in the order of their names', async (t) => {
  for (const { hash } of examples.transactions) {
    const names = Object.keys((await service.call(method, [hash])).result)
    t.strictSame(names, [...names].sort())
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
