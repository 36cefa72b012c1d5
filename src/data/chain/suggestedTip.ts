import { equalBytes } from '../../primitives/bytes.js'
import { senderAt } from '../store/storedBlock.js'
import type { BlockRows } from './blockRows.js'
import { transactionTips } from './transactionTips.js'

/* Defaults of go-ethereum's gas price oracle (eth/gasprice). */
const blocksMin = 20
const sampledPerBlock = 3
/** Percentile of the sampled tips. */
const percentile = 60
/** Tips below this many wei are ignored: bundles pay their builder in other ways. */
const ignoredBelow = 2n
/** Used if blocks give no sample. */
const tipDefault = 1_000_000n
const tipMax = 500_000_000_000n

/**
 * A tip in wei per gas that makes it likely that a transaction is in one of the next blocks. It is a percentile of the
 * lowest tips in the last blocks, from `first` on, without transactions of their miners. `readBlock` reads a block by
 * its number. Yields before each read.
 */
export function* suggestTip(
  headNumber: number,
  first: number,
  readBlock: (number: number) => BlockRows | undefined,
): Generator<undefined, bigint> {
  const tips: bigint[] = []
  let number = headNumber
  // For each block without a sample another one is read, up to twice as many in all.
  const most = headNumber - first + 1
  let wanted = Math.min(blocksMin, most)
  let left = most - wanted
  while (wanted > 0) {
    yield undefined
    const block = readBlock(number--)
    wanted--
    const lowest = block === undefined ? [] : lowestTips(block)
    const sample = lowest.length === 0 ? [tipDefault] : lowest
    if (sample.length === 1 && tips.length + 1 + wanted < blocksMin * 2 && left > 0) {
      wanted++
      left--
    }
    for (const tip of sample) tips.push(tip)
  }
  tips.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const tip = tips[Math.floor(((tips.length - 1) * percentile) / 100)] ?? tipDefault
  return tip < tipMax ? tip : tipMax
}

function lowestTips(block: BlockRows): bigint[] {
  const { header, senders } = block
  return transactionTips(block)
    .filter((tip, index) => tip >= ignoredBelow && !equalBytes(senderAt(senders, index), header.miner))
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    .slice(0, sampledPerBlock)
}
