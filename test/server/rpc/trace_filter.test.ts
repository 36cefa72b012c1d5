import t from 'tap'
import { quantity } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'trace_filter'
const service = await startService()
t.teardown(() => service.stop())

interface Trace {
  readonly action: { readonly from?: string; readonly to?: string; readonly author?: string }
  readonly result?: { readonly address?: string } | null
}

const ask = async (filter: object): Promise<Trace[]> => (await service.call(method, [filter])).result

const range = { fromBlock: quantity(40), toBlock: quantity(60) }
const all: Trace[] = []
for (let number = 40; number <= 60; number++) {
  all.push(...(await service.call('trace_block', [quantity(number)])).result)
}

t.test('a range is listed as its blocks', async (t) => {
  t.ok(all.length > 20)
  t.strictSame(await ask(range), all)
  t.ok((await ask({})).length > all.length, 'without bounds the whole chain')
})

t.test('calls are found by their addresses', async (t) => {
  for (const side of ['from', 'to'] as const) {
    const addresses = new Set(all.flatMap(({ action }) => action[side] ?? []))
    t.ok(addresses.size > 1)
    for (const address of addresses) {
      const found = await ask({ ...range, [`${side}Address`]: [address] })
      t.ok(
        all
          .filter(({ action }) => action[side] === address)
          .every((each) => found.some((one) => isSame(one, each))),
      )
    }
  }
  const { from, to } = all.find(({ action }) => action.to !== undefined)?.action ?? {}
  for (const { action, result } of await ask({ ...range, fromAddress: [from], toAddress: [to] })) {
    // For a creation, the created contract counts as its recipient.
    t.strictSame([action.from, action.to ?? result?.address], [from, to])
  }
})

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

t.test('pages are parts of the list', async (t) => {
  t.strictSame(await ask({ ...range, after: 3, count: 5 }), all.slice(3, 8))
  t.strictSame(await ask({ ...range, after: '0x3', count: '0x5' }), all.slice(3, 8))
  t.strictSame(await ask({ ...range, count: 0 }), [])
  t.strictSame(await ask({ ...range, after: all.length }), [])
})

t.test('what cannot be asked is refused', async (t) => {
  await checkRefusals(t, service, method, [
    [[{ fromBlock: '0x5', toBlock: '0x4' }], -32602, 'invalid block range params'],
    [[{ toBlock: 'pending' }], -32000, 'tracing on top of pending is not supported'],
    [[{ after: -1 }], -32602, 'invalid argument 0: want a non-negative integer'],
    [[[]], -32602, 'invalid argument 0: want an object for a filter, got array'],
    [[{ toBlock: '0xffff' }], -32000, 'header not found'],
  ])
})
