import t from 'tap'
import { blocks, unknownHash } from '../../rpc/demoChain.js'
import { listCalls, nestedCalls } from '../../rpc/otterscanCalls.js'
import { startService } from '../../service/service.js'

const method = 'ots_getInternalOperations'
const service = await startService()
t.teardown(() => service.stop())

const numbers: Readonly<Record<string, number>> = { CALL: 0, SELFDESTRUCT: 1, CREATE: 2, CREATE2: 3 }

t.test('operations are the inner calls that move ether or create and were not undone', async (t) => {
  const counts = new Map<number, number>()
  let undone = 0
  for (const { transactions } of blocks) {
    for (const { hash } of transactions.slice(0, 2)) {
      const inner = [...listCalls(await nestedCalls(service, hash))].filter(
        ({ call: { type, value }, depth }) =>
          depth > 0 && type in numbers && (type !== 'CALL' || value !== '0x0'),
      )
      const kept = inner.filter(({ isUndone }) => !isUndone)
      undone += inner.length - kept.length
      const { result } = await service.call(method, [hash])
      t.strictSame(
        result,
        kept.map(({ call: { type, from, to, value } }) => ({ type: numbers[type], from, to, value })),
        hash,
      )
      for (const { type } of result) counts.set(type, (counts.get(type) ?? 0) + 1)
    }
  }
  t.comment(`operations by type: ${JSON.stringify([...counts])}, undone: ${undone}`)
  t.ok((counts.get(0) ?? 0) > 0)
  t.ok((counts.get(2) ?? 0) + (counts.get(3) ?? 0) > 0)
})

t.test('a transaction that the chain does not have is null', async (t) => {
  t.equal((await service.call(method, [unknownHash])).result, null)
})
