import t from 'tap'
import { blocks, quantity } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { baseFeeOf } from '../../rpc/transactionOracle.js'
import { startService } from '../../service/service.js'

const method = 'eth_baseFee'
const service = await startService()
t.teardown(() => service.stop())

t.test('it is the base fee of the block after the head, whatever that is', async (t) => {
  const calls = blocks
    .slice(0, -1)
    .map(({ hash }, id) => ({ jsonrpc: '2.0', id, method, params: [], at: hash }))
  const { text } = await service.post('/', JSON.stringify(calls))
  const fees: string[] = JSON.parse(text).map(({ result }: { result: string }) => result)
  for (const [at, fee] of fees.entries()) {
    const next = blocks[at + 1]
    if (next === undefined) throw new RangeError('a block too few')
    // The pending block is 12 s after its parent, and a fork by time may have come with the real one.
    t.equal(fee, next.header.length > 15 ? quantity(baseFeeOf(next)) : null, `block ${next.number}`)
  }
  t.equal(
    (await service.call(method)).result,
    (await service.call('eth_getBlockByNumber', ['pending', false])).result.baseFeePerGas,
  )
  await checkRefusals(t, service, method, countRefusals([]))
})
