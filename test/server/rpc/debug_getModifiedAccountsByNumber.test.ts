import t from 'tap'
import { blockAt, quantity } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_getModifiedAccountsByNumber'
const service = await startService()
t.teardown(() => service.stop())

/** Address → account after a block, by the method that lists all of them. */
async function accountsAt(number: number): Promise<Map<string, string>> {
  const [page] = await askResults(service, [
    ['debug_accountRange', [quantity(number), '0x', 256, true, true]],
  ])
  t.notOk(page.next)
  const accounts = Object.values(page.accounts) as { readonly address: string }[]
  return new Map(accounts.map((account) => [account.address, JSON.stringify(account)]))
}

t.test('accounts are those that differ in lists of all accounts', async (t) => {
  for (const [first, last] of [
    [13, 14],
    [40, 60],
    [0, 264],
    [199, 201],
  ] as const) {
    const before = await accountsAt(first)
    const after = await accountsAt(last)
    const differing = [...after.keys()].filter((address) => after.get(address) !== before.get(address))
    const [got] = await askResults(service, [[method, [first, last]]])
    t.strictSame(got, differing)
    const hashes = [first, last].map((number) => (number === 0 ? undefined : blockAt(number).hash))
    if (first === 0) continue
    const [byHash] = await askResults(service, [['debug_getModifiedAccountsByHash', hashes]])
    t.strictSame(byHash, differing)
    if (last !== first + 1) continue
    const [alone] = await askResults(service, [[method, [last]]])
    t.strictSame(alone, differing)
  }
})

t.test('blocks that are unknown, the same, or in the wrong order are refused', async (t) => {
  await checkRefusals(t, service, method, [
    [[5, 5], -32000, 'start block height (5) must be less than end block height (5)'],
    [[6, 5], -32000, 'start block height (6) must be less than end block height (5)'],
    [[0], -32000, 'block 0 has no parent'],
    [[4096], -32000, 'start block 1000 not found'],
    [[1, 4096], -32000, 'end block 4096 not found'],
  ])
})
