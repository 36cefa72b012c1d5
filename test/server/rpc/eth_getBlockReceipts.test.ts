import t from 'tap'
import { findBadHex } from '../../rpc/blockOracle.js'
import type { Json } from '../../rpc/demoChain.js'
import {
  blockAt,
  blocks,
  examples,
  forkBlock,
  headBlock,
  quantity,
  unknownHash,
} from '../../rpc/demoChain.js'
import { askResults, checkRefusals, refusalsOfBlock } from '../../rpc/questions.js'
import { bloomOf, expectedLogFrames, expectedReceiptFrame, receiptsRoot } from '../../rpc/receiptOracle.js'
import { startService } from '../../service/service.js'

const method = 'eth_getBlockReceipts'
const service = await startService()
t.teardown(() => service.stop())

type Log = Json & { readonly address: string; readonly topics: string[]; readonly data: string }
type Receipt = Json & { readonly logs: Log[] }

const receiptsOf: Receipt[][] = await askResults(
  service,
  [{ number: 0 }, ...blocks].map(({ number }) => [method, [quantity(number)]]),
)

t.test('the receipts of every block have the root that its header names', async (t) => {
  for (const block of blocks) {
    const root = `0x${Buffer.from(block.header[5] as Uint8Array).toString('hex')}`
    t.equal(await receiptsRoot(receiptsOf[block.number] as Receipt[]), root, `block ${block.number}`)
  }
})

t.test('everything else in a receipt follows from its block', async (t) => {
  let count = 0
  for (const block of blocks) {
    let cumulative = 0n
    let logIndex = 0
    const receipts = receiptsOf[block.number] as Receipt[]
    t.equal(receipts.length, block.transactions.length)
    for (const [index, receipt] of receipts.entries()) {
      const { logs, logsBloom, root, status, cumulativeGasUsed, gasUsed, ...frame } = receipt
      t.strictSame(frame, expectedReceiptFrame(block, index), `block ${block.number}, transaction ${index}`)
      t.equal(BigInt(gasUsed as string), BigInt(cumulativeGasUsed as string) - cumulative)
      cumulative = BigInt(cumulativeGasUsed as string)
      const frames = logs.map(({ address, topics, data, ...rest }) => rest)
      t.strictSame(frames, expectedLogFrames(receipt, block, logIndex))
      logIndex += logs.length
      t.equal(logsBloom, bloomOf(logs))
      const hasRoot = block.number < forkBlock('byzantium')
      t.equal('root' in receipt, hasRoot)
      t.equal('status' in receipt, !hasRoot)
      if (!hasRoot) t.ok(status === '0x0' || status === '0x1')
      count++
    }
    t.equal(cumulative, BigInt(`0x0${Buffer.from(block.header[10] as Uint8Array).toString('hex')}`))
  }
  t.equal(count, examples.totalTransactions)
})

t.test('all hex is lower-case, without leading zeros in quantities', async (t) => {
  t.strictSame(findBadHex(receiptsOf), [])
})

t.test('examples: transactions that succeed and fail', async (t) => {
  for (const { hash, block, index, type, succeeded } of examples.transactions) {
    const receipt = receiptsOf[block]?.[index]
    t.equal(receipt?.transactionHash, hash)
    t.equal(Number(receipt?.type), type)
    if (receipt?.status !== undefined) t.equal(receipt.status === '0x1', succeeded, hash)
  }
})

t.test('examples: as many logs as were written', async (t) => {
  for (const { number, logs } of examples.blocks) {
    t.equal((receiptsOf[number] ?? []).flatMap((receipt) => receipt.logs).length, logs, `block ${number}`)
  }
})

t.test('a contract that a transaction made stands at its contractAddress', async (t) => {
  const made = examples.contracts.filter(({ block, address }) =>
    receiptsOf[block]?.some((receipt) => receipt.contractAddress === address && receipt.status !== '0x0'),
  )
  t.ok(made.length >= 10, `${made.length} of the examples`)
  t.ok(made.some(({ name }) => name === 'Tide'))
})

t.test('a contract creation that fails still names the address it was meant for', async (t) => {
  const failed = receiptsOf.flat().filter(({ to, status }) => to === null && status === '0x0')
  t.ok(failed.length > 0)
  for (const { contractAddress } of failed) t.match(contractAddress, /^0x[0-9a-f]{40}$/)
})

t.test('a block without transactions has an empty list', async (t) => {
  t.strictSame(receiptsOf[0], [])
  const { number } = blocks.find(({ transactions }) => transactions.length === 0) ?? { number: 0 }
  t.strictSame(receiptsOf[number], [])
})

t.test('a block may be named by hash, hex, decimal digits and decimal number', async (t) => {
  const { hash, number } = blockAt(250)
  const names = [
    hash,
    hash.toUpperCase().replace('X', 'x'),
    quantity(number),
    number,
    String(number),
    { blockNumber: quantity(number) },
    { blockHash: hash },
    { blockHash: hash, requireCanonical: true },
  ]
  const answers = await askResults(
    service,
    names.map((name) => [method, [name]]),
  )
  for (const [index, answer] of answers.entries()) {
    t.strictSame(answer, receiptsOf[number], JSON.stringify(names[index]))
  }
})

t.test('tags name blocks by their role, and pending behaves as latest', async (t) => {
  const tags = ['latest', 'pending', 'safe', 'finalized']
  const answers = await askResults(service, [
    ...tags.map((tag) => [method, [tag]] as const),
    [method, [{ blockNumber: 'pending' }]],
    [method, ['earliest']],
    [method, [0]],
    [method, ['0']],
  ])
  for (const answer of answers.slice(0, 5)) t.strictSame(answer, receiptsOf.at(-1))
  for (const answer of answers.slice(5)) t.strictSame(answer, [])
})

t.test('a block that does not exist is null', async (t) => {
  const next = headBlock.number + 1
  const names = [
    quantity(next),
    next,
    String(next),
    '9223372036854775807',
    '0x7fffffffffffffff',
    9007199254740991,
    unknownHash,
    { blockHash: unknownHash },
    { blockHash: unknownHash, requireCanonical: true },
  ]
  const answers = await askResults(
    service,
    names.map((name) => [method, [name]]),
  )
  for (const [index, answer] of answers.entries()) t.equal(answer, null, JSON.stringify(names[index]))
})

t.test('wrong parameters are refused', async (t) => {
  const refused = (block: unknown, why: string) => [[block], -32602, `invalid argument 0: ${why}`] as const
  await checkRefusals(t, service, method, [
    ...refusalsOfBlock('number'),
    refused(-1, 'a block number is a non-negative integer'),
    refused(1.5, 'a block number is a non-negative integer'),
    refused('01', 'hex string without 0x prefix'),
    refused('-1', 'hex string without 0x prefix'),
    refused('1e3', 'hex string without 0x prefix'),
    refused('9223372036854775808', 'block number larger than int64'),
    refused('9'.repeat(60), 'block number larger than int64'),
    refused(1e300, 'block number larger than int64'),
    refused(`0x${'zz'.repeat(32)}`, 'invalid hex string'),
    refused(`0x${'12'.repeat(33)}`, 'hex number > 64 bits'),
  ])
})
