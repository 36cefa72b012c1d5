import t from 'tap'
import { examples, genesis } from '../../rpc/demoChain.js'
import { listCalls, traceChain } from '../../rpc/otterscanCalls.js'
import { startService } from '../../service/service.js'

const method = 'ots_getContractCreator'
const service = await startService()
t.teardown(() => service.stop())

const creatorOf = async (address: string) => (await service.call(method, [address])).result

t.test('each contract has its creator, also one that a contract created', async (t) => {
  const creations = new Map<string, Set<string>>()
  const inner = new Set<string>()
  for (const { hash, call } of await traceChain(service)) {
    for (const { call: each, depth, isUndone } of listCalls(call)) {
      if (!each.type.startsWith('CREATE') || isUndone || each.to === undefined) continue
      const known = creations.get(each.to) ?? new Set()
      creations.set(each.to, known.add(JSON.stringify({ hash, creator: each.from })))
      if (depth > 0) inner.add(each.to)
    }
  }
  let compared = 0
  let within = 0
  for (const [address, known] of creations) {
    const found = await creatorOf(address)
    if (!(await service.call('ots_hasCode', [address])).result) {
      t.equal(found, null, address)
      continue
    }
    t.ok(known.has(JSON.stringify(found)), address)
    compared++
    if (inner.has(address)) within++
  }
  t.ok(compared > 5)
  t.ok(within > 0)
})

t.test('an address without code, and a contract of genesis, has none', async (t) => {
  t.equal(await creatorOf(examples.accounts[0]?.address ?? ''), null)
  t.equal(await creatorOf(`0x${'5a'.repeat(20)}`), null)
  const { alloc } = genesis as unknown as {
    readonly alloc: Readonly<Record<string, { readonly code?: string }>>
  }
  for (const [address, { code }] of Object.entries(alloc)) {
    if (code !== undefined) t.equal(await creatorOf(`0x${address.replace(/^0x/, '')}`), null)
  }
})
