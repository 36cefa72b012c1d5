/** The calls of a server to itself before it listens. */
import t from 'tap'
import { chainQuestions, constantQuestions } from '../../../../src/operation/edge/warmUpQuestions.js'
import { toQuantity } from '../../../../src/primitives/bytes.js'

const word = (digit: string, length: number) => `0x${digit.repeat(length)}`

interface Call {
  readonly method: string
  readonly params: readonly unknown[]
}

/** Asks a chain with this head; block 3 has a transaction to a contract, block 2 one that makes a contract. */
function askChain(head: number) {
  const asked: unknown[] = []
  const transactionsOf: Record<number, object[]> = {
    3: [{ hash: word('3', 64), from: word('a', 40), to: word('c', 40), input: '0x01' }],
    2: [{ hash: word('2', 64), from: word('b', 40), to: null, input: '0x02' }],
  }
  const ask = async (body: string) => {
    const { params } = JSON.parse(body) as Call
    asked.push(params[0])
    const number = params[0] === 'latest' ? head : Number(params[0])
    const block = {
      number: toQuantity(number),
      hash: word(number.toString(16).at(-1) as string, 64),
      transactions: transactionsOf[number] ?? [],
    }
    return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: block }))
  }
  return { asked, ask }
}

const callsOf = (bodies: readonly string[]): Call[] => bodies.flatMap((body) => JSON.parse(body))

t.test(
  'all main methods are asked, with accounts, slots, hashes and calls of the newest blocks',
  async (t) => {
    const { ask } = askChain(4)
    const calls = callsOf(await chainQuestions(ask, () => false))
    const paramsOf = (name: string) =>
      calls.filter(({ method }) => method === name).map(({ params }) => params)
    const accounts = [word('a', 40), word('c', 40), word('b', 40)]
    t.strictSame(
      paramsOf('eth_getBalance'),
      accounts.map((account) => [account, 'latest']),
    )
    t.strictSame(paramsOf('eth_getStorageAt')[1], [word('c', 40), '0x1', 'latest'])
    t.strictSame(paramsOf('eth_getTransactionReceipt'), [[word('3', 64)], [word('2', 64)]])
    const message = { from: word('a', 40), to: word('c', 40), data: '0x01' }
    t.strictSame(paramsOf('eth_call'), [[message, 'latest']])
    t.strictSame(paramsOf('eth_estimateGas'), [[message]])
    t.equal(paramsOf('eth_getBlockByHash').length, 5)
    for (const name of ['eth_getTransactionByHash', 'eth_getLogs', 'eth_getProof', 'eth_gasPrice']) {
      t.ok(paramsOf(name).length > 0, name)
    }
  },
)

t.test('a chain with its genesis alone, and one without a block, are asked for what there is', async (t) => {
  const names = new Set(
    callsOf(await chainQuestions(askChain(0).ask, () => false)).map(({ method }) => method),
  )
  t.ok(names.has('eth_getBlockByHash'))
  t.notOk(names.has('eth_getBalance'))
  const none = async () => Buffer.from('{"jsonrpc":"2.0","id":1,"result":null}')
  t.strictSame(
    callsOf(await chainQuestions(none, () => false)).map(({ method }) => method),
    ['eth_blockNumber', 'eth_chainId', 'eth_gasPrice'],
  )
})

t.test('a long chain is read for its newest blocks, and for fewer if the time is over', async (t) => {
  const long = askChain(1_000_000)
  await chainQuestions(long.ask, () => false)
  t.equal(long.asked.length, 16)
  t.strictSame(long.asked.slice(0, 2), ['latest', '0xf423f'])
  const short = askChain(1_000_000)
  await chainQuestions(short.ask, () => short.asked.length === 3)
  t.equal(short.asked.length, 3)
})

t.test('a busy chain gives a bounded number of questions', async (t) => {
  const transactions = Array.from({ length: 500 }, (_, at) => {
    const address = (first: string) => `0x${first}${at.toString(16).padStart(39, '0')}`
    return { hash: word('1', 64), from: address('a'), to: address('c'), input: '0x01' }
  })
  const block = { number: '0x0', hash: word('1', 64), transactions }
  const bodies = await chainQuestions(
    async () => Buffer.from(JSON.stringify({ result: block })),
    () => false,
  )
  t.ok(bodies.length < 1_000, String(bodies.length))
})

t.test('each method has its turn before any is asked for the second time', async (t) => {
  const names = callsOf(await chainQuestions(askChain(3).ask, () => false)).map(({ method }) => method)
  const firsts = new Set(names)
  t.ok(firsts.size > 10)
  t.strictSame(names.slice(0, firsts.size), [...firsts])
})

t.test('a gateway is asked for constants alone', async (t) => {
  const names = new Set(callsOf(constantQuestions).map(({ method }) => method))
  t.strictSame([...names], ['eth_chainId', 'web3_clientVersion'])
})
