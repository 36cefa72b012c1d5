/** Options of a subscription, and refusals. */
import t from 'tap'
import { until } from '../../../library/until.js'
import { openStreams } from './openStreams.js'
import { type Event, settle, TestClient } from './testClient.js'

const alice = `0x${'a1'.repeat(20)}`
const bob = `0x${'b0'.repeat(20)}`
const transfer = `0x${'dd'.repeat(32)}`
const byAlice = { address: alice, topics: [transfer] }
const byBob = { address: bob, topics: [] }

t.test('a range of blocks with an end is go-ethereum’s: nothing is sent again, bounds hold', async (t) => {
  const { forks, endpoint } = openStreams(t)
  forks.extend([byAlice], [byAlice])
  const client = new TestClient(endpoint)
  const subscribe = (range: object) => client.subscribe('logs', range)
  // go-ethereum's own client asks for logs from now on with these words.
  const open = [
    subscribe({ fromBlock: '0x0', toBlock: 'latest' }),
    subscribe({ fromBlock: 'earliest', toBlock: 'latest' }),
    subscribe({ fromBlock: 'latest', toBlock: 'latest' }),
    subscribe({ toBlock: 'latest' }),
    subscribe({ fromBlock: '0x0' }),
    subscribe({ fromBlock: null, toBlock: null }),
  ]
  const bounded = [
    subscribe({ fromBlock: '0x4', toBlock: 'latest' }),
    subscribe({ fromBlock: '0x0', toBlock: '0x3' }),
    subscribe({ fromBlock: '0x4', toBlock: '0x4' }),
    subscribe({ fromBlock: '0x1', toBlock: '0x2' }),
  ]
  await settle()
  t.equal(client.sent.length, open.length + bounded.length, 'nothing but ids')
  forks.extend([byAlice], [byAlice], [byAlice])
  await until(() => client.results(open[5] ?? '').length === 3)
  const numbers = (id: string) => client.results(id).map(({ blockNumber }) => Number(blockNumber))
  for (const id of open) t.strictSame(numbers(id), [3, 4, 5])
  t.strictSame(bounded.map(numbers), [[4, 5], [3], [4], []])
  t.strictSame(
    client.events(bounded[0] ?? '').map(({ seq }) => seq),
    [1, 2],
  )
})

t.test('replayFrom begins in the past, whatever bounds hold, and so does a hash as fromBlock', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const blocks = forks.extend([byAlice], [byAlice], [byAlice])
  const client = new TestClient(endpoint)
  const numbers = (id: string) => client.results(id).map(({ blockNumber }) => Number(blockNumber))
  const cases = [
    [{ replayFrom: 'earliest' }, [1, 2, 3, 4]],
    [{ replayFrom: '0x2' }, [2, 3, 4]],
    [{ replayFrom: '0x2', fromBlock: '0x3' }, [3, 4]],
    [{ replayFrom: '0x1', fromBlock: '0x0', toBlock: '0x2' }, [1, 2]],
    [{ replayFrom: blocks[1]?.hash }, [3, 4]],
    [{ fromBlock: blocks[1]?.hash }, [3, 4]],
    [{ fromBlock: '0x1' }, [4]],
  ] as const
  const ids = cases.map(([options]) => client.subscribe('logs', options))
  await settle()
  forks.extend([byAlice])
  await until(() => numbers(ids[6] ?? '').length === 1)
  t.strictSame(
    ids.map(numbers),
    cases.map(([, expected]) => expected),
  )
})

t.test('newHeads passes over a boolean, as some clients send it', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const id = client.subscribe('newHeads', true)
  forks.extend([])
  await until(() => client.results(id).length === 1)
  t.match(client.results(id), [{ number: '0x1' }])
})

t.test('what is no subscription is refused with a reason', async (t) => {
  const { endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const topic = `0x${'01'.repeat(32)}`
  const cases: readonly (readonly [params: unknown, code: number, message: string])[] = [
    [[], -32602, 'missing value for required argument 0'],
    [[null, {}], -32602, 'missing value for required argument 0'],
    [[7], -32602, 'invalid argument 0: want a subscription name, got number'],
    [['newheads'], -32601, 'no "newheads" subscription in eth namespace'],
    [['__proto__'], -32601, 'no "__proto__" subscription in eth namespace'],
    [['x'.repeat(100)], -32601, `no "${'x'.repeat(64)}…" subscription in eth namespace`],
    [
      ['newPendingTransactions'],
      -32601,
      'no "newPendingTransactions" subscription in eth namespace: this network has no transaction pool, and follows no node that has one',
    ],
    [['newHeads', {}, {}], -32602, 'too many arguments, want at most 2'],
    [['newHeads', 'latest'], -32602, 'invalid argument 1: want an object of options, got string'],
    [['newHeads', []], -32602, 'invalid argument 1: want an object of options, got array'],
    [
      ['newHeads', { address: alice }],
      -32602,
      'invalid argument 1: unknown member "address"; an object of options takes replayFrom, fromBlock, policy, queueBytes',
    ],
    [
      ['syncing', { policy: 'close' }],
      -32602,
      'invalid argument 1: unknown member "policy"; an object of options takes none',
    ],
    [
      ['newHeads', { policy: 'drop' }],
      -32602,
      'invalid argument 1: policy: want one of close, conflate, dropOldest',
    ],
    [
      ['logs', { policy: 'conflate' }],
      -32602,
      'invalid argument 1: policy: "conflate" keeps the newest head; logs have none',
    ],
    ...[-1, 1.5, '0x10', 2 ** 24 + 1].map(
      (queueBytes) =>
        [
          ['newHeads', { queueBytes }],
          -32602,
          'invalid argument 1: queueBytes: want an integer from 0 to 16777216',
        ] as const,
    ),
    ...[
      { fromBlock: 'latest', toBlock: '0x5' },
      { fromBlock: '0x6', toBlock: '0x5' },
      { toBlock: '0x5' },
      { fromBlock: 'finalized', toBlock: 'latest' },
      { fromBlock: '0x0', toBlock: 'safe' },
      { fromBlock: { blockHash: topic }, toBlock: 'latest' },
    ].map((range) => [['logs', range], -32602, 'invalid block range params'] as const),
    ...[
      { fromBlock: 'pending', toBlock: 'latest' },
      { fromBlock: '0x0', toBlock: 'pending' },
    ].map((range) => [['logs', range], -32602, 'pending logs are not supported'] as const),
    [
      ['newHeads', { toBlock: 'latest' }],
      -32602,
      'invalid argument 1: unknown member "toBlock"; an object of options takes replayFrom, fromBlock, policy, queueBytes',
    ],
    [['newHeads', { fromBlock: 'newest' }], -32602, 'invalid argument 1: hex string without 0x prefix'],
    [['newHeads', { fromBlock: 3 }], -32602, 'invalid argument 1: want a block number or tag, got number'],
    [
      ['logs', { address: '0x12' }],
      -32602,
      'invalid argument 1: hex string has length 2, want 40 for address',
    ],
    [
      ['logs', { address: [alice, 5] }],
      -32602,
      'invalid argument 1: want a hex string for address, got number',
    ],
    [
      ['logs', { address: [alice, null] }],
      -32602,
      'invalid argument 1: want a hex string for address, got null',
    ],
    [['logs', { topics: topic }], -32602, 'invalid argument 1: topics: want an array, got string'],
    [['logs', { topics: [[['0x']]] }], -32602, 'invalid argument 1: want a hex string for hash, got array'],
    [['logs', { topics: ['0x01'] }], -32602, 'invalid argument 1: hex string has length 2, want 64 for hash'],
    [
      ['logs', { topics: Array(5).fill(null) }],
      -32602,
      'invalid argument 1: topics: want at most 4 positions, got 5',
    ],
    [
      ['logs', { address: Array(600).fill(alice), topics: [Array(401).fill(topic)] }],
      -32602,
      'invalid argument 1: too many addresses and topics (max 1000, got 1001)',
    ],
  ]
  for (const [params, code, message] of cases) {
    t.strictSame(client.call('eth_subscribe', params).error, { code, message }, message)
  }
  for (const options of [
    { address: null, topics: null, fromBlock: null, policy: null, queueBytes: null },
    { address: [], topics: [] },
    { address: Array(600).fill(alice), topics: [Array(400).fill(topic)], queueBytes: 0 },
    { topics: [null, [], [null, topic], topic] },
    undefined,
  ]) {
    t.match(client.call('eth_subscribe', ['logs', options]), { result: /^0x/ })
  }
})

t.test('a topic list that holds null lets anything pass, as an empty one does', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const ids = [[null], [[]], [[null, `0x${'01'.repeat(32)}`]], [transfer], [null, null]].map((topics) =>
    client.subscribe('logs', { topics }),
  )
  forks.extend([byAlice, byBob])
  await settle()
  // The log of bob has no topic, and that of alice no second one.
  t.strictSame(
    ids.map((id) => client.results(id).map(({ address }: Event) => address)),
    [[alice], [alice], [alice], [alice], []],
  )
})
