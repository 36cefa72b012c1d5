import t from 'tap'
import { quantity } from '../../rpc/demoChain.js'
import { openForkingEndpoint } from '../../rpc/forkingEndpoint.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'
import { addressOfNumber, growFrom } from '../../unit/serving/streams/forkingChain.js'

const method = 'tidegate_getLogs'
const alice = addressOfNumber(1)
const bob = addressOfNumber(2)
const byAlice = [{ address: alice, topics: [] }]
const byBoth = [...byAlice, { address: bob, topics: [] }]

interface Page {
  readonly logs: readonly { readonly blockNumber: string; readonly blockHash: string }[]
  readonly next: string | null
}

t.test('pages put together are the whole answer', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  for (const [filter, limit] of [
    [{ fromBlock: 'earliest' }, 100],
    [{ fromBlock: '0x20', toBlock: '0xc0' }, 1],
    [{ fromBlock: 'earliest', address: addressOfNumber(1) }, 10],
    [{ fromBlock: '0x10', topics: [[]] }, 100_000],
  ] as const) {
    const [whole] = await askResults(service, [['eth_getLogs', [filter]]])
    const got: unknown[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const [page]: Page[] = await askResults(service, [[method, [{ ...filter, limit, cursor }]]])
      const { logs = [], next = null } = page ?? {}
      const blocks = new Set(logs.map(({ blockNumber }) => blockNumber))
      t.ok(logs.length <= limit || blocks.size === 1)
      got.push(...logs)
      cursor = next
    }
    t.strictSame(got, whole)
  }
  const because = (why: string) => `invalid argument 0: ${why}`
  await checkRefusals(t, service, method, [
    [[], -32602, 'missing value for required argument 0'],
    [[{ limit: 0 }], -32602, because('limit: want an integer from 1 on')],
    [[{ limit: '0x1' }], -32602, because('limit: want an integer from 1 on')],
    [[{ cursor: '0x12' }], -32602, because('hex string has length 2, want 96 for cursor')],
    [[{ cursor: `0x${'ff'.repeat(48)}` }], -32602, because('cursor: not one that was answered')],
    [[{ cursor: `0x${'00'.repeat(48)}` }], -32602, because('cursor: its block is not known')],
    [[{ fromBlock: '0x2', toBlock: '0x1' }], -32602, 'invalid block range params'],
  ])
})

t.test('the range stays while blocks come, and branches above the cursor count', async (t) => {
  const { forks, ask } = openForkingEndpoint(t)
  const blocks = forks.extend(byBoth, byBoth, byBoth, byBoth)
  const first: Page = await ask(method, [{ fromBlock: '0x0', limit: 2 }])
  t.strictSame(
    first.logs.map(({ blockNumber }) => blockNumber),
    ['0x1', '0x1'],
  )
  forks.extend(byBoth, byBoth)
  const cursor = first.next
  const rest: Page = await ask(method, [{ cursor }])
  t.strictSame(
    rest.logs.map(({ blockNumber }) => Number(blockNumber)),
    [2, 2, 3, 3, 4, 4],
  )
  t.equal(rest.next, null)
  // The second block is replaced, the first one stays; the new chain is shorter than the range.
  const branch = growFrom(blocks[0] as never, [byAlice, byAlice])
  forks.write(branch[1] as never)
  forks.chain.refreshHead()
  const short: Page = await ask(method, [{ cursor }])
  t.strictSame(
    short.logs.map(({ blockHash }) => blockHash),
    branch.map(({ hash }) => hash),
  )
  t.ok(short.next, 'the range is not at its end')
  const empty: Page = await ask(method, [{ cursor: short.next }])
  t.strictSame(empty, { logs: [], next: short.next })
  forks.extend(byAlice, byAlice)
  const last: Page = await ask(method, [{ cursor: short.next, address: bob }])
  t.strictSame(last, { logs: [], next: null })
})

t.test('a cursor whose block has left the chain says from where to begin anew', async (t) => {
  const { forks, ask, answer } = openForkingEndpoint(t)
  const blocks = forks.extend(byAlice, byAlice, byAlice, byAlice)
  const { next }: Page = await ask(method, [{ fromBlock: '0x1', limit: 3 }])
  const branch = growFrom(blocks[0] as never, [byBoth, byBoth, byBoth, byBoth])
  forks.write(branch[3] as never)
  forks.chain.refreshHead()
  const { error } = await answer(method, [{ cursor: next }])
  t.strictSame(error, {
    code: -32000,
    message:
      'the block of this cursor left the chain; drop everything above block 0x1, and start again there',
    data: 1,
  })
  const anew: Page = await ask(method, [{ fromBlock: quantity(1 + 1) }])
  t.equal(anew.logs.length, 8)
})
