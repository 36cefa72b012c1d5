import t from 'tap'
import { expectedUncle, findBadHex, hashOfBlockJson } from '../../rpc/blockOracle.js'
import type { Json } from '../../rpc/demoChain.js'
import {
  blockAt,
  blocks,
  examples,
  genesis,
  headBlock,
  integer,
  quantity,
  unknownHash,
} from '../../rpc/demoChain.js'
import {
  askResults,
  blockRefusals,
  checkRefusals,
  countRefusals,
  indexRefusals,
} from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getUncleByBlockNumberAndIndex'
const service = await startService()
t.teardown(() => service.stop())

const nephews = blocks.filter(({ uncles }) => uncles.length > 0)
const nephew = nephews[0] ?? headBlock

function totalDifficultyAt(number: number): bigint {
  return number === 0 ? BigInt(genesis.difficulty) : blockAt(number).totalDifficulty
}

t.test('every uncle of every block is the one of the chain file', async (t) => {
  const places = nephews.flatMap(({ number, uncles }) =>
    uncles.map((header, index) => ({ number, header, index })),
  )
  const answers = await askResults(
    service,
    places.map(({ number, index }) => [method, [quantity(number), quantity(index)]]),
  )
  for (const [at, { header, number, index }] of places.entries()) {
    const uncle = answers[at] as Json
    const parent = Number(integer(header[8] as Uint8Array)) - 1
    t.strictSame(uncle, expectedUncle(header, totalDifficultyAt(parent)), `block ${number}, uncle ${index}`)
    t.equal(hashOfBlockJson(uncle), uncle.hash)
    t.notOk('transactions' in uncle)
    t.strictSame(findBadHex(uncle), [])
  }
  t.equal(
    places.length,
    examples.blocks.reduce((sum, { uncles }) => sum + uncles, 0),
    'as many as the examples count',
  )
  t.ok(nephews.some(({ uncles }) => uncles.length === 2))
})

t.test('an uncle has the hash under which its block names it', async (t) => {
  for (const { number, uncles } of nephews) {
    const { result: block } = await service.call('eth_getBlockByNumber', [quantity(number), false])
    t.equal(block.uncles.length, uncles.length)
    for (const [index, hash] of block.uncles.entries()) {
      t.equal((await service.call(method, [quantity(number), quantity(index)])).result.hash, hash)
    }
  }
})

t.test('a block may be named by an object (EIP-1898)', async (t) => {
  const { number, hash } = nephew
  const [byNumber, ...others] = await askResults(service, [
    [method, [quantity(number), '0x0']],
    [method, [{ blockNumber: quantity(number) }, '0x0']],
    [method, [{ blockHash: hash }, '0x0']],
    [method, [{ blockHash: hash, requireCanonical: true }, '0x0']],
  ])
  for (const other of others) t.strictSame(other, byNumber)
})

t.test('an index beyond the last uncle is null', async (t) => {
  const { number, uncles } = nephew
  for (const index of [quantity(uncles.length), '0x7fffffff', '0x20000000000000', '0xffffffffffffffff']) {
    t.strictSame(await service.call(method, [quantity(number), index]), {
      jsonrpc: '2.0',
      id: 1,
      result: null,
    })
  }
})

t.test('blocks without uncles, unknown blocks and the pending block have none', async (t) => {
  const names = [
    ...['latest', 'earliest', 'pending', 'safe', 'finalized', '0x0'],
    quantity(headBlock.number),
    quantity(headBlock.number + 1),
    '0x7fffffffffffffff',
    { blockHash: unknownHash },
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
