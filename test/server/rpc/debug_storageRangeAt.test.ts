import t from 'tap'
import { addressOf, blockAt, bytesOf, keccak, quantity } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_storageRangeAt'
const service = await startService()
t.teardown(() => service.stop())
const tide = addressOf('Tide')

interface Range {
  readonly storage: Record<string, { readonly key: string; readonly value: string }> | null
  readonly nextKey: string | null
}

t.test('pages are the whole storage, as the block before left it', async (t) => {
  for (const number of [45, 200, 264]) {
    const [whole] = (await askResults(service, [[method, [quantity(number), 0, tide, '0x', 10_000]]])) as [
      Range,
    ]
    t.equal(whole.nextKey, null)
    const parts: [string, unknown][] = []
    for (let start: string | null = '0x00'; start !== null; ) {
      const [page] = (await askResults(service, [[method, [blockAt(number).hash, 0, tide, start, 3]]])) as [
        Range,
      ]
      parts.push(...Object.entries(page.storage ?? {}))
      start = page.nextKey
    }
    const hashes = parts.map(([hash]) => hash)
    t.ok(hashes.length > 5)
    t.strictSame(hashes, [...hashes].sort())
    t.strictSame(Object.fromEntries(parts), whole.storage)
    const slots = Object.entries(whole.storage ?? {})
    const before = quantity(number - 1)
    const values = await askResults(
      service,
      slots.map(([, { key }]) => ['eth_getStorageAt', [tide, key, before]] as const),
    )
    for (const [at, [hash, { key, value }]] of slots.entries()) {
      t.equal(hash, keccak(bytesOf(key)))
      t.equal(value, values[at])
    }
  }
})

t.test('an account without storage has none, and an index is checked', async (t) => {
  const [none] = await askResults(service, [[method, ['latest', 0, addressOf('bea'), '0x', 5]]])
  t.strictSame(none, { storage: null, nextKey: null })
  const { hash } = blockAt(45)
  const count = blockAt(45).transactions.length
  const beyond = `transaction index ${count} out of range for block ${hash}`
  await checkRefusals(t, service, method, [
    [[hash, count, tide, '0x', 1], -32000, beyond],
    [['earliest', 0, tide, '0x', 1], -32000, 'genesis is not traceable'],
    [['0xffff', 0, tide, '0x', 1], -32000, 'block #65535 not found'],
  ])
})
