import t from 'tap'
import { blockAt, quantity } from '../../rpc/demoChain.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'trace_block'
const service = await startService()
t.teardown(() => service.stop())

t.test('a block is listed as its transactions and its rewards', async (t) => {
  for (const number of [10, 45, 100, 240]) {
    const { transactions, uncles, hash } = blockAt(number)
    const { result } = await service.call(method, [quantity(number)])
    const expected: object[] = []
    for (const { hash } of transactions) {
      expected.push(...(await service.call('trace_transaction', [hash])).result)
    }
    const isReward = ({ type }: { type: string }) => type === 'reward'
    t.strictSame(
      result.filter((each: { type: string }) => !isReward(each)),
      expected,
    )
    const rewards = result.filter(isReward)
    const hasRewards =
      (await service.call('eth_getBlockByNumber', [quantity(number), false])).result.difficulty !== '0x0'
    t.equal(rewards.length, hasRewards ? 1 + uncles.length : 0)
    for (const reward of rewards) {
      t.match(reward, { blockHash: hash, blockNumber: number, result: null, transactionHash: null })
    }
  }
})

t.test('a miner and an uncle get what the yellow paper says', async (t) => {
  const withUncle = await findUncle()
  const { result } = await service.call(method, [quantity(withUncle)])
  const [block, uncle] = result.filter(({ type }: { type: string }) => type === 'reward')
  t.equal(block.action.rewardType, 'block')
  t.equal(uncle.action.rewardType, 'uncle')
  const own = BigInt(block.action.value)
  const other = BigInt(uncle.action.value)
  const base = (own * 32n) / 33n
  t.ok([5n, 3n, 2n].some((ether) => base === ether * 10n ** 18n))
  t.ok(other < base && other % (base / 8n) === 0n)
})

async function findUncle(): Promise<number> {
  for (let number = 1; ; number++) if (blockAt(number).uncles.length === 1) return number
}

t.test('what cannot be traced is refused', async (t) => {
  await checkRefusals(t, service, method, [
    [['earliest'], -32000, 'genesis is not traceable'],
    [['0xffff'], -32000, 'block #65535 not found'],
    [['pending'], -32000, 'tracing on top of pending is not supported'],
  ])
})
