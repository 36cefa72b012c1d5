import { equalBytes } from '../../primitives/bytes.js'
import { rlpListSpans, rlpSpanAt } from '../../primitives/rlp.js'
import { senderAt } from '../store/storedBlock.js'
import type { ExecutedBlock } from './blockReceipts.js'
import type { BlockRows } from './blockRows.js'
import { readReceipt } from './logJson.js'
import { integerOfItem } from './rlpJson.js'
import { effectiveGasPrice } from './transactionJson.js'

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

/** Tip of each transaction of a block, in wei per gas, in order. */
export function transactionTips(rows: BlockRows): bigint[] {
  const { baseFeePerGas } = rows.facts
  const baseFee = BigInt(baseFeePerGas ?? 0)
  return rows.transactions.map((span) => {
    const transaction = rows.read(span)
    // A transaction forced into a block pays nothing.
    if (transaction.layout.maxFee === undefined) return 0n
    return BigInt(effectiveGasPrice(transaction, baseFeePerGas)) - baseFee
  })
}

/** Gas used by each transaction of a block, in order. */
export function gasUsedByEach({ receipts }: Pick<ExecutedBlock, 'receipts'>): number[] {
  let before = 0
  return rlpListSpans(receipts, rlpSpanAt(receipts, 0)).map(({ start }) => {
    const cumulative = Number(integerOfItem(receipts, readReceipt(receipts, start).cumulativeGas))
    const used = cumulative - before
    before = cumulative
    return used
  })
}
