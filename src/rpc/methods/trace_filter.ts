import type { BlockId } from '../../chain/blockId.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { callTraceSchema, traceFilter } from '../parityParams.js'
import { listSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'
import { pendingRefused, traceJson } from '../traceJob.js'

/**
 * Calls and rewards of the canonical blocks from `fromBlock` to `toBlock`, from one of `fromAddress` and to one of
 * `toAddress`, in Parity's form. Every block of the range is executed again; the time of a trace limits how many.
 */
export const trace_filter = defineMethod({
  name: 'trace_filter',
  summary: "Calls and rewards of a range of blocks by their addresses, in Parity's form",
  params: [traceFilter],
  paramNames: ['filter'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: listSchema(callTraceSchema),
  run(network: Network, [{ fromBlock, toBlock, options }], caller) {
    const first = fromBlock === undefined ? network.chain.firstNumber : blockNumber(network, fromBlock)
    const last = toBlock === undefined ? network.head.number : blockNumber(network, toBlock)
    if (first > last) throw new FaultError({ kind: 'InvalidBlockRange' })
    return traceJson(network, { kind: 'range', first, last }, options, caller)
  },
})

function blockNumber({ chain }: Network, id: BlockId): number {
  const { number, isPending } = stateBlock(chain, id, 0)
  if (isPending) throw pendingRefused()
  return number
}
