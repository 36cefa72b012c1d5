import t from 'tap'
import { blockAt, headBlock, quantity, unknownHash } from '../../rpc/demoChain.js'
import {
  askResults,
  blockRefusals,
  checkRefusals,
  countRefusals,
  indexRefusals,
} from '../../rpc/questions.js'
import { expectedTransaction } from '../../rpc/transactionOracle.js'
import { testTransactionsByIndex } from '../../rpc/transactionsByIndex.js'
import { startService } from '../../service/service.js'

const method = 'eth_getTransactionByBlockNumberAndIndex'
const service = await startService()
t.teardown(() => service.stop())

testTransactionsByIndex(service, method, ({ number }) => quantity(number))

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
