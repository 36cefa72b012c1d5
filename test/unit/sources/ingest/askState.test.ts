/** Questions about the state after a block: by hash, and by number to nodes that take no hashes. */
import t from 'tap'
import { type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { askState } from '../../../../src/sources/ingest/nodes/askState.js'
import { LieError, MovedError } from '../../../../src/sources/ingest/nodes/lie.js'
import type { Attempt } from '../../../../src/sources/ingest/nodes/proving.js'
import { NodeError } from '../../../../src/sources/upstream/upstream.js'
import { upstreamDouble } from '../../../upstream/upstreamDouble.js'

const hash: Hash32 = toHash32(new Uint8Array(32).fill(7))

/** A node that answers a question about a block, or throws; it records its questions. */
function nodeThat(answer: (at: unknown) => unknown) {
  const asked: unknown[] = []
  const node = upstreamDouble('node', () => undefined)
  const attempt: Attempt = {
    node,
    mayHave: (method) => node.policy.mayHave(method),
    ask: async (method, params) => {
      const at = method === 'eth_getBlockByHash' ? method : params.at(-1)
      asked.push(at)
      return method === 'eth_getBlockByHash' ? { number: '0x9' } : answer(at)
    },
    noteAbsent: () => undefined,
    askOneOf: () => Promise.reject(new Error('not asked')),
  }
  const refuse = (code: number, message: string) => new NodeError(node, code, message, undefined)
  return { attempt, asked, refuse }
}

const byHash = { blockHash: `0x${'07'.repeat(32)}` }
const isHash = (at: unknown) => typeof at === 'object'
const block = { hash, number: () => 5 }
const isRight = (answer: unknown) => answer

t.test('a node that takes hashes is asked by hash', async (t) => {
  const { attempt, asked } = nodeThat(() => 'proof')
  t.equal(await askState('eth_getProof', ['a'], block, attempt, isRight), 'proof')
  t.strictSame(asked, [byHash])
})

t.test('one that takes none is asked by number, and the next time at once', async (t) => {
  const { attempt, asked, refuse } = nodeThat((at) => {
    if (isHash(at)) throw refuse(-32602, 'invalid argument 2')
    return 'proof'
  })
  for (const _ of [1, 2]) t.equal(await askState('eth_getProof', ['a'], block, attempt, isRight), 'proof')
  t.strictSame(asked, [byHash, '0x5', '0x5'])
  t.equal(await askState('eth_getProof', ['a'], { hash, number: () => undefined }, attempt, isRight), 'proof')
  t.strictSame(asked.slice(3), ['eth_getBlockByHash', '0x9'], 'a number that is not known is asked for')
})

t.test('a node that does not have the block is not asked by number', async (t) => {
  for (const [code, message] of [
    [-32000, 'header for hash not found'],
    [-32602, 'unknown block'],
    [-32000, 'missing trie node'],
    [-32603, 'internal error'],
  ] as const) {
    const { attempt, asked, refuse } = nodeThat(() => {
      throw refuse(code, message)
    })
    await t.rejects(askState('eth_getProof', [], block, attempt, isRight), { message })
    t.strictSame(asked, [byHash], message)
  }
})

t.test('a wrong answer is a lie about a hash, and none about a number', async (t) => {
  const check = () => {
    throw new LieError('a proof under another root')
  }
  const taking = nodeThat(() => 'proof')
  await t.rejects(askState('eth_getProof', [], block, taking.attempt, check), LieError)
  const { attempt, refuse } = nodeThat((at) => {
    if (isHash(at)) throw refuse(-32602, 'Invalid params')
    return 'proof'
  })
  await t.rejects(askState('eth_getProof', [], block, attempt, check), MovedError)
})
