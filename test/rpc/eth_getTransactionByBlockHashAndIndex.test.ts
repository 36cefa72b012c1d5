import t from 'tap'
import { startService } from '../service.js'
import { findBadHex } from './blockOracle.js'
import type { Json } from './demoChain.js'
import { blockAt, blocks, examples, headBlock, quantity, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals, indexRefusals } from './questions.js'
import { expectedTransaction } from './transactionOracle.js'

const method = 'eth_getTransactionByBlockHashAndIndex'
const service = await startService()
t.teardown(() => service.stop())

t.test('every transaction of every block is the one of the chain file', async (t) => {
  const places = blocks.flatMap((block) => block.transactions.map((_, index) => ({ block, index })))
  t.equal(places.length, examples.totalTransactions)
  const answers = await askResults(
    service,
    places.map(({ block: { hash }, index }) => [method, [hash, quantity(index)]]),
  )
  for (const [at, { block, index }] of places.entries()) {
    t.strictSame(
      answers[at],
      expectedTransaction(block, index),
      `block ${block.number}, transaction ${index}`,
    )
  }
  t.strictSame(findBadHex(answers), [])
})

t.test('a transaction is the element of its block', async (t) => {
  const rich = blocks.filter(({ transactions }) => transactions.length > 0)
  const full = await askResults(
    service,
    rich.map(({ number }) => ['eth_getBlockByNumber', [quantity(number), true]]),
  )
  for (const [at, block] of rich.entries()) {
    const last = block.transactions.length - 1
    const { hash } = block
    const { result } = await service.call(method, [hash, quantity(last)])
    t.strictSame(result, (full[at] as { transactions: Json[] }).transactions[last])
  }
})

t.test('an index beyond the last transaction is null', async (t) => {
  const { hash, transactions } = blockAt(250)
  for (const index of [
    quantity(transactions.length),
    '0x7fffffff',
    '0x20000000000000',
    '0xffffffffffffffff',
  ]) {
    t.strictSame(await service.call(method, [hash, index]), { jsonrpc: '2.0', id: 1, result: null })
  }
})

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
