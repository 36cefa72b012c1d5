import t from 'tap'
import { startService } from '../service.js'
import { findBadHex } from './blockOracle.js'
import type { Json } from './demoChain.js'
import { blockAt, blocks, examples, headBlock, quantity, unknownHash } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals, indexRefusals } from './questions.js'
import { expectedTransaction } from './transactionOracle.js'

const method = 'eth_getTransactionByBlockNumberAndIndex'
const service = await startService()
t.teardown(() => service.stop())

t.test('every transaction of every block is the one of the chain file', async (t) => {
  const places = blocks.flatMap((block) => block.transactions.map((_, index) => ({ block, index })))
  t.equal(places.length, examples.totalTransactions)
  const answers = await askResults(
    service,
    places.map(({ block: { number }, index }) => [method, [quantity(number), quantity(index)]]),
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
    const { number } = block
    const { result } = await service.call(method, [quantity(number), quantity(last)])
    t.strictSame(result, (full[at] as { transactions: Json[] }).transactions[last])
  }
})

t.test('tags name blocks by their role', async (t) => {
  const expected = headBlock.transactions.length === 0 ? null : expectedTransaction(headBlock, 0)
  for (const tag of ['latest', 'safe', 'finalized', { blockNumber: 'latest' }]) {
    t.strictSame((await service.call(method, [tag, '0x0'])).result, expected, JSON.stringify(tag))
  }
})

t.test('a block may be named by an object (EIP-1898)', async (t) => {
  const { hash, number } = blockAt(250)
  const answers = await askResults(service, [
    [method, [{ blockNumber: quantity(number) }, '0x0']],
    [method, [{ blockHash: hash }, '0x0']],
    [method, [{ blockHash: hash, requireCanonical: true }, '0x0']],
  ])
  for (const answer of answers) t.strictSame(answer, expectedTransaction(blockAt(250), 0))
})

t.test('an index beyond the last transaction is null', async (t) => {
  const { number, transactions } = blockAt(250)
  for (const index of [
    quantity(transactions.length),
    '0x7fffffff',
    '0x20000000000000',
    '0xffffffffffffffff',
  ]) {
    t.strictSame(await service.call(method, [quantity(number), index]), {
      jsonrpc: '2.0',
      id: 1,
      result: null,
    })
  }
})

t.test('genesis, unknown blocks and the pending block have none', async (t) => {
  const names = [
    ...['earliest', 'pending', { blockNumber: 'pending' }],
    quantity(headBlock.number + 1),
    '0x7fffffffffffffff',
    { blockHash: unknownHash },
    { blockHash: unknownHash, requireCanonical: true },
  ]
  for (const name of names) t.equal((await service.call(method, [name, '0x0'])).result, null, String(name))
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals(['latest', '0x0']),
    ...blockRefusals(0, (block) => [block, '0x0']),
    ...indexRefusals('latest'),
  ])
})
