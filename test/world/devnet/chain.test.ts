// @shares
/**
 * The demo network: its files are the output of the scripts, and have the promised content. The second half reads the
 * committed bytes with only the RLP decoder and Keccak.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeAbi, encodeCall } from '../../../data/devnet/abi.js'
import { people } from '../../../data/devnet/accounts.js'
import { buildDevnet } from '../../../data/devnet/buildDevnet.js'
import type { Examples } from '../../../data/devnet/examples.js'
import { blockTimestamp, forkBlocks } from '../../../data/devnet/forks.js'
import {
  bytesToBigInt,
  bytesToHex,
  bytesToNumber,
  concatBytes,
  equalBytes,
  type Hex,
  hexToBytes,
  padLeft,
} from '../../../src/primitives/bytes.js'
import { emptyUnclesHash, keccak256 } from '../../../src/primitives/keccak.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import {
  decodeRlp,
  decodeRlpList,
  encodeRlp,
  type RlpItem,
  rlpBytes,
  rlpList,
  rlpSpanAt,
} from '../../../src/primitives/rlp.js'
import { runsFactor } from '../../library/property.js'

const folder = join(packageRoot(), 'data/devnet')
const read = (name: string): Uint8Array => readFileSync(join(folder, name))
const readJson = (name: string): unknown => JSON.parse(new TextDecoder().decode(read(name)))

/** A transaction in a block's body: its type, its hash and its fields. */
interface ParsedTransaction {
  readonly type: number
  readonly hash: Hex
  readonly fields: readonly RlpItem[]
}

interface ParsedBlock {
  readonly number: number
  readonly hash: Hex
  readonly header: readonly RlpItem[]
  readonly transactions: readonly ParsedTransaction[]
  readonly uncles: readonly RlpItem[]
  readonly withdrawals: readonly RlpItem[] | undefined
}

function parseTransaction(item: RlpItem): ParsedTransaction {
  if (item instanceof Uint8Array) {
    const fields = decodeRlpList(item.subarray(1))
    return { type: item[0] as number, hash: bytesToHex(keccak256(item)), fields }
  }
  return { type: 0, hash: bytesToHex(keccak256(encodeRlp(item))), fields: item }
}

function parseChain(bytes: Uint8Array): ParsedBlock[] {
  const blocks: ParsedBlock[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const { end } = rlpSpanAt(bytes, offset)
    const block = decodeRlp(bytes.subarray(offset, end))
    const [headerItem, transactions, uncles, withdrawals] = rlpList(block)
    const header = rlpList(headerItem)
    blocks.push({
      number: bytesToNumber(rlpBytes(header[8])),
      hash: bytesToHex(keccak256(encodeRlp(header))),
      header,
      transactions: rlpList(transactions).map(parseTransaction),
      uncles: rlpList(uncles),
      withdrawals: withdrawals === undefined ? undefined : rlpList(withdrawals),
    })
    offset = end
  }
  return blocks
}

const blocks = parseChain(read('chain.rlp'))
const examples = readJson('examples.json') as Examples
const genesis = readJson('genesis.json') as { config: Record<string, unknown>; difficulty: Hex }
const block = (number: number): ParsedBlock => blocks[number - 1] as ParsedBlock
const field = (parsed: ParsedBlock, index: number): Uint8Array => rlpBytes(parsed.header[index])

const skip = runsFactor <= 1 && 'RUNS=10 runs it'

t.test('the committed files are what the scripts make', { skip }, async (t) => {
  const { files } = await buildDevnet(join(folder, 'contracts'))
  for (const [name, bytes] of files) {
    t.ok(equalBytes(bytes, read(name)), `${name} is up to date (npm run devnet makes it anew)`)
  }
})

t.test('the blocks form a chain from genesis to the head', async (t) => {
  t.ok(blocks.length >= 256, 'more blocks than BLOCKHASH reaches')
  let parent = examples.genesisHash
  let time = blockTimestamp(0)
  for (const [index, parsed] of blocks.entries()) {
    t.equal(parsed.number, index + 1)
    t.equal(bytesToHex(field(parsed, 0)), parent)
    const timestamp = bytesToNumber(field(parsed, 11))
    if (timestamp <= time) t.fail(`block ${parsed.number} is not later than its parent`)
    parent = parsed.hash
    time = timestamp
  }
  t.equal(parent, examples.head.hash)
  t.equal(bytesToHex(field(block(examples.head.number), 3)), examples.head.stateRoot)
  t.ok(read('chain.rlp').length < 1_000_000, 'the chain is small')
})

t.test('headers grow with the forks', async (t) => {
  const fields = (number: number) => block(number).header.length
  const { london, merge, shanghai, cancun, prague, bpo2 } = forkBlocks
  t.equal(fields(london - 1), 15)
  for (const number of [london, merge, shanghai - 1]) t.equal(fields(number), 16)
  for (const number of [shanghai, cancun - 1]) t.equal(fields(number), 17)
  for (const number of [cancun, prague - 1]) t.equal(fields(number), 20)
  for (const number of [prague, bpo2]) t.equal(fields(number), 21)
  for (const [name, number] of [
    ['shanghaiTime', shanghai],
    ['cancunTime', cancun],
    ['pragueTime', prague],
    ['osakaTime', forkBlocks.osaka],
    ['bpo1Time', forkBlocks.bpo1],
    ['bpo2Time', bpo2],
  ] as const) {
    t.equal(genesis.config[name], bytesToNumber(field(block(number), 11)), name)
  }
})

t.test('the Merge comes when the total difficulty says so', async (t) => {
  let total = BigInt(genesis.difficulty)
  const difficulties = new Set<bigint>()
  for (const parsed of blocks.slice(0, forkBlocks.merge - 1)) {
    const difficulty = bytesToBigInt(field(parsed, 7))
    t.ok(total < BigInt(examples.terminalTotalDifficulty), `not before block ${parsed.number}`)
    total += difficulty
    difficulties.add(difficulty)
  }
  t.equal(total, BigInt(examples.terminalTotalDifficulty))
  t.equal(genesis.config.terminalTotalDifficulty, Number(total))
  t.ok(difficulties.size > 10, 'difficulty moves')
  for (const parsed of blocks.slice(forkBlocks.merge - 1)) {
    t.equal(field(parsed, 7).length, 0)
    t.same(field(parsed, 14), new Uint8Array(8))
  }
})

t.test('uncles are there in ones and twos, and hashed into their block', async (t) => {
  const withUncles = blocks.filter(({ uncles }) => uncles.length > 0)
  t.ok(withUncles.length >= 6)
  t.ok(withUncles.some(({ uncles }) => uncles.length === 2))
  t.ok(withUncles.some(({ number }) => number > forkBlocks.london))
  for (const parsed of blocks) {
    const expected = parsed.uncles.length === 0 ? emptyUnclesHash : keccak256(encodeRlp(parsed.uncles))
    if (!equalBytes(expected, field(parsed, 1))) t.fail(`uncles hash of block ${parsed.number}`)
  }
})

t.test('every type of transaction is there', async (t) => {
  const all = blocks.flatMap(({ transactions }) => transactions)
  for (const type of [0, 1, 2, 3, 4])
    t.ok(
      all.some((one) => one.type === type),
      `type ${type}`,
    )
  const legacy = all.filter(({ type }) => type === 0).map(({ fields }) => bytesToNumber(rlpBytes(fields[6])))
  t.ok(legacy.includes(27) && legacy.includes(28), 'without a chain id')
  t.ok(
    legacy.includes(examples.chainId * 2 + 35) && legacy.includes(examples.chainId * 2 + 36),
    'with a chain id',
  )
  t.ok(
    all.some(({ type, fields }) => type === 0 && rlpBytes(fields[3]).length === 0),
    'a creation',
  )
  t.ok(
    all.some(({ type, fields }) => type === 4 && rlpList(fields[9]).length === 2),
    'two authorizations',
  )
  t.equal(all.length, examples.totalTransactions)
})

t.test('one block has exactly 200 transactions, of all types', async (t) => {
  const [great, ...others] = blocks.filter(({ transactions }) => transactions.length === 200)
  t.equal(others.length, 0)
  t.same([...new Set(great?.transactions.map(({ type }) => type))].sort(), [0, 1, 2, 3, 4])
  t.ok(examples.blocks.some((one) => one.number === great?.number && one.logs > 200))
  t.ok(
    blocks.some(({ transactions }) => transactions.length === 0),
    'others are empty',
  )
})

t.test('withdrawals, blobs and requests come with their forks', async (t) => {
  for (const parsed of blocks) {
    t.equal(parsed.withdrawals === undefined, parsed.number < forkBlocks.shanghai)
  }
  const counts = new Set(blocks.map(({ withdrawals }) => withdrawals?.length))
  for (const count of [0, 1, 16]) t.ok(counts.has(count), `${count} withdrawals`)
  const blobGas = blocks
    .slice(forkBlocks.cancun - 1)
    .map((parsed) => bytesToNumber(field(parsed, 17)) / 131_072)
  t.equal(Math.max(...blobGas), 18)
  t.ok(
    blocks.some((parsed) => parsed.header.length > 18 && field(parsed, 18).length > 0),
    'excess blob gas',
  )
  const requests = new Set(blocks.slice(forkBlocks.prague - 1).map((parsed) => bytesToHex(field(parsed, 20))))
  t.equal(requests.size, 3, 'none, a withdrawal, a deposit with a consolidation')
})

t.test('the base fee and the gas limit move', async (t) => {
  const fees = blocks.slice(forkBlocks.london - 1).map((parsed) => bytesToNumber(field(parsed, 15)))
  t.equal(fees[0], 1_000_000_000)
  t.ok(Math.min(...fees) < 500_000_000 && Math.max(...fees) > 1_100_000_000)
  const limits = new Set(blocks.map((parsed) => bytesToNumber(field(parsed, 9))))
  t.ok(limits.size > 200)
})

t.test('the examples are where they are said to be', async (t) => {
  for (const example of examples.blocks) {
    const parsed = block(example.number)
    t.equal(parsed.hash, example.hash)
    t.equal(parsed.transactions.length, example.transactions)
    t.equal(parsed.uncles.length, example.uncles)
    t.equal(parsed.withdrawals?.length ?? 0, example.withdrawals)
  }
  for (const example of examples.transactions) {
    const found = block(example.block).transactions[example.index]
    t.same(
      { hash: found?.hash, type: found?.type },
      { hash: example.hash, type: example.type },
      example.label,
    )
  }
  const labels = examples.slots.map(({ contract, label, block }) => `${contract} ${label} ${block}`)
  t.equal(new Set(labels).size, labels.length, 'no two slots have one label')
})

t.test('mapping slots are computed as the README says', async (t) => {
  const word = (bytes: Uint8Array | number) =>
    padLeft(typeof bytes === 'number' ? new Uint8Array([bytes]) : bytes, 32)
  const entry = (key: Uint8Array, mapping: Uint8Array) => keccak256(concatBytes(word(key), mapping))
  const slotOf = (label: string) => examples.slots.find((slot) => slot.label === label)?.slot
  t.equal(slotOf('Tide of bea'), bytesToHex(entry(people.bea.address, word(3))))
  const nested = entry(people.eve.address, entry(people.dot.address, word(4)))
  t.equal(slotOf('allowance of dot to eve'), bytesToHex(nested))
  t.equal(slotOf('long string, first word'), bytesToHex(keccak256(word(2))))
})

t.test('the supply of a token is the sum of what people and the exchange hold', async (t) => {
  const value = (label: string) => BigInt(examples.slots.find((slot) => slot.label === label)?.value ?? 0)
  const reserves = value('reserves at the head')
  const held = { Tide: reserves & (2n ** 112n - 1n), Foam: (reserves >> 112n) & (2n ** 112n - 1n) }
  for (const token of ['Tide', 'Foam'] as const) {
    const names = ['ada', 'bea', 'cal', 'dot', 'eve', 'fay', 'gus', 'hal']
    const sum = names.reduce((total, name) => total + value(`${token} of ${name} at the head`), held[token])
    t.equal(sum, value(`${token} supply at the head`), token)
  }
})

t.test('calls are encoded as the Solidity ABI says', async (t) => {
  t.equal(
    bytesToHex(encodeCall('transfer(address,uint256)', [people.ada.address, 1]).subarray(0, 4)),
    '0xa9059cbb',
  )
  // The dynamic example of the Solidity documentation: f(uint256,uint32[],bytes10,bytes).
  const words = [
    '123',
    '80',
    '3132333435363738393000000000000000000000000000000000000000000000',
    'e0',
    '2',
    '456',
    '789',
    'd',
    '48656c6c6f2c20776f726c642100000000000000000000000000000000000000',
  ]
  const text = (plain: string) => new TextEncoder().encode(plain)
  t.same(
    encodeAbi(
      ['uint256', 'uint32[]', 'bytes10', 'bytes'],
      [0x123, [0x456, 0x789], text('1234567890'), text('Hello, world!')],
    ),
    hexToBytes(words.map((one) => one.padStart(64, '0')).join('')),
  )
})
