import type { Service } from '../service/service.js'
import { headBlock, quantity } from './demoChain.js'

/** The tip that go-ethereum suggests at the head, computed from the served blocks. */
export async function suggestedTip(service: Service): Promise<bigint> {
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
