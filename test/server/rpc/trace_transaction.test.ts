import t from 'tap'
import { blockAt, unknownHash } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const method = 'trace_transaction'
const service = await startService()
t.teardown(() => service.stop())

t.test('calls are listed as flatCallTracer lists them, with the gas of the code itself', async (t) => {
  const options = { tracer: 'flatCallTracer', tracerConfig: { convertParityErrors: true } }
  let failed = 0
  for (const number of [6, 7, 10, 45, 57, 100, 240]) {
    for (const { hash } of blockAt(number).transactions) {
      const { result } = await service.call(method, [hash])
      const flat = (await service.call('debug_traceTransaction', [hash, options])).result
      t.equal(result.length, flat.length)
      const found = (await service.call('eth_getTransactionByHash', [hash])).result
      for (const [index, { action, result: outcome, error, ...rest }] of result.entries()) {
        const { action: same, result: _, ...other } = flat[index]
        t.strictSame({ ...rest, ...(error === undefined ? {} : { error }) }, other)
        if (index > 0) t.strictSame(action, same)
        // Before the call, an intrinsic gas of at least 21,000 is paid.
        else t.ok(BigInt(action.gas) <= BigInt(found.gas) - 21_000n)
        if (error !== undefined) {
          failed++
          // A reverted call keeps its gas and its reason; an outermost one has also used its intrinsic gas.
          if (error !== 'Reverted') t.equal(outcome, undefined)
          else t.match(outcome, index > 0 ? flat[index].result : { output: flat[index].result.output })
        } else t.equal(outcome === null, rest.type === 'suicide')
      }
    }
  }
  t.ok(failed > 0)
})

t.test('a transaction that the chain does not have is null', async (t) => {
  t.equal((await service.call(method, [unknownHash])).result, null)
})
