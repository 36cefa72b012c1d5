import t from 'tap'
import { bytesOf, genesis, keccak } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_accountRange'
const service = await startService()
t.teardown(() => service.stop())

interface Dumped {
  readonly balance: string
  readonly nonce: number
  readonly root: string
  readonly codeHash: string
  readonly code?: string
  readonly storage?: Record<string, string>
  readonly address: string
  readonly key: string
}

interface Page {
  readonly root: string
  readonly accounts: Record<string, Dumped>
  readonly next?: string
}

async function pages(block: string, count: number): Promise<Dumped[]> {
  const found: Dumped[] = []
  for (let start: string | undefined = '0x'; start !== undefined; ) {
    const [page] = (await askResults(service, [[method, [block, start, count]]])) as [Page]
    found.push(...Object.values(page.accounts))
    start = page.next
  }
  return found
}

t.test('all pages together are all accounts, as other methods read them', async (t) => {
  for (const [block, count] of [
    ['earliest', 7],
    ['0xc8', 30],
    ['latest', 0],
  ] as const) {
    const all = await pages(block, count)
    if (block === 'earliest')
      t.equal(all.length, Object.keys((genesis as unknown as { alloc: object }).alloc).length)
    for (const { address, key } of all) t.equal(key, keccak(bytesOf(address)))
    const keys = all.map(({ key }) => key)
    t.strictSame(keys, [...new Set(keys)].sort())
    const read = await askResults(
      service,
      all.flatMap(({ address, storage = {} }) => [
        ['eth_getAccount', [address, block]] as const,
        ['eth_getCode', [address, block]] as const,
        [
          'eth_getStorageValues',
          [{ [address]: [`0x${'0'.repeat(64)}`, ...Object.keys(storage).slice(0, 100)] }, block],
        ] as const,
      ]),
    )
    for (const [
      at,
      { address, balance, nonce, root, codeHash, code = '0x', storage = {} },
    ] of all.entries()) {
      const [account, held, values] = read.slice(at * 3)
      t.equal(`0x${BigInt(balance).toString(16)}`, account.balance)
      t.match(account, { nonce: `0x${nonce.toString(16)}`, codeHash, storageRoot: root })
      t.equal(code, held)
      const digits = Object.values(storage).slice(0, 100)
      t.strictSame(
        values[address].slice(1),
        digits.map((value) => `0x${value.padStart(64, '0')}`),
      )
    }
  }
})

t.test('code and storage are left out on demand', async (t) => {
  const [page] = (await askResults(service, [[method, ['latest', '0x', 256, true, true, true]]])) as [Page]
  for (const account of Object.values(page.accounts))
    t.notMatch(Object.keys(account).join(), /code\b|storage/)
})

t.test('what is no block, start or number is refused', async (t) => {
  await checkRefusals(t, service, method, [
    [['pending', '0x', 1], -32000, 'header not found'],
    [['0xffff', '0x', 1], -32000, 'header not found'],
    [['latest', `0x${'00'.repeat(33)}`, 1], -32602, 'invalid argument 1: want at most 32 bytes, got 33'],
    [['latest', '0x'], -32602, 'missing value for required argument 2'],
    [
      ['latest', '0x', -1],
      -32602,
      'invalid argument 2: want a number of accounts from 0 to 9007199254740991, got -1',
    ],
  ])
})
