/** Fees of blocks and tips of their transactions, as in go-ethereum's `eth_feeHistory` (eth/gasprice). */
import type { ExecutedBlock } from './blockReceipts.js'
import { blobBaseFee, gasPerBlob } from './feeMarket.js'
import type { ForkSchedule } from './forks.js'
import type { Header } from './header.js'
import { gasUsedByEach, transactionTips } from './suggestedTip.js'

/** Prices in wei per gas; zero before the fork that introduces them. */
interface BlockFees {
  readonly baseFee: bigint
  readonly blobBaseFee: bigint
  /** Gas used divided by the gas limit: 0 to 1. */
  readonly gasUsedRatio: number
  readonly blobGasUsedRatio: number
}

export function blockFees(header: Header, schedule: ForkSchedule): BlockFees {
  const parameters = schedule.blobParametersAt(schedule.forkOf(header))
  const blobGasMax = (parameters?.max ?? 0) * Number(gasPerBlob)
  return {
    baseFee: header.baseFeePerGas ?? 0n,
    blobBaseFee: schedule.blobGasPrice(header) ?? 0n,
    gasUsedRatio: Number(header.gasUsed) / Number(header.gasLimit),
    blobGasUsedRatio: blobGasMax === 0 ? 0 : Number(header.blobGasUsed ?? 0n) / blobGasMax,
  }
}

/** Prices of the block after `parent`, which follow from `parent` and its rules. */
export function feesAfter(
  parent: Header,
  schedule: ForkSchedule,
): Pick<BlockFees, 'baseFee' | 'blobBaseFee'> {
  const { londonBlock, config, family } = schedule
  const number = parent.number + 1
  const { timestamp } = parent
  const hasBaseFee = londonBlock !== undefined && number >= londonBlock
  // As in go-ethereum, by the rules of the parent, even if the next block has another fork.
  const rules = schedule.rulesAt(schedule.forkOf(parent))
  const { excessBlobGas = 0n } = family.headers.child(parent, { number, timestamp, ...rules })
  const hasBlobs = parent.excessBlobGas !== undefined && rules.blobs !== undefined
  return {
    baseFee: hasBaseFee ? family.headers.nextBaseFee(parent, { timestamp, config }) : 0n,
    blobBaseFee: hasBlobs ? blobBaseFee(excessBlobGas, rules.blobs) : 0n,
  }
}

/**
 * Tips per gas of a block's transactions at each of `percentiles` (0 to 100, ascending). Transactions are ordered by
 * tip; the result is the tip at which that share of the block's gas is reached. Zeros for a block without transactions.
 */
export function tipPercentiles(executed: ExecutedBlock, percentiles: readonly number[]): bigint[] {
  const { header } = executed.rows
  const used = gasUsedByEach(executed)
  const sorted = transactionTips(executed.rows)
    .map((tip, index) => ({ tip, gasUsed: used[index] as number }))
    .sort((a, b) => (a.tip < b.tip ? -1 : a.tip > b.tip ? 1 : 0))
  let at = 0
  let gasUsed = sorted[0]?.gasUsed ?? 0
  return percentiles.map((percentile) => {
    const threshold = Math.trunc((Number(header.gasUsed) * percentile) / 100)
    while (gasUsed < threshold && at < sorted.length - 1) gasUsed += sorted[++at]?.gasUsed ?? 0
    return sorted[at]?.tip ?? 0n
  })
}
