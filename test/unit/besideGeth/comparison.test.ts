import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { compare } from '../../besideGeth/comparison.js'
import type { Answer, Endpoint, Question } from '../../besideGeth/endpoint.js'
import { engineReasons, knownDifferences } from '../../besideGeth/knownDifferences.js'

/** A geth that answers calls: gas from `least` on is enough. */
const gethWith = (least: bigint): Endpoint => ({
  url: '',
  result: async () => null,
  answers: async (questions) =>
    questions.map(({ params: [message] }) =>
      BigInt((message as { gas: string }).gas) >= least
        ? { result: '0x' }
        : { error: { code: -32000, message: 'out of gas' } },
    ),
})
const silent = gethWith(0n)

const judge = (
  method: string,
  geth: Answer,
  ours: Answer,
  params: Question['params'] = [],
  endpoint = silent,
) => compare({ question: { method, params }, geth, ours }, endpoint)

t.test('each known difference has its reason in the page that it names', async (t) => {
  for (const { page, reason } of knownDifferences) {
    t.ok(readFileSync(join(packageRoot(), 'docs', page), 'utf8').includes(reason), reason)
  }
  t.equal(new Set(knownDifferences.map(({ reason }) => reason)).size, knownDifferences.length)
  const correctness = readFileSync(join(packageRoot(), 'docs/correctness.md'), 'utf8')
  for (const reason of Object.values(engineReasons)) t.ok(correctness.includes(reason), reason)
})

t.test('answers that differ are named by the first place', async (t) => {
  t.strictSame(await judge('eth_call', { result: '0x1' }, { result: '0x1' }), { kind: 'same' })
  t.strictSame(await judge('eth_call', { result: { a: [1, 2] } }, { result: { a: [1, 3] } }), {
    kind: 'different',
    where: '.result.a.1: geth 2, Tidegate 3',
  })
  t.match(await judge('eth_call', { result: null }, { result: '0x' }), { kind: 'different' })
  t.match(await judge('eth_call', { result: [] }, { result: {} }), { kind: 'different' })
})

t.test('errors of one code may have other texts, but no other data', async (t) => {
  const error = (message: string, code = -32000, data?: unknown) => ({ error: { code, message, data } })
  t.match(await judge('eth_call', error('a'), error('b')), { kind: 'text' })
  t.match(await judge('eth_call', error('a'), error('a', -32602)), { kind: 'different' })
  t.match(await judge('eth_call', error('a', 3, '0x1'), error('a', 3, '0x2')), { kind: 'different' })
  t.match(await judge('eth_call', error('a'), { result: '0x' }), { kind: 'different' })
})

t.test('a known difference hides no other one', async (t) => {
  const block = { hash: '0x1', number: '0x1' }
  const ours = { ...block, totalDifficulty: '0x0' }
  const known = await judge('eth_getBlockByHash', { result: block }, { result: ours })
  t.match(known, { kind: 'known', reasons: [/^Blocks have `totalDifficulty`/] })
  const other = await judge('eth_getBlockByHash', { result: block }, { result: { ...ours, number: '0x2' } })
  t.strictSame(other, { kind: 'different', where: '.result.number: geth "0x1", Tidegate "0x2"' })
  t.match(await judge('debug_traceCall', { result: block }, { result: ours }), { kind: 'different' })
})

t.test('the tags that go-ethereum does not know are known only where it fails', async (t) => {
  const missing = { error: { code: -39001, message: 'safe block not found' } }
  t.match(await judge('eth_getBalance', missing, { result: '0x1' }, ['0xaa', 'safe']), { kind: 'known' })
  t.match(await judge('eth_getBalance', missing, { result: '0x1' }, ['0xaa', '0x1']), { kind: 'different' })
  const [geth, ours] = [{ result: '0x1' }, { result: '0x2' }]
  t.match(await judge('eth_getBalance', geth, ours, ['0xaa', 'safe']), { kind: 'different' })
})

t.test('a state that go-ethereum has removed is known, and another error is not', async (t) => {
  const verdict = async (message: string, ours: Answer = { result: '0x1' }) =>
    (await judge('eth_getBalance', { error: { code: -32000, message } }, ours, ['0xaa', 'earliest'])).kind
  t.equal(await verdict(`historical state ${'a8'.repeat(32)} is not available`), 'known')
  t.equal(await verdict(`missing trie node ${'a8'.repeat(32)} (owner 3a)`), 'known')
  t.equal(await verdict('header not found'), 'different')
  const refused = { error: { code: -32602, message: 'invalid argument' } }
  t.equal(await verdict('missing trie node', refused), 'different')
})

t.test('a go-ethereum that waits for peers is known, and two answers of one form are not', async (t) => {
  const progress = { result: { currentBlock: '0x1' } }
  t.match(await judge('eth_syncing', progress, { result: false }), { kind: 'known' })
  t.match(await judge('eth_syncing', { result: false }, progress), { kind: 'different' })
})

t.test("another estimate is known if go-ethereum's own calls say that it is the least", async (t) => {
  const estimate = (ours: string) =>
    judge(
      'eth_estimateGas',
      { result: '0x6000' },
      { result: ours },
      [{ to: '0xaa' }, 'latest'],
      gethWith(0x5208n),
    )
  t.match(await estimate('0x5208'), { kind: 'known' })
  t.match(await estimate('0x5209'), { kind: 'different' })
  t.match(await estimate('0x5207'), { kind: 'different' })
})

t.test('proofs and witnesses are known to differ in what proves absence alone', async (t) => {
  const zeros = `0x${'0'.repeat(64)}`
  const absent = { balance: '0x0', codeHash: zeros, storageHash: zeros }
  const proof = {
    ...absent,
    codeHash: '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
    storageHash: '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421',
  }
  t.match(await judge('eth_getProof', { result: absent }, { result: proof }), { kind: 'known' })
  const other = { result: { ...proof, balance: '0x1' } }
  t.match(await judge('eth_getProof', { result: absent }, other), { kind: 'different' })
  const witness = (state: string[], codes: string[]) => ({ result: { state, codes, headers: [] } })
  const ofGeth = witness(['0x1', '0x2'], ['0xc1', '0xc2'])
  const verdict = async (ours: Answer) => (await judge('debug_executionWitness', ofGeth, ours)).kind
  t.equal(await verdict(witness(['0x1', '0x2', '0x3'], ['0xc1'])), 'known')
  t.equal(await verdict(witness(['0x1', '0x3'], ['0xc1'])), 'different')
  t.equal(await verdict(witness(['0x1', '0x2'], ['0xc3'])), 'different')
})
