import t from 'tap'
import { someOf } from '../../library/property.js'
import { blockAt, quantity } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'trace_replayBlockTransactions'
const service = await startService()
t.teardown(() => service.stop())

t.test('each transaction is replayed as alone, with its hash', async (t) => {
  for (const number of someOf([14, 45, 57, 148, 264], 2)) {
    const { hash, transactions } = blockAt(number)
    for (const types of [['trace', 'vmTrace', 'stateDiff'], ['stateDiff'], []]) {
      const [byNumber, byHash, ...alone] = await askResults(service, [
        [method, [quantity(number), types]],
        [method, [hash, types]],
        ...transactions.map(({ hash }) => ['trace_replayTransaction', [hash, types]] as const),
      ])
      t.strictSame(byHash, byNumber)
      t.strictSame(
        byNumber,
        alone.map((replay, at) => ({ ...replay, transactionHash: transactions[at]?.hash })),
      )
    }
  }
})

t.test('a block without transactions has none, and one that is not there is refused', async (t) => {
  const empty = [...Array(264).keys()].find((at) => blockAt(at + 1).transactions.length === 0) as number
  t.strictSame(await askResults(service, [[method, [quantity(empty + 1), ['trace']]]]), [[]])
  await checkRefusals(t, service, method, [
    [['0xffff', ['trace']], -32000, 'block #65535 not found'],
    [['earliest', ['trace']], -32000, 'genesis is not traceable'],
    [['pending', ['trace']], -32000, 'tracing on top of pending is not supported'],
  ])
})
