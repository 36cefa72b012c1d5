import t from 'tap'
import { expectedBlock, hashOfBlockJson } from '../../rpc/blockOracle.js'
import type { Json } from '../../rpc/demoChain.js'
import { blockAt, blocks, examples, headBlock, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getBlockByHash'
const service = await startService()
t.teardown(() => service.stop())

t.test('every block is the one of the chain file, with full transactions and with hashes', async (t) => {
  for (const isFull of [true, false]) {
    const answers = await askResults(
      service,
      blocks.map(({ hash }) => [method, [hash, isFull]]),
    )
    for (const [index, block] of blocks.entries()) {
      t.strictSame(answers[index], expectedBlock(block, isFull), `block ${block.number}`)
    }
  }
})

t.test('hashes alone are those of the full transactions', async (t) => {
  const { hash } = blockAt(250)
  const [full, bare] = await askResults(service, [
    [method, [hash, true]],
    [method, [hash, false]],
  ])
  t.strictSame(
    bare.transactions,
    full.transactions.map((each: Json) => each.hash),
  )
  t.strictSame({ ...full, transactions: [] }, { ...bare, transactions: [] })
})

t.test('genesis is known by its hash', async (t) => {
  const { result } = await service.call(method, [examples.genesisHash, true])
  t.equal(hashOfBlockJson(result), examples.genesisHash)
  t.strictSame(result, (await service.call('eth_getBlockByNumber', ['0x0', true])).result)
})

t.test('a hash may be written in upper case', async (t) => {
  const shouted = `0X${headBlock.hash.slice(2).toUpperCase()}`
  t.strictSame((await service.call(method, [shouted, false])).result, expectedBlock(headBlock, false))
})

t.test('an unknown hash, a state root and a transaction hash are null', async (t) => {
  const [transaction] = examples.transactions
  for (const hash of [unknownHash, examples.head.stateRoot, transaction?.hash]) {
    t.strictSame(await service.call(method, [hash, false]), { jsonrpc: '2.0', id: 1, result: null })
  }
})

t.test('an uncle is no block of the chain', async (t) => {
  const example = examples.blocks.find(({ uncles }) => uncles > 0)
  const { result } = await service.call('eth_getBlockByNumber', [`0x${example?.number.toString(16)}`, false])
  t.ok(result.uncles.length > 0)
  for (const hash of result.uncles) t.equal((await service.call(method, [hash, false])).result, null)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals([headBlock.hash, false]),
    ...hashRefusals([false]),
    [[headBlock.hash, 1], -32602, 'invalid argument 1: want a boolean, got number'],
    [[headBlock.hash, 'false'], -32602, 'invalid argument 1: want a boolean, got string'],
  ])
})
