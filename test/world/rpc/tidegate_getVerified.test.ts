// @shares
import { createMPT, verifyMPTWithMerkleProof } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { hexToBytes } from '@ethereumjs/util'
import { keccak_256 } from '@noble/hashes/sha3.js'
import t from 'tap'
import { type Question, VerifyError, verify } from '../../../src/verify/verify.js'
import { readAmsterdamBlocks, serveCross, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { Dice, propertyRuns, runsFactor } from '../../library/property.js'
import { blocks, type DemoBlock, examples, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'tidegate_getVerified'
const service = await startService()
t.teardown(() => service.stop())

const quantity = (value: number) => `0x${value.toString(16)}`
const hashAt = (number: number) => (number === 0 ? examples.genesisHash : blocks[number - 1]?.hash) as string
const full = 200

/** Questions with the block that each means. */
type Asked = readonly [read: string, params: readonly unknown[], block: number]

const stateQuestions: readonly Asked[] = [
  ...examples.accounts.flatMap(({ address }): Asked[] => [
    ['eth_getBalance', [address, hashAt(150)], 150],
    ['eth_getTransactionCount', [address, '0x96'], 150],
  ]),
  ...examples.contracts.map(
    ({ address }): Asked => ['eth_getCode', [address, { blockHash: hashAt(250) }], 250],
  ),
  ...examples.slots.map(
    ({ address, slot }): Asked => ['eth_getStorageAt', [address, slot, 'latest'], blocks.length],
  ),
  ...examples.slots.map(({ address, slot }): Asked => ['eth_getStorageAt', [address, slot, '0x1'], 1]),
]

const nobody = `0x${'77'.repeat(20)}`
const absentQuestions: readonly Asked[] = [
  ['eth_getBalance', [nobody, 'latest'], blocks.length],
  ['eth_getTransactionCount', [nobody, '0x1'], 1],
  ['eth_getCode', [nobody, '0xc8'], full],
  ['eth_getStorageAt', [nobody, '0x0', '0xc8'], full],
  ['eth_getStorageAt', [examples.slots[0]?.address, '0x123456', '0xc8'], full],
  ['eth_getTransactionByBlockNumberAndIndex', ['0xc8', '0xc8'], full],
  ['eth_getTransactionByBlockHashAndIndex', [hashAt(0), '0x0'], 0],
  ['eth_getTransactionReceipt', ['0xc8', '0xc8'], full],
  ['eth_getTransactionReceipt', ['0x0', '0x5'], 0],
  ['eth_getLogs', ['0xc8', '0x0', '0x500'], full],
  ['eth_getLogs', ['0xc8', '0xffffffff', '0x0'], full],
]

async function askVerified(asked: readonly Asked[]) {
  return askResults(
    service,
    asked.map(([read, params]) => [method, [read, params]]),
  )
}

function questionOf([read, params, block]: Asked): Question {
  return { method: read, params, blockHash: hashAt(block) }
}

t.test('accounts, code and slots are proved, and are what the methods themselves say', async (t) => {
  const answers = await askVerified(stateQuestions)
  const plain = await askResults(
    service,
    stateQuestions.map(([read, params]) => [read, params]),
  )
  for (const [at, asked] of stateQuestions.entries()) {
    t.same(verify(answers[at], questionOf(asked)), plain[at], JSON.stringify(asked))
  }
})

t.test('transactions, receipts and logs of all types are proved', async (t) => {
  const asked: Asked[] = []
  const expected: unknown[] = []
  const isRare = ({ transactions }: DemoBlock) => transactions.some(({ type }) => type !== 0 && type !== 2)
  const chosen = blocks.filter((block) => block.number % 8 === 0 || isRare(block))
  for (const { hash, number } of chosen) {
    const [{ transactions }, receipts] = (await askResults(service, [
      ['eth_getBlockByNumber', [quantity(number), true]],
      ['eth_getBlockReceipts', [hash]],
    ])) as [{ transactions: unknown[] }, { blobGasPrice?: string; logs: unknown[] }[]]
    for (const [index, transaction] of transactions.entries()) {
      if (number === full && index % 67 !== 0) continue
      const at = quantity(index)
      const { blobGasPrice: _, ...receipt } = receipts[index] as (typeof receipts)[number]
      asked.push(['eth_getTransactionByBlockHashAndIndex', [hash, at], number])
      asked.push(['eth_getTransactionByBlockNumberAndIndex', [quantity(number), at], number])
      asked.push(['eth_getTransactionReceipt', [hash, at], number])
      expected.push(transaction, transaction, receipt)
      const place = receipt.logs.length - 1
      if (place < 0) continue
      asked.push(['eth_getLogs', [quantity(number), at, quantity(place)], number])
      expected.push(receipt.logs[place])
    }
  }
  const types = new Set(expected.map((each) => (each as { type?: string }).type))
  for (const type of ['0x0', '0x1', '0x2', '0x3', '0x4'])
    t.ok(types.has(type), `a transaction of type ${type}`)
  for (let from = 0; from < asked.length; from += 50) {
    const part = asked.slice(from, from + 50)
    const answers = await askVerified(part)
    for (const [at, each] of part.entries()) {
      t.same(verify(answers[at], questionOf(each)), expected[from + at], JSON.stringify(each))
    }
  }
})

t.test('that there is nothing is proved as well', async (t) => {
  const answers = await askVerified(absentQuestions)
  const nothing: Readonly<Record<string, unknown>> = {
    eth_getBalance: '0x0',
    eth_getTransactionCount: '0x0',
    eth_getCode: '0x',
    eth_getStorageAt: `0x${'0'.repeat(64)}`,
  }
  for (const [at, asked] of absentQuestions.entries()) {
    t.equal(verify(answers[at], questionOf(asked)), nothing[asked[0]] ?? null, JSON.stringify(asked))
  }
})

t.test('@ethereumjs/mpt finds the same in the nodes', async (t) => {
  const address = examples.slots[0]?.address as `0x${string}`
  const [state, index] = (await askVerified([
    ['eth_getBalance', [address, hashAt(full)], full],
    ['eth_getTransactionReceipt', [hashAt(full), '0x5'], full],
    // biome-ignore lint/suspicious/noExplicitAny: answers of two forms.
  ])) as any[]
  const nodes = (list: `0x${string}`[]) => list.map((node) => hexToBytes(node))
  const header = RLP.decode(state.header) as Uint8Array[]
  const trie = await createMPT({ useKeyHashing: false })
  const read = (root: number, key: Uint8Array, proof: `0x${string}`[]) =>
    verifyMPTWithMerkleProof(trie, header[root] as Uint8Array, key, nodes(proof))
  const account = await read(3, keccak_256(hexToBytes(address)), state.proof.accountProof)
  const [, balance] = RLP.decode(account as Uint8Array) as Uint8Array[]
  t.equal(BigInt(state.result), BigInt(`0x0${Buffer.from(balance ?? []).toString('hex')}`))
  const raw = await read(4, RLP.encode(5), index.transactionProof)
  t.equal(`0x${Buffer.from(keccak_256(raw as Uint8Array)).toString('hex')}`, index.result.transactionHash)
})

/** A question of each kind, with short answers; the first are about state. */
const flipped: readonly Asked[] = [
  ['eth_getBalance', [examples.accounts[0]?.address, '0x3'], 3],
  ['eth_getCode', [examples.contracts[0]?.address, '0x3'], 3],
  ['eth_getStorageAt', [examples.slots[0]?.address, examples.slots[0]?.slot, hashAt(1)], 1],
  ['eth_getStorageAt', [nobody, '0x0', '0x3'], 3],
  ['eth_getTransactionByBlockNumberAndIndex', ['0x2', '0x1'], 2],
  ['eth_getTransactionByBlockNumberAndIndex', ['0x2', '0x7'], 2],
]

const stateFlipped = 4

/**
 * A change of every byte takes 15 s. By default a run changes one byte in this many, and each run changes other bytes.
 */
const byteStep = runsFactor > 1 ? 1 : 5

t.test('no byte of an answer can be another', async (t) => {
  const asked = [...flipped, ...(await findLog())]
  const answers = await askVerified(asked)
  const dice = new Dice(propertyRuns(1).seed as number)
  for (const [at, each] of asked.entries()) {
    const text = Buffer.from(JSON.stringify(answers[at]))
    const question = questionOf(each)
    t.ok(verify(JSON.parse(text.toString()), question) !== undefined)
    let accepted = 0
    const first = dice.throw(byteStep)
    // Changes the lowest bit, and the bit that separates upper and lower case. Where each change makes the program
    // recover a sender, only the lowest bit is changed.
    for (const bit of at < stateFlipped ? [1, 0x20] : [1]) {
      for (let place = first; place < text.length; place += byteStep) {
        text[place] = (text[place] as number) ^ bit
        if (isAccepted(text.toString(), question)) {
          accepted++
          t.comment(`accepted: ${text.toString('utf8', Math.max(place - 30, 0), place + 30)}`)
        }
        text[place] = (text[place] as number) ^ bit
      }
    }
    t.equal(accepted, 0, `${text.length} bytes of ${JSON.stringify(each)}, each ${byteStep}th from ${first}`)
  }
})

/** A receipt with a log, and the log, in the first block that has one. */
async function findLog(): Promise<Asked[]> {
  for (const { hash, number } of blocks) {
    const [receipts] = (await askResults(service, [['eth_getBlockReceipts', [hash]]])) as [
      { logs: unknown[] }[],
    ]
    const index = receipts.findIndex(({ logs }) => logs.length > 0)
    if (index === -1) continue
    return [
      ['eth_getTransactionReceipt', [hash, quantity(index)], number],
      ['eth_getLogs', [quantity(number), quantity(index), '0x0'], number],
    ]
  }
  throw new Error('the demo chain has no logs')
}

function isAccepted(text: string, question: Question): boolean {
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    return false
  }
  try {
    verify(answer, question)
    return true
  } catch (error) {
    if (error instanceof VerifyError) return false
    throw error
  }
}

t.test('an answer to another question is refused', async (t) => {
  const [balance, slot, transaction, receipt] = (await askVerified([
    flipped[0] as Asked,
    flipped[2] as Asked,
    flipped[4] as Asked,
    ['eth_getTransactionReceipt', ['0xc8', '0x5'], full],
    // biome-ignore lint/suspicious/noExplicitAny: answers of several forms.
  ])) as any[]
  const question = questionOf(flipped[0] as Asked)
  const slotQuestion = questionOf(flipped[2] as Asked)
  const [address, key] = slotQuestion.params as string[]
  const transactionQuestion = questionOf(flipped[4] as Asked)
  const receiptQuestion = {
    method: 'eth_getTransactionReceipt',
    params: ['0xc8', '0x5'],
    blockHash: hashAt(full),
  }
  const cases: readonly (readonly [answer: unknown, question: Question, why: RegExp])[] = [
    [balance, { ...question, blockHash: hashAt(2) }, /about another block/],
    [{ ...balance, blockHash: hashAt(2) }, { ...question, blockHash: hashAt(2) }, /the header is that of/],
    [balance, { ...question, blockHash: '0x12' }, /the trusted block hash has 1 bytes/],
    [balance, { ...question, params: [question.params[0], '0x4'] }, /the question is about block 0x4/],
    [balance, { ...question, params: [question.params[0], hashAt(4)] }, /the question is about block/],
    [
      balance,
      { ...question, params: [nobody, '0x3'] },
      /lacks the node|belongs to no path|contradicts itself/,
    ],
    [balance, { ...question, method: 'eth_getTransactionCount' }, /the result differs from the proved one/],
    [balance, { ...question, method: 'eth_getCode' }, /the code is not lower-case hex|another hash/],
    [balance, { ...question, method: 'eth_call' }, /eth_call cannot be verified/],
    [balance, { ...question, params: [...question.params, 1] }, /has 2 parameters/],
    [null, question, /is not an object/],
    [{ ...balance, more: 1 }, question, /unknown member more/],
    [
      { ...balance, proof: { ...balance.proof, accountProof: [...balance.proof.accountProof, '0xc0'] } },
      question,
      /belongs to no path/,
    ],
    [
      { ...balance, proof: { ...balance.proof, accountProof: balance.proof.accountProof.slice(1) } },
      question,
      /lacks the node/,
    ],
    [{ ...balance, result: null }, question, /it is "0x[0-9a-f]+", not null/],
    [slot, { ...slotQuestion, params: [address, '0x9', hashAt(1)] }, /storageProof is of slot/],
    [slot, { ...slotQuestion, params: [nobody, key, hashAt(1)] }, /./],
    [transaction, { ...transactionQuestion, params: ['0x2', '0x0'] }, /./],
    [{ ...transaction, result: null }, transactionQuestion, /not null/],
    [receipt, { ...receiptQuestion, params: ['0xc8', '0x6'] }, /./],
    [{ ...receipt, receiptProof: receipt.receiptProof.slice(0, -1) }, receiptQuestion, /lacks the node/],
    [
      { ...receipt, receiptProof: [...receipt.receiptProof, receipt.receiptProof[0]] },
      receiptQuestion,
      /is there twice/,
    ],
    [
      { ...receipt, result: { ...receipt.result, blobGasPrice: '0x1' } },
      receiptQuestion,
      /blobGasPrice is undefined/,
    ],
  ]
  for (const [answer, asked, why] of cases) {
    t.throws(() => verify(answer, asked), { name: 'VerifyError', message: why }, String(why))
  }
})

t.test(
  'blocks that are not known and wrong parameters are answered as by the methods themselves',
  async (t) => {
    const unknown = await askResults(service, [
      [method, ['eth_getTransactionByBlockHashAndIndex', [unknownHash, '0x0']]],
      [method, ['eth_getTransactionByBlockNumberAndIndex', ['0xffff', '0x0']]],
      [method, ['eth_getTransactionReceipt', ['0xffff', '0x0']]],
      [method, ['eth_getLogs', ['pending', '0x0', '0x0']]],
    ])
    for (const result of unknown) t.equal(result, null)
    const known =
      'eth_getBalance, eth_getTransactionCount, eth_getCode, eth_getStorageAt, eth_getTransactionByBlockHashAndIndex, eth_getTransactionByBlockNumberAndIndex, eth_getTransactionReceipt, eth_getLogs'
    await checkRefusals(t, service, method, [
      [['eth_call', []], -32602, `invalid argument 0: want one of ${known}, got "eth_call"`],
      [[1, []], -32602, `invalid argument 0: want one of ${known}, got number`],
      [['eth_getBalance', {}], -32602, 'invalid argument 1: want an array of parameters, got object'],
      [['eth_getBalance', []], -32602, 'missing value for required argument 0'],
      [['eth_getBalance', [nobody, unknownHash]], -32000, 'header for hash not found'],
      [['eth_getStorageAt', [nobody, 'zz', '0x1']], -32602, 'invalid hex in storage key: "zz"'],
      [['eth_getTransactionReceipt', ['0x1']], -32602, 'missing value for required argument 1'],
      ...countRefusals(['eth_getBalance', [nobody, 'latest'], unknownHash], 2),
      [
        ['eth_getBalance', [nobody, 'latest'], '0x12'],
        -32602,
        'invalid argument 2: hex string has length 2, want 64 for hash',
      ],
    ])
  },
)

t.test('what blocks of Amsterdam hold is proved too', { skip: withoutAmsterdam }, async (t) => {
  const service = await serveCross()
  t.teardown(() => service.stop())
  const ask = (asked: readonly Asked[]) =>
    askResults(
      service,
      asked.map(([read, params]) => [method, [read, params]]),
    )
  const listed = [...readAmsterdamBlocks('a1-cross').entries()].filter(([, block]) => block.amsterdam)
  const blocks = listed.filter((_, index) => index % 20 === 0)
  for (const [number, { hash, blockAccessList = [] }] of blocks) {
    const [{ transactions }, receipts] = (await askResults(service, [
      ['eth_getBlockByNumber', [quantity(number), true]],
      ['eth_getBlockReceipts', [hash]],
    ])) as [{ transactions: unknown[] }, { blobGasPrice?: string; logs: unknown[] }[]]
    const asked: Asked[] = []
    const expected: unknown[] = []
    for (const [index, transaction] of transactions.entries()) {
      const { blobGasPrice: _, ...receipt } = receipts[index] as (typeof receipts)[number]
      asked.push(['eth_getTransactionByBlockHashAndIndex', [hash, quantity(index)], number])
      asked.push(['eth_getTransactionReceipt', [hash, quantity(index)], number])
      expected.push(transaction, receipt)
      if (receipt.logs.length === 0) continue
      asked.push(['eth_getLogs', [hash, quantity(index), quantity(receipt.logs.length - 1)], number])
      expected.push(receipt.logs.at(-1))
    }
    const reads = blockAccessList.slice(0, 8).flatMap(({ address }): Asked[] => [
      ['eth_getBalance', [address, hash], number],
      ['eth_getCode', [address, hash], number],
    ])
    expected.push(
      ...(await askResults(
        service,
        reads.map(([read, params]) => [read, params]),
      )),
    )
    asked.push(...reads)
    for (const [at, answer] of (await ask(asked)).entries()) {
      const [read, params] = asked[at] as Asked
      t.same(
        verify(answer, { method: read, params, blockHash: hash }),
        expected[at],
        JSON.stringify(asked[at]),
      )
    }
  }
})
