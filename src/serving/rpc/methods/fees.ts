/** Prices of gas in wei: suggested prices, prices of the next block, and their history. */

import type { ChainView } from '../../../data/chain/chain.js'
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import { blockFees, feesAfter, tipPercentiles } from '../../../data/chain/feeHistory.js'
import type { Header } from '../../../data/chain/header.js'
import { gasUsedByEach, suggestTip, transactionTips } from '../../../data/chain/suggestedTip.js'
import { toQuantity } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { typeName } from '../../../primitives/jsonType.js'
import { RequestSlices } from '../contexts/requestSlices.js'
import { chainMethod, type Network } from '../network.js'
import { blockId, invalidArgument, list, optional, required } from '../params/params.js'
import { listSchema, nullable, objectSchema, quantitySchema, type Schema } from '../params/schema.js'
import { knownBlock } from '../params/stateBlock.js'

/** go-ethereum's limits. */
const blocksMax = 1_024
const percentilesMax = 100

const ratioSchema: Schema = { type: 'number', minimum: 0 }
const historySchema = objectSchema(
  'FeeHistory',
  { oldestBlock: quantitySchema, gasUsedRatio: { oneOf: [{ type: 'null' }, listSchema(ratioSchema)] } },
  {
    reward: listSchema(listSchema(quantitySchema)),
    baseFeePerGas: listSchema(quantitySchema),
    baseFeePerBlobGas: listSchema(quantitySchema),
    blobGasUsedRatio: listSchema(ratioSchema),
  },
)

/** A number, or its decimal or hex digits. */
const blockCount = required(
  (value, index): number => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
    if (typeof value === 'string' && /^(0[xX][0-9a-fA-F]{1,16}|[0-9]{0,19})$/.test(value))
      return Number(value)
    const got = typeof value === 'string' || typeof value === 'number' ? 'another' : typeName(value)
    throw invalidArgument(index, `want a hex or decimal integer, got ${got}`)
  },
  {
    anyOf: [
      { type: 'integer', minimum: 0 },
      { type: 'string', pattern: '^(0[xX][0-9a-fA-F]+|[0-9]*)$' },
    ],
  },
)

const percentileList = required(
  (value, index): readonly number[] => {
    const percentiles = list('numbers').decode(value, index)
    const other = percentiles.find((each) => typeof each !== 'number')
    if (other === undefined) return percentiles as readonly number[]
    throw invalidArgument(index, `want an array of numbers, got ${typeName(other)} in it`)
  },
  listSchema({ type: 'number', minimum: 0, maximum: 100 }),
)

export const feeMethods = {
  /** Null before London. */
  eth_baseFee: chainMethod({
    summary: 'Base fee of the next block, in wei per gas',
    price: 2,
    memo: 'head',
    result: nullable(quantitySchema),
    run: ({ chain }) => feeJson(chain.pendingHeader().baseFeePerGas),
  }),
  /** Null before Cancun. */
  eth_blobBaseFee: chainMethod({
    summary: 'Price of blob gas at the head, in wei',
    price: 2,
    memo: 'head',
    result: nullable(quantitySchema),
    run: ({ chain, head }) => feeJson(chain.schedule.blobGasPrice(head.header)),
  }),
  /** As in go-ethereum, for up to 1,024 blocks; lists of prices have one more item for the next block. */
  eth_feeHistory: chainMethod({
    summary: 'Base fees, shares of gas used and tips of a range of blocks',
    params: [
      blockCount.as('blockCount'),
      blockId().as('newestBlock'),
      optional(percentileList, []).as('rewardPercentiles'),
    ],
    cost: 'job',
    price: ([count]) => 10 + 5 * Math.min(count, blocksMax),
    memo: 'head',
    result: historySchema,
    run({ chain }, [count, newest, percentiles], context, turnMsMax) {
      if (count === 0) return '{"oldestBlock":"0x0","gasUsedRatio":null}'
      checkPercentiles(percentiles)
      const last = lastNumber(chain, newest)
      const first = Math.max(last + 1 - Math.min(count, blocksMax), chain.firstNumber)
      return history(chain, { first, last, percentiles }, new RequestSlices(turnMsMax, context, 0))
    },
  }),
  /** The suggested tip plus the base fee of the head. */
  eth_gasPrice: chainMethod({
    summary: 'Suggested gas price of a legacy transaction, in wei',
    cost: 'job',
    price: 20,
    memo: 'head',
    result: quantitySchema,
    run: (network, _args, context, turnMsMax) =>
      tip(network, network.head.header.baseFeePerGas ?? 0n, new RequestSlices(turnMsMax, context, 0)),
  }),
  /** Computed from the lowest tips of the last blocks. */
  eth_maxPriorityFeePerGas: chainMethod({
    summary: 'Suggested tip of a transaction, in wei per gas',
    cost: 'job',
    price: 20,
    memo: 'head',
    result: quantitySchema,
    run: (network, _args, context, turnMsMax) => tip(network, 0n, new RequestSlices(turnMsMax, context, 0)),
  }),
}

function feeJson(fee: bigint | undefined): string {
  return fee === undefined ? 'null' : `"${toQuantity(fee)}"`
}

function tip(network: Network, baseFee: bigint, turns: RequestSlices): string | Promise<string> {
  const render = (suggested: bigint) => `"${toQuantity(suggested + baseFee)}"`
  const suggested = suggestedTip(network, turns)
  return suggested instanceof Promise ? suggested.then(render) : render(suggested)
}

/** {@link suggestTip} at the head. Reading 40 full blocks takes at least 20 ms. */
export function suggestedTip({ chain }: Network, turns: RequestSlices): bigint | Promise<bigint> {
  const { family } = chain.schedule
  const head = family.suggestTip && chain.readExecuted(chain.head.hash)
  if (family.suggestTip !== undefined && head !== undefined) {
    const { header } = chain.head
    return family.suggestTip({ header, gasUsed: gasUsedByEach(head), tips: transactionTips(head.rows) })
  }
  // The genesis has no transactions. Those below the base of a fork do not compete with its own.
  const first = Math.max(1, chain.oldest.bodies, chain.firstMade)
  const suggesting = suggestTip(chain.head.number, first, (number) => {
    const block = chain.resolve({ kind: 'number', number }, 0)
    return block && chain.readBlock(block.hash)
  })
  return turns.run(() =>
    turns.repeat(() => {
      const step = suggesting.next()
      return step.done ? step.value : undefined
    }),
  )
}

function checkPercentiles(percentiles: readonly number[]): void {
  const refused = (why: string) => new FaultError({ kind: 'FeeHistoryRefused', why })
  if (percentiles.length > percentilesMax) {
    throw refused(`invalid reward percentile: over the query limit ${percentilesMax}`)
  }
  for (const [index, percentile] of percentiles.entries()) {
    if (!(percentile >= 0 && percentile <= 100)) {
      throw refused(`invalid reward percentile: ${percentile.toFixed(6)}`)
    }
    const before = percentiles[index - 1]
    if (before !== undefined && percentile <= before) {
      const [low, high] = [before, percentile].map((each) => each.toFixed(6))
      throw refused(`invalid reward percentile: #${index - 1}:${low} >= #${index}:${high}`)
    }
  }
}

/** The number of the newest requested block; the pending one's is above the head's. */
function lastNumber(chain: ChainView, newest: BlockId): number {
  const head = chain.head.number
  if (newest.kind === 'number' && newest.number > head) {
    const why = `request beyond head block: requested ${newest.number}, head ${head}`
    throw new FaultError({ kind: 'FeeHistoryRefused', why })
  }
  const block = knownBlock(chain, newest, 1)
  return block.isPending ? block.number + 1 : block.number
}

interface Range {
  readonly first: number
  readonly last: number
  readonly percentiles: readonly number[]
}

/** Works in turns: a full block with percentiles takes 0.5 ms. */
function history(chain: ChainView, range: Range, turns: RequestSlices): string | Promise<string> {
  const { first, last } = range
  const blocks: BlockHistory[] = []
  return turns.run(() =>
    turns.repeat(() => {
      if (first <= last) blocks.push(blockHistory(chain, first + blocks.length, range))
      return first + blocks.length > last ? renderHistory(chain, range, blocks) : undefined
    }),
  )
}

interface BlockHistory {
  readonly header: Header
  readonly fees: ReturnType<typeof blockFees>
  readonly tips: readonly bigint[]
}

function blockHistory(chain: ChainView, number: number, { percentiles }: Range): BlockHistory {
  const isPending = number > chain.head.number
  const { hash } = isPending ? chain.head : knownBlock(chain, { kind: 'number', number }, 1)
  const header = isPending ? chain.pendingHeader() : chain.readHeader(hash)
  if (header === undefined) throw new Error(`block ${number} is below the head, but missing`)
  const fees = blockFees(header, chain.schedule)
  if (percentiles.length === 0) return { header, fees, tips: [] }
  const executed = isPending ? undefined : chain.readExecuted(hash)
  return { header, fees, tips: executed ? tipPercentiles(executed, percentiles) : percentiles.map(() => 0n) }
}

function renderHistory(
  chain: ChainView,
  { first, percentiles }: Range,
  blocks: readonly BlockHistory[],
): string {
  const newest = blocks.at(-1)?.header
  const prices: { baseFee: bigint; blobBaseFee: bigint }[] = blocks.map(({ fees }) => fees)
  if (newest !== undefined) prices.push(feesAfter(newest, chain.schedule))
  const rewards = blocks.map(({ tips }) => `[${quantities(tips)}]`)
  return (
    `{"oldestBlock":"${toQuantity(first)}"` +
    (percentiles.length === 0 ? '' : `,"reward":[${rewards}]`) +
    `,"baseFeePerGas":[${quantities(prices.map(({ baseFee }) => baseFee))}]` +
    `,"gasUsedRatio":[${blocks.map(({ fees }) => fees.gasUsedRatio)}]` +
    `,"baseFeePerBlobGas":[${quantities(prices.map(({ blobBaseFee }) => blobBaseFee))}]` +
    `,"blobGasUsedRatio":[${blocks.map(({ fees }) => fees.blobGasUsedRatio)}]}`
  )
}

function quantities(values: readonly bigint[]): string {
  return values.map((value) => `"${toQuantity(value)}"`).join(',')
}
