// @shares
/** Requests and calls pinned to a block, over the real server: their meaning for each method, branch and head. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { type BranchBlock, buildBranch, chainFileOf, counterAddress } from '../../rpc/branches.js'
import { addressOf, blockAt, blockBytes, examples, hex, quantity, unknownHash } from '../../rpc/demoChain.js'
import { methodTable } from '../../rpc/methodTable.js'
import { askAll, type Question } from '../../rpc/questions.js'
import { serveChain } from '../../rpc/servedChain.js'
import { startProgram } from '../../service/program.js'
import { type RpcAnswer, type Service, startService } from '../../service/service.js'

interface PinnedAnswer extends RpcAnswer {
  readonly at?: string
}

const tags = ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const

/** The answers to a batch, and the block that it names. Members of calls that are undefined are left out. */
async function askBatch(
  service: Service,
  calls: readonly { method: string; params: unknown; at?: string | undefined }[],
  headers: Record<string, string> = {},
): Promise<{ answers: PinnedAnswer[]; block: string | null }> {
  const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))
  const { text, block } = await service.post('/', body, headers)
  const answers = JSON.parse(text) as PinnedAnswer[]
  for (const [index, { id }] of answers.entries()) if (id !== index) throw new Error(`${index} has id ${id}`)
  return { answers, block }
}

const tide = addressOf('Tide')

const takingBlocks = Object.entries(methodTable).flatMap(([method, { pinned }]) =>
  pinned === undefined ? [] : [[method, pinned] as const],
)

/** Methods whose block may be left out. */
const withDefault = takingBlocks.filter(
  ([, params]) => params('latest').length > 1 && params('latest').at(-1) === 'latest',
)

const demo = await startService()
t.teardown(() => demo.stop())

t.test('every tag of every method means the pinned block', async (t) => {
  const service = demo
  for (const number of [14, 148, 263]) {
    const { hash } = blockAt(number)
    const byNumber = takingBlocks.map(([method, params]): Question => [method, params(quantity(number))])
    const expected = (await askAll(service, byNumber)).map(outcomeOf)
    for (const tag of tags) {
      const calls = takingBlocks.map(([method, params]) => ({ method, params: params(tag) }))
      const byHeader = await askBatch(service, calls, { 'Tidegate-At': hash })
      t.equal(byHeader.block, `${number} ${hash}`)
      t.strictSame(
        byHeader.answers.map(({ jsonrpc, id, ...rest }) => ({
          jsonrpc,
          id,
          ...outcomeOf({ jsonrpc, id, ...rest }),
        })),
        expected.map((outcome, id) => ({ jsonrpc: '2.0', id, ...outcome })),
        `${tag}, pinned by the header to ${number}`,
      )
      const byMember = await askBatch(
        service,
        calls.map((call) => ({ ...call, at: hash })),
      )
      t.equal(byMember.block, `264 ${examples.head.hash}`)
      t.strictSame(
        byMember.answers.map(({ at, ...answer }) => ({
          jsonrpc: answer.jsonrpc,
          id: answer.id,
          at,
          ...outcomeOf(answer),
        })),
        expected.map((outcome, id) => ({ jsonrpc: '2.0', id, at: hash, ...outcome })),
        `${tag}, pinned one by one to ${number}`,
      )
      // An unpinned call comes between, so that cacheable answers are cached.
      const { answers } = await askBatch(service, calls)
      // On a mismatch the library would search for a minute for the difference.
      if (tag === 'latest') t.notOk(isDeepStrictEqual(answers, byHeader.answers))
    }
    const short = withDefault.map(([method, params]) => ({ method, params: params('latest').slice(0, -1) }))
    const { answers } = await askBatch(service, short, { 'Tidegate-At': hash })
    for (const [index, [method]] of withDefault.entries()) {
      const place = takingBlocks.findIndex(([name]) => name === method)
      const outcome = outcomeOf(answers[index] as PinnedAnswer)
      t.strictSame(outcome, expected[place], `${method} without a block at ${number}`)
    }
  }
})

/**
 * Result or error of an answer. For a message that cannot start, the hash is that of a transaction with the highest
 * possible gas. That gas depends on the head, or on the block in place of it.
 */
function outcomeOf({ result, error }: RpcAnswer): object {
  if (error === undefined) return { result }
  return {
    error: { ...error, message: error.message.replace(/(?<=failed to apply transaction: )0x\w+/, '…') },
  }
}

t.test('a pinned request sees the chain that ends with its block', async (t) => {
  const service = demo
  const pin = blockAt(200)
  const earlier = blockAt(148)
  const later = blockAt(220)
  const calls = [
    { method: 'eth_blockNumber', params: [] },
    { method: 'eth_getBlockByNumber', params: [quantity(earlier.number), false] },
    { method: 'eth_getBlockByNumber', params: [quantity(later.number), false] },
    { method: 'eth_getStorageAt', params: [tide, '0x0', quantity(later.number)] },
    { method: 'eth_getBlockByHash', params: [later.hash, false] },
    { method: 'eth_getBlockByNumber', params: [{ blockHash: later.hash, requireCanonical: true }, false] },
    { method: 'eth_getBlockByNumber', params: [{ blockHash: earlier.hash, requireCanonical: true }, false] },
    { method: 'eth_chainId', params: [] },
    { method: 'eth_blockNumber', params: [], at: earlier.hash },
    { method: 'eth_blockNumber', params: [], at: 'latest' },
    { method: 'eth_getBlockByNumber', params: ['latest', false], at: examples.genesisHash },
  ]
  const { answers, block } = await askBatch(service, calls, { 'tidegate-at': pin.hash })
  t.equal(block, `200 ${pin.hash}`)
  t.match(answers, [
    { result: quantity(pin.number) },
    { result: { hash: earlier.hash } },
    { result: null },
    { error: { code: -32000, message: 'header not found' } },
    { result: { hash: later.hash } },
    { error: { code: -32000, message: 'hash is not currently canonical' } },
    { result: { hash: earlier.hash } },
    { result: '0x20f1' },
    { result: quantity(earlier.number), at: earlier.hash },
    { result: quantity(264), at: examples.head.hash },
    { result: { number: '0x0', hash: examples.genesisHash }, at: examples.genesisHash },
  ])
  const single = await service.post(
    '/',
    `{"jsonrpc":"2.0","id":"\\u0031","method":"eth_blockNumber","at":"${earlier.hash}"}`,
  )
  t.equal(single.text, `{"jsonrpc":"2.0","id":"\\u0031","at":"${earlier.hash}","result":"0x94"}`)
  t.equal(single.block, `148 ${earlier.hash}`)
  const refused = await service.post('/', '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}', {
    'Tidegate-At': unknownHash,
  })
  t.same(JSON.parse(refused.text).error, { code: -32000, message: 'header for hash not found' })
  t.equal(refused.block, `264 ${examples.head.hash}`)
})

t.test('blocks of a branch that was left can be pinned as far as their state is held', async (t) => {
  const [a, b, c] = (await Promise.all([
    buildBranch({ name: 'a', forksAt: 3, increments: [1, 0, 1, 1] }),
    buildBranch({ name: 'b', forksAt: 3, increments: [1, 0, 2, 3, 2] }),
    buildBranch({ name: 'c', forksAt: 3, increments: [1, 0, 4] }),
  ])) as [BranchBlock[], BranchBlock[], BranchBlock[]]
  const [a2, a3, a4, b3, b5, c3] = [a[1], a[2], a[3], b[2], b[4], c[2]] as BranchBlock[]
  if (!a2 || !a3 || !a4 || !b3 || !b5 || !c3) throw new RangeError('a branch is too short')
  const { service, add, headIs } = await serveChain(makeFolder(t), chainFileOf(a))
  t.teardown(() => service.stop())
  await add(chainFileOf([c3]))
  await add(chainFileOf(b.slice(2)))
  await headIs(b5.hash)
  const count = { to: counterAddress, data: hex(encodeCall('count()')) }
  const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
  const calls = (at: string | undefined) => [
    { method: 'eth_blockNumber', params: [], at },
    { method: 'eth_getStorageAt', params: [counterAddress, '0x0', 'latest'], at },
    { method: 'eth_call', params: [count, 'latest'], at },
    { method: 'eth_getBlockByNumber', params: ['0x3', false], at },
    { method: 'eth_getStorageAt', params: [counterAddress, '0x0', '0x3'], at },
    { method: 'eth_getBlockByNumber', params: ['0x2', false], at },
    {
      method: 'eth_getBlockByNumber',
      params: [{ blockHash: a3.hash, requireCanonical: true }, false],
      at,
    },
  ]
  const all = [...calls(a4.hash), ...calls(undefined), ...calls(b3.hash), ...calls(c3.hash)]
  const { answers, block } = await askBatch(service, all)
  t.equal(block, `5 ${b5.hash}`)
  const notCanonical = { code: -32000, message: 'hash is not currently canonical' }
  const notHeld = { code: -32000, message: `historical state ${c3.stateRoot} is not available` }
  t.strictSame(
    answers.map(({ result, error }) => error ?? result?.hash ?? result),
    [
      ...['0x4', word(a4.count), word(a4.count), a3.hash, word(a3.count), a2.hash, a3.hash],
      ...['0x5', word(b5.count), word(b5.count), b3.hash, word(b3.count), a2.hash, notCanonical],
      ...['0x3', word(b3.count), word(b3.count), b3.hash, word(b3.count), a2.hash, notCanonical],
      ...['0x3', notHeld, notHeld, c3.hash, notHeld, a2.hash, notCanonical],
    ],
  )
  const { answers: proofs } = await askBatch(
    service,
    [
      { method: 'eth_getProof', params: [counterAddress, ['0x0'], 'latest'] },
      { method: 'eth_getBlockReceipts', params: ['latest'] },
    ],
    { 'Tidegate-At': a4.hash },
  )
  t.equal(proofs[0]?.result.storageProof[0].value, quantity(a4.count))
  t.equal(proofs[1]?.result[0].blockHash, a4.hash)
  // The first increment of a3 is that of b3 and of c3 too, the one of a4 the second of theirs.
  const sent = [a[0], a3, a4, b5].map((block) => block?.transactions[0]?.hash)
  const found = async (method: string, at: string | undefined) => {
    const calls = sent.map((hash) => ({ method, params: [hash], at }))
    return (await askBatch(service, calls)).answers.map(({ result }) => result?.blockHash)
  }
  for (const method of ['eth_getTransactionByHash', 'eth_getTransactionReceipt']) {
    t.strictSame(await found(method, a4.hash), [a[0]?.hash, a3.hash, a4.hash, undefined])
    t.strictSame(await found(method, undefined), [a[0]?.hash, b3.hash, b3.hash, b5.hash])
    t.strictSame(await found(method, b3.hash), [a[0]?.hash, b3.hash, b3.hash, undefined])
  }
  t.strictSame(await found('eth_getTransactionByHash', c3.hash), [a[0]?.hash, c3.hash, c3.hash, undefined])
  // Branch c was never executed.
  t.strictSame(await found('eth_getTransactionReceipt', c3.hash), [
    a[0]?.hash,
    undefined,
    undefined,
    undefined,
  ])
  const ada = addressOf('ada')
  const ofNonce = async (at: string | undefined) => {
    const call = { method: 'eth_getTransactionBySenderAndNonce', params: [ada, '0x2'], at }
    return (await askBatch(service, [call])).answers[0]?.result.blockHash
  }
  t.equal(await ofNonce(a4.hash), a4.hash)
  t.equal(await ofNonce(undefined), b3.hash)
})

t.test('a batch is answered from the head that it names, however fast heads come', async (t) => {
  const from = 20
  const to = blockAt(70)
  const folder = makeFolder(t)
  const { service, flags } = await serveChain(folder, Buffer.concat(blockBytes.slice(0, from)))
  t.teardown(() => service.stop())
  const file = writeInto(folder, 'rest.rlp', Buffer.concat(blockBytes.slice(from, to.number)))
  const run = startProgram(['import', ...flags, file])
  const reading = (at: string | undefined) => [
    { method: 'eth_blockNumber', params: [], at },
    { method: 'eth_getProof', params: [counterAddress, [], 'latest'], at },
    { method: 'eth_getBlockByNumber', params: ['latest', false], at },
    { method: 'eth_createAccessList', params: [{ to: counterAddress }, 'pending'], at },
    { method: 'eth_getBlockByNumber', params: ['latest', true], at },
    { method: 'eth_blockNumber', params: [], at },
  ]
  let before = blockAt(from).hash
  const heads = new Set<string>()
  await waitFor('the last block', async () => {
    const { answers, block } = await askBatch(service, [
      ...reading(undefined),
      ...reading('latest'),
      ...reading(before),
    ])
    const [number = '', hash = ''] = block?.split(' ') ?? []
    const reported = answers.map(({ result, error }) => error?.message ?? result?.hash ?? result)
    const names = [quantity(Number(number)), hash]
    if (hash !== blockAt(Number(number)).hash) t.fail(`no block is called ${block}`)
    for (const place of [0, 5, 6, 11])
      if (reported[place] !== names[0]) t.fail(`${reported[place]} at ${block}`)
    for (const place of [2, 4, 8, 10])
      if (reported[place] !== names[1]) t.fail(`${reported[place]} at ${block}`)
    for (const place of [14, 16]) if (reported[place] !== before) t.fail(`${reported[place]} at ${before}`)
    t.strictSame(
      answers.map(({ at }) => at),
      [...Array(6).fill(undefined), ...Array(6).fill(hash), ...Array(6).fill(before)],
    )
    before = hash
    heads.add(hash)
    return hash === to.hash
  })
  t.equal((await run.finished).status, 0)
  t.ok(heads.size > 1)
})
