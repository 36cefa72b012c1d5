import t from 'tap'
import { blocks, type Json, unknownHash } from '../../rpc/demoChain.js'
import { isLow, listCalls, nestedCalls } from '../../rpc/otterscanCalls.js'
import { startService } from '../../service/service.js'

const method = 'ots_traceTransaction'
const service = await startService()
t.teardown(() => service.stop())

t.test('calls are those of callTracer as a list, without precompiled contracts', async (t) => {
  const types = new Set<unknown>()
  let undone = 0
  for (const { transactions } of blocks) {
    for (const { hash } of transactions.slice(0, 2)) {
      const { result } = await service.call(method, [hash])
      const nested = await nestedCalls(service, hash)
      const expected = [...listCalls(nested)].filter(
        ({ call: { type, to }, depth }) => depth === 0 || type === 'SELFDESTRUCT' || !isLow(to),
      )
      const listed = expected.map(({ call, depth }, index) => ({
        type: call.type,
        depth,
        from: call.from,
        // callTracer has no address for a creation that failed.
        to: call.to ?? (result as Json[])[index]?.to,
        value: call.type === 'DELEGATECALL' ? null : (call.value ?? null),
        input: call.input,
        output: call.output ?? '0x',
      }))
      t.strictSame(result, listed, hash)
      for (const { call, isUndone } of expected) {
        types.add(call.type)
        if (isUndone) undone++
      }
    }
  }
  for (const type of ['CALL', 'DELEGATECALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])
    t.ok(types.has(type), type)
  t.ok(undone > 0)
})

t.test('a transaction that the chain does not have is null', async (t) => {
  t.equal((await service.call(method, [unknownHash])).result, null)
})
