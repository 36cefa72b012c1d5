/** Effects of transactions as a list of calls in Parity's form (`trace_…`). */

import type { ChainView } from '../../../data/chain/chain.js'
import type { BlockId } from '../../../data/chain/chainBlocks.js'
import type { TraceSubject } from '../../../execution/evm/tracers/traceRequest.js'
import { equalBytes } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { chainMethod, type Network } from '../network.js'
import { callObject } from '../params/callParams.js'
import { blockId, bytes, hash32, stateBlockId } from '../params/params.js'
import { listSchema, nullable } from '../params/schema.js'
import { knownBlock } from '../params/stateBlock.js'
import {
  asList,
  callTraceSchema,
  oneCall,
  replay,
  replaySchema,
  traceAddress,
  tracedCallList,
  traceFilter,
  traceTypes,
} from '../traces/parityParams.js'
import {
  minedOnly,
  pendingRefused,
  tracedBlockAt,
  tracedCalls,
  traceJson,
  traceOfHashJson,
} from '../traces/traceJob.js'

const trace = { cost: 'job', price: 100, result: listSchema(callTraceSchema) } as const

const replayed = { ...trace, result: replaySchema } as const
const replayedList = { ...trace, result: listSchema(replaySchema) } as const

export const parityTraceMethods = {
  trace_call: chainMethod({
    ...replayed,
    summary: "What a message does: its output, and its calls, instructions and changes, in Parity's form",
    params: [callObject.as('call'), traceTypes.as('traceTypes'), stateBlockId.as('block')],
    run(network, [call, tracer, block], context) {
      const asked = { block, argument: 2, bundles: [{ calls: [{ call }] }], form: 'one' } as const
      return traceJson(network, minedOnly(tracedCalls(network, asked)), { tracer }, context)
    },
  }),
  /** Each call sees the effects of the calls before it. */
  trace_callMany: chainMethod({
    ...replayedList,
    price: ([calls]) => 100 + 20 * calls.length,
    summary: "What messages do one after the other, in Parity's form",
    params: [tracedCallList.as('calls'), stateBlockId.as('block')],
    run(network, [calls, block], context) {
      const asked = { block, argument: 1, bundles: [{ calls }], form: 'list' } as const
      const options = { tracer: replay([]) }
      return traceJson(network, minedOnly(tracedCalls(network, asked)), options, context)
    },
  }),
  /** The transaction is not sent, and it may have any nonce. */
  trace_rawTransaction: chainMethod({
    ...replayed,
    summary: "What a signed transaction would do after the newest block, in Parity's form",
    params: [bytes.as('transaction'), traceTypes.as('traceTypes'), stateBlockId.as('block')],
    run(network, [raw, tracer, block], context) {
      const asked = { block, argument: 2, bundles: [], form: 'one' } as const
      const subject = { ...tracedCalls(network, asked), bundles: [{ calls: [{ message: raw }] }] }
      return traceJson(network, minedOnly(subject), { tracer }, context)
    },
  }),
  trace_replayBlockTransactions: chainMethod({
    ...replayedList,
    summary: "What each transaction of a block did, in Parity's form",
    params: [blockId({ acceptsHash: true }).as('block'), traceTypes.as('traceTypes')],
    run(network, [id, tracer], context) {
      const subject = { ...tracedBlockAt(network, id), isPlain: true }
      return traceJson(network, subject, { tracer: { ...tracer, withHash: true } }, context)
    },
  }),
  /** Null if the chain has no such transaction. */
  trace_replayTransaction: chainMethod({
    ...trace,
    summary: "What a transaction of the chain did, in Parity's form",
    params: [hash32.as('transactionHash'), traceTypes.as('traceTypes')],
    result: nullable(replaySchema),
    run: (network, [hash, tracer], context) => traceOfHashJson(network, hash, { tracer }, context),
  }),
  trace_block: chainMethod({
    ...trace,
    summary: "Calls of a block's transactions, and its rewards, in Parity's form",
    params: [blockId({ acceptsHash: true }).as('block')],
    run: (network, [id], context) => traceJson(network, tracedBlockAt(network, id), asList, context),
  }),
  /**
   * Lists calls from one of `fromAddress` to one of `toAddress`. Executes every block again; the time limit of a trace
   * bounds the range.
   */
  trace_filter: chainMethod({
    ...trace,
    summary: "Calls and rewards of a range of blocks by their addresses, in Parity's form",
    params: [traceFilter.as('filter')],
    run(network, [{ fromBlock, toBlock, options }], context) {
      return traceJson(network, tracedRange(network, fromBlock, toBlock), options, context)
    },
  }),
  /** The call at these indices; null if there is none. */
  trace_get: chainMethod({
    ...trace,
    summary: "One call of a transaction by its place, in Parity's form",
    params: [hash32.as('transactionHash'), traceAddress.as('traceAddress')],
    result: nullable(callTraceSchema),
    run: (network, [hash, address], context) => traceOfHashJson(network, hash, oneCall(address), context),
  }),
  trace_transaction: chainMethod({
    ...trace,
    summary: "Calls of a transaction of the chain, in Parity's form",
    params: [hash32.as('transactionHash')],
    result: nullable(listSchema(callTraceSchema)),
    run: (network, [hash], context) => traceOfHashJson(network, hash, asList, context),
  }),
}

/** The blocks of a filter. Without bounds, from the first executable block up to the head. */
function tracedRange({ chain }: Network, from: BlockId | undefined, to: BlockId | undefined): TraceSubject {
  const { kind, firstExecutable, head } = chain
  // Otherwise blocks without transactions would be listed, up to the first that needs state.
  if (kind.state === 'none') throw new FaultError({ kind: 'NoState' })
  const first = from === undefined ? firstExecutable : canonicalNumber(chain, from)
  const last = to === undefined ? head.number : canonicalNumber(chain, to)
  if (first > last) throw new FaultError({ kind: 'InvalidBlockRange' })
  if (first < firstExecutable)
    throw new FaultError({ kind: 'HistoryPruned', oldest: chain.oldest.state, needsParent: true })
  return { kind: 'range', head: { number: head.number, hash: head.hash }, first, last }
}

/** The number of a canonical block; a hash may name a block of another branch, which is a fault. */
function canonicalNumber(chain: ChainView, id: BlockId): number {
  const { number, hash, isPending } = knownBlock(chain, id, 0)
  if (isPending) throw pendingRefused()
  const own = chain.resolve({ kind: 'number', number }, 0)
  if (own === undefined || !equalBytes(own.hash, hash)) throw new FaultError({ kind: 'HashNotCanonical' })
  return number
}
