/** What transactions did, as a list of calls in Parity's form (`trace_…`). */
import type { BlockId } from '../../chain/blockId.js'
import { FaultError } from '../../primitives/faults.js'
import { chainMethod, type Network } from '../network.js'
import { blockId, hash32 } from '../params/params.js'
import { listSchema, nullable } from '../params/schema.js'
import { stateBlock } from '../params/stateBlock.js'
import { asList, callTraceSchema, oneCall, traceAddress, traceFilter } from '../traces/parityParams.js'
import { pendingRefused, tracedBlockAt, traceJson, traceOfHashJson } from '../traces/traceJob.js'

const trace = { cost: 'job', price: 100, memo: 'never', result: listSchema(callTraceSchema) } as const

export const parityTraceMethods = {
  trace_block: chainMethod({
    ...trace,
    summary: "Calls of a block's transactions, and its rewards, in Parity's form",
    params: [blockId({ acceptsHash: true })],
    paramNames: ['block'],
    run: (network, [id], context) => traceJson(network, tracedBlockAt(network, id), asList, context),
  }),
  /** From one of `fromAddress`, to one of `toAddress`. Every block is executed again; the time of a trace limits how many. */
  trace_filter: chainMethod({
    ...trace,
    summary: "Calls and rewards of a range of blocks by their addresses, in Parity's form",
    params: [traceFilter],
    paramNames: ['filter'],
    run(network, [{ fromBlock, toBlock, options }], context) {
      const first = fromBlock === undefined ? network.chain.firstNumber : blockNumber(network, fromBlock)
      const last = toBlock === undefined ? network.head.number : blockNumber(network, toBlock)
      if (first > last) throw new FaultError({ kind: 'InvalidBlockRange' })
      return traceJson(network, { kind: 'range', first, last }, options, context)
    },
  }),
  /** By the indices that lead to it; null where there is none. */
  trace_get: chainMethod({
    ...trace,
    summary: "One call of a transaction by its place, in Parity's form",
    params: [hash32, traceAddress],
    paramNames: ['transactionHash', 'traceAddress'],
    result: nullable(callTraceSchema),
    run: (network, [hash, address], context) => traceOfHashJson(network, hash, oneCall(address), context),
  }),
  trace_transaction: chainMethod({
    ...trace,
    summary: "Calls of a transaction of the chain, in Parity's form",
    params: [hash32],
    paramNames: ['transactionHash'],
    result: nullable(listSchema(callTraceSchema)),
    run: (network, [hash], context) => traceOfHashJson(network, hash, asList, context),
  }),
}

function blockNumber({ chain }: Network, id: BlockId): number {
  const { number, isPending } = stateBlock(chain, id, 0)
  if (isPending) throw pendingRefused()
  return number
}
