import t from 'tap'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import type { Hash32 } from '../../../src/primitives/bytes.js'
import { decodeRlpList } from '../../../src/primitives/rlp.js'
import { callQuestions } from '../../besideGeth/callQuestions.js'
import type { Facts } from '../../besideGeth/facts.js'
import { inventChain } from '../../besideGeth/inventedChain.js'
import { OptionError, readOptions } from '../../besideGeth/options.js'
import { readQuestions } from '../../besideGeth/readQuestions.js'
import { traceQuestions } from '../../besideGeth/traceQuestions.js'
import { makeFolder } from '../../library/folder.js'
import { Dice } from '../../library/property.js'
import { methodTable } from '../../rpc/methodTable.js'

const hash = (digit: string) => `0x${digit.repeat(64)}`
const blocks = [0, 1, 2].map((number) => ({
  number,
  hash: hash(`${number}`),
  miner: `0x${'0'.repeat(40)}`,
  uncles: [],
  transactions: [{ hash: hash('a'), from: `0x${'b'.repeat(40)}`, to: null }],
}))
const facts: Facts = {
  head: 2,
  blocks,
  withState: blocks.slice(1),
  addresses: [`0x${'c'.repeat(40)}`],
  logs: [{ address: `0x${'c'.repeat(40)}`, topics: [hash('d')] }],
}

const questionsOf = (seed: number) => [
  ...readQuestions(facts, new Dice(seed)),
  ...traceQuestions(facts, new Dice(seed)),
  ...callQuestions(facts, 200, new Dice(seed)),
]

t.test('a seed asks the same each time, and another one something else', async (t) => {
  const [first, again, other] = [1, 1, 2].map((seed) => JSON.stringify(questionsOf(seed)))
  t.equal(first, again)
  t.not(first, other)
})

t.test('every method that reads a chain and that go-ethereum has is asked', async (t) => {
  const asked = new Set(questionsOf(1).map(({ method }) => method))
  const asksChain = Object.entries(methodTable).filter(([, { reads }]) => reads !== undefined)
  // Methods of other clients, of Tidegate alone, or about the program.
  const unknownToGeth =
    /^(tidegate_|ots_|trace_|erigon_|eth_callMany|debug_traceCallMany|debug_getRawBlockAccessList|eth_getBlockAccessList|eth_baseFee$|eth_getTransactionBySenderAndNonce|eth_getAccount$|debug_chainConfig|admin_|rpc_discover|eth_capabilities|web3_clientVersion)/
  const left = asksChain
    .map(([method]) => method)
    .filter((each) => !asked.has(each) && !unknownToGeth.test(each))
  t.strictSame(left, [])
})

t.test('no state is asked for where go-ethereum holds none', async (t) => {
  const withoutState = { ...facts, withState: [] }
  t.strictSame(callQuestions(withoutState, 10, new Dice(1)), [])
  const traces = traceQuestions(withoutState, new Dice(1))
  t.notOk(traces.some(({ params }) => params[0] === hash('a')))
})

t.test('an invented chain is that of its seed, with all its forks and types of transactions', async (t) => {
  const heads: string[] = []
  for (const name of ['one', 'again']) {
    const folder = makeFolder(t)
    await inventChain(5, folder, `${folder}/${name}.mdb`)
    const store = ChainReader.open({ path: `${folder}/${name}.mdb` })
    const head = store.readHead()
    heads.push(Buffer.from(head?.hash ?? []).toString('hex'))
    const header = decodeHeader(store.readHeader(head?.hash as Hash32) as Uint8Array)
    t.ok(header.blockAccessListHash, 'it ends in Amsterdam')
    const types = new Set<number>()
    for (let number = 1; number <= header.number; number++) {
      const body = store.readBody(store.readCanonicalHash(number) as Hash32) as Uint8Array
      for (const transaction of decodeRlpList(body)[0] as Uint8Array[]) {
        types.add(transaction instanceof Uint8Array ? (transaction[0] as number) : 0)
      }
    }
    t.strictSame([...types].sort(), [0, 1, 2, 4])
    await store.close()
  }
  t.equal(heads[0], heads[1])
})

t.test('a command line that is not usable is refused with a sentence', async (t) => {
  const cases: [words: string[], message: RegExp][] = [
    [[], /either the URL of a running geth or --geth PROGRAM/],
    [['http://a', '--geth', '/bin/sh'], /either the URL/],
    [['http://a', 'http://b'], /one URL is expected/],
    [['nothing'], /nothing is not a URL/],
    [['http://a', '--seed', 'x'], /--seed: expected a number/],
    [['http://a', '--chain', '.'], /--chain is for a geth that is started here/],
    [['--geth', '/nowhere/geth'], /there is no \/nowhere\/geth/],
    [['--geth', '/bin/sh', '--ours', 'http://a'], /--ours is for a geth that runs already/],
    [['http://a', '--unknown'], /unknown/],
  ]
  for (const [words, message] of cases) {
    t.throws(() => readOptions(words), { constructor: OptionError, message }, words.join(' '))
  }
  t.equal(readOptions(['--help']), undefined)
  t.match(readOptions(['http://a', '--seed', '7', '--only', 'eth_call']), { seed: 7, only: ['eth_call'] })
})
