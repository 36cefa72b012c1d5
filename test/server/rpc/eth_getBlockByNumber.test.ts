import t from 'tap'
import { blockMembers, expectedBlock, findBadHex, hashOfBlockJson } from '../../rpc/blockOracle.js'
import type { Json } from '../../rpc/demoChain.js'
import {
  blockAt,
  blocks,
  examples,
  forkBlock,
  headBlock,
  keccak,
  quantity,
  unknownHash,
} from '../../rpc/demoChain.js'
import { askAll, askResults, blockRefusals, checkRefusals, countRefusals } from '../../rpc/questions.js'
import { bytesOfTransactionJson, recoverSender } from '../../rpc/transactionOracle.js'
import { startService } from '../../service/service.js'

const method = 'eth_getBlockByNumber'
const service = await startService()
t.teardown(() => service.stop())

const numbers = Array.from({ length: headBlock.number + 1 }, (_, number) => number)
const [full, bare] = (await Promise.all(
  [true, false].map((isFull) =>
    askResults(
      service,
      numbers.map((number) => [method, [quantity(number), isFull]]),
    ),
  ),
)) as [Json[], Json[]]

async function ask(block: unknown, isFull = false) {
  const { result, error } = await service.call(method, [block, isFull])
  if (error) throw new Error(JSON.stringify(error))
  return result
}

t.test('every block is the one of the chain file, with full transactions and with hashes', async (t) => {
  for (const block of blocks) {
    t.strictSame(full[block.number], expectedBlock(block, true), `block ${block.number}, full`)
    t.strictSame(bare[block.number], expectedBlock(block, false), `block ${block.number}`)
  }
})

t.test('the header of every block has the stated hash', async (t) => {
  t.equal(full[0]?.hash, examples.genesisHash)
  t.equal(full.at(-1)?.hash, examples.head.hash)
  for (const block of full) t.equal(hashOfBlockJson(block), block.hash, `block ${block.number}`)
})

t.test('genesis names no transactions, uncles or miner', async (t) => {
  t.match(full[0], { number: '0x0', transactions: [], uncles: [], totalDifficulty: full[0]?.difficulty })
  t.strictSame(full[0], bare[0])
})

t.test('every transaction has the stated hash, and the stated sender signed it', async (t) => {
  let count = 0
  for (const block of full) {
    for (const transaction of block.transactions as Json[]) {
      const bytes = bytesOfTransactionJson(transaction)
      t.equal(keccak(bytes), transaction.hash)
      t.equal(recoverSender(bytes, Number(block.number)), transaction.from)
      count++
    }
  }
  t.equal(count, examples.totalTransactions)
})

t.test('members are those of the fork, no more and no less', async (t) => {
  for (const [number, block] of full.entries()) {
    t.strictSame(Object.keys(block).sort(), blockMembers(number), `block ${number}`)
    t.strictSame(Object.keys(bare[number] as Json).sort(), blockMembers(number))
  }
})

t.test('all hex is lower-case, without leading zeros in quantities', async (t) => {
  t.strictSame(
    [full, bare].flatMap((block) => findBadHex(block)),
    [],
  )
})

t.test('total difficulty grows by each difficulty and stays after the Merge', async (t) => {
  let total = 0n
  for (const block of full) {
    total += BigInt(block.difficulty as string)
    t.equal(BigInt(block.totalDifficulty as string), total)
  }
  t.equal(quantity(total), examples.totalDifficulty)
})

t.test('examples: counts of transactions, uncles and withdrawals', async (t) => {
  for (const example of examples.blocks) {
    const block = full[example.number] as Json
    t.equal(block.hash, example.hash)
    t.equal(Number(block.timestamp), example.timestamp)
    t.equal((block.transactions as unknown[]).length, example.transactions)
    t.equal((block.uncles as unknown[]).length, example.uncles)
    t.equal(((block.withdrawals ?? []) as unknown[]).length, example.withdrawals)
  }
})

t.test('tags name blocks by their role', async (t) => {
  t.strictSame(await ask('earliest'), bare[0])
  for (const tag of ['latest', 'safe', 'finalized']) {
    t.strictSame(await ask(tag), bare.at(-1), tag)
    t.strictSame(await ask(tag, true), full.at(-1), tag)
  }
})

t.test('an object names a block by number, tag or hash (EIP-1898)', async (t) => {
  const { hash, number } = blockAt(12)
  t.strictSame(await ask({ blockNumber: quantity(number) }), bare[number])
  t.strictSame(await ask({ blockNumber: 'latest' }), bare.at(-1))
  t.strictSame(await ask({ blockNumber: 'earliest' }), bare[0])
  t.strictSame(await ask({ blockHash: hash }), bare[number])
  t.strictSame(await ask({ blockHash: hash, requireCanonical: false }), bare[number])
  t.strictSame(await ask({ blockHash: hash, requireCanonical: true }, true), full[number])
  t.strictSame(await ask({ blockHash: hash, requireCanonical: null, blockNumber: null }), bare[number])
  t.strictSame(await ask({ blockHash: hash.toUpperCase().replace('X', 'x') }), bare[number])
})

t.test('digits and prefix may be upper-case', async (t) => {
  t.strictSame(await ask('0xA'), bare[10])
  t.strictSame(await ask('0Xa'), bare[10])
})

t.test('a block that does not exist is null, also with requireCanonical', async (t) => {
  const absent = [
    quantity(headBlock.number + 1),
    '0x1fffffffffffff',
    '0x20000000000000',
    '0x7fffffffffffffff',
    { blockNumber: quantity(headBlock.number + 1) },
    { blockHash: unknownHash },
    { blockHash: unknownHash, requireCanonical: true },
  ]
  for (const block of absent) t.equal(await ask(block), null, JSON.stringify(block))
})

t.test('the pending block is empty, on top of the head, and has null where nothing is decided', async (t) => {
  const head = full.at(-1) as Json
  const pending = await ask('pending')
  t.strictSame(Object.keys(pending).sort(), blockMembers(headBlock.number + 1))
  for (const name of ['hash', 'logsBloom', 'nonce', 'number']) t.equal(pending[name], null, name)
  t.match(pending, {
    parentHash: head.hash,
    stateRoot: head.stateRoot,
    gasLimit: head.gasLimit,
    gasUsed: '0x0',
    difficulty: '0x0',
    totalDifficulty: head.totalDifficulty,
    transactions: [],
    uncles: [],
    withdrawals: [],
  })
  t.ok(BigInt(pending.timestamp) > BigInt(head.timestamp as string))
  t.strictSame(findBadHex(pending), [])
  t.strictSame(await ask('pending', true), pending)
  t.strictSame(await ask({ blockNumber: 'pending' }), pending)
})

t.test('the pending block has the base fee that the head dictates (EIP-1559)', async (t) => {
  const head = full.at(-1) as Record<string, string>
  const target = BigInt(head.gasLimit as string) / 2n
  const used = BigInt(head.gasUsed as string)
  const fee = BigInt(head.baseFeePerGas as string)
  const change = (fee * (used > target ? used - target : target - used)) / target / 8n
  const next = used > target ? fee + (change > 1n ? change : 1n) : fee - change
  t.equal((await ask('pending')).baseFeePerGas, quantity(next))
})

t.test('a block of a fork is the first with its members', async (t) => {
  for (const [fork, name] of [
    ['london', 'baseFeePerGas'],
    ['shanghai', 'withdrawals'],
    ['cancun', 'blobGasUsed'],
    ['prague', 'requestsHash'],
  ] as const) {
    const first = forkBlock(fork)
    t.notOk(name in (full[first - 1] as Json), `${name} before ${fork}`)
    t.ok(name in (full[first] as Json), `${name} in ${fork}`)
  }
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals(['latest', false]),
    ...blockRefusals(0, (block) => [block, false]),
    [[0, false], -32602, 'invalid argument 0: want a block number or tag, got number'],
    [[`0x${'12'.repeat(32)}`, false], -32602, 'invalid argument 0: hex number > 64 bits'],
    [['latest', 'true'], -32602, 'invalid argument 1: want a boolean, got string'],
    [['latest', 0], -32602, 'invalid argument 1: want a boolean, got number'],
    [['latest', {}], -32602, 'invalid argument 1: want a boolean, got object'],
  ])
})

t.test('the first wrong parameter is the one that is named', async (t) => {
  const [answer] = await askAll(service, [[method, ['0x', 'x']]])
  t.equal(answer?.error?.message, 'invalid argument 0: hex string "0x"')
})
