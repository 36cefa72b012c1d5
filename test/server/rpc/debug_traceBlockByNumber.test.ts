import t from 'tap'
import { someOf } from '../../library/property.js'
import { blockAt, quantity } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_traceBlockByNumber'
const service = await startService()
t.teardown(() => service.stop())

t.test('a block is traced as its transactions are one by one', async (t) => {
  for (const number of someOf([10, 45, 100, 240], 2)) {
    const { transactions } = blockAt(number)
    const options = { tracer: 'callTracer', tracerConfig: { withLog: true } }
    const whole = (await service.call(method, [quantity(number), options])).result
    t.equal(whole.length, transactions.length)
    for (const [index, { hash }] of transactions.entries()) {
      const { result } = await service.call('debug_traceTransaction', [hash, options])
      t.strictSame(whole[index], { txHash: hash, result })
    }
  }
})

t.test('what cannot be traced is refused', async (t) => {
  await checkRefusals(t, service, method, [
    [['0x0'], -32000, 'genesis is not traceable'],
    [['earliest'], -32000, 'genesis is not traceable'],
    [['0xffff'], -32000, 'block #65535 not found'],
    [['pending'], -32000, 'tracing on top of pending is not supported'],
  ])
})
