import t from 'tap'
import { startService } from '../service.js'
import { headBlock, quantity, sights } from './demoChain.js'
import { checkRefusals, countRefusals } from './questions.js'
import { baseFeeOf } from './transactionOracle.js'

const method = 'eth_gasPrice'
const service = await startService()
t.teardown(() => service.stop())

/** The oracle of go-ethereum, from the blocks as they are served. */
async function suggestedTip(): Promise<bigint> {
  const tips: bigint[] = []
  const byValue = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0)
  let number = headBlock.number
  for (let left = 20; left > 0; left--) {
    const { result: block } = await service.call('eth_getBlockByNumber', [quantity(number--), true])
    const lowest = (block.transactions as { gasPrice: string; from: string }[])
      .filter(({ from }) => from !== block.miner)
      .map(({ gasPrice }) => BigInt(gasPrice) - BigInt(block.baseFeePerGas))
      .filter((tip) => tip > 1n)
      .sort(byValue)
      .slice(0, 3)
    if (lowest.length < 2 && tips.length + left < 40) left++
    tips.push(...(lowest.length === 0 ? [1_000_000n] : lowest))
  }
  return tips.sort(byValue)[Math.floor(((tips.length - 1) * 60) / 100)] as bigint
}

t.test('it follows the lowest tips of the last blocks', async (t) => {
  t.equal((await service.call(method)).result, quantity((await suggestedTip()) + baseFeeOf(headBlock)))
  await checkRefusals(t, service, method, countRefusals([]))
})

t.test('a chain of one block has a suggestion too', async (t) => {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method, at: sights.genesisHash })
  t.equal(JSON.parse((await service.post('/', call)).text).result, '0xf4240')
})
