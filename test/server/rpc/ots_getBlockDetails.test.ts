import t from 'tap'
import { blocks, forkBlock, integer, type Json, quantity } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

const ether = 10n ** 18n
const rewardAt = (number: number): bigint => {
  if (number >= forkBlock('constantinople')) return 2n * ether
  return number >= forkBlock('byzantium') ? 3n * ether : 5n * ether
}

t.test('every block has its number of transactions, its fees and what it created', async (t) => {
  let uncleCount = 0
  for (const { number: asked, uncles } of blocks) {
    const number = Number(asked)
    const tag = quantity(number)
    const block = (await service.call('eth_getBlockByNumber', [tag, false])).result
    const receipts = (await service.call('eth_getBlockReceipts', [tag])).result as Json[]
    const { transactions, ...rest } = block
    const fees = receipts.reduce(
      (sum, { gasUsed, effectiveGasPrice }) =>
        sum + BigInt(gasUsed as string) * BigInt(effectiveGasPrice as string),
      0n,
    )
    const reward = BigInt(block.difficulty) === 0n || number === 0 ? 0n : rewardAt(number)
    const ofUncles = uncles.reduce((sum, uncle) => {
      const age = BigInt(number) - integer(uncle[8] as Uint8Array)
      return sum + (reward * (8n - age)) / 8n
    }, 0n)
    const own = reward + (reward * BigInt(uncles.length)) / 32n
    uncleCount += uncles.length
    const { result } = await service.call('ots_getBlockDetails', [number % 2 === 0 ? number : tag])
    const expected = {
      block: { ...rest, logsBloom: null, transactionCount: quantity(transactions.length) },
      issuance: {
        blockReward: quantity(own),
        uncleReward: quantity(ofUncles),
        issuance: quantity(own + ofUncles),
      },
      totalFees: quantity(fees),
    }
    if (!t.same(result, expected, `block ${number}`)) return
  }
  t.ok(uncleCount > 0)
})

t.test('a block that is not there is null', async (t) => {
  t.equal((await service.call('ots_getBlockDetails', ['0xffff'])).result, null)
})
