/** Effects of transactions and messages, in the form of a tracer, as in go-ethereum (`debug_trace…`). */

import { chainMethod } from '../network.js'
import { bundles, bundlesPrice, callsPlace } from '../params/bundleParams.js'
import { callObject } from '../params/callParams.js'
import { blockId, hash32, optional, stateBlockId } from '../params/params.js'
import { listSchema } from '../params/schema.js'
import {
  blockTraceSchema,
  minedOnly,
  tracedBlock,
  tracedBlockAt,
  tracedCalls,
  tracedTransaction,
  traceJson,
  traceSchema,
} from '../traces/traceJob.js'
import { plainTrace, plainTraceCall, traceCallConfig, traceConfig } from '../traces/traceParams.js'

const trace = { cost: 'job', price: 100, result: traceSchema } as const
const blockTrace = { ...trace, result: blockTraceSchema } as const
const options = optional(traceConfig, plainTrace)

export const debugTraceMethods = {
  /** The block may be canonical or not. */
  debug_traceBlockByHash: chainMethod({
    ...blockTrace,
    summary: 'What the transactions of a block did, by its hash',
    params: [hash32.as('blockHash'), options.as('options')],
    run: (network, [hash, options], context) =>
      traceJson(network, tracedBlock(network, hash), options, context),
  }),
  debug_traceBlockByNumber: chainMethod({
    ...blockTrace,
    summary: 'What the transactions of a block did, by its number or tag',
    params: [blockId().as('block'), options.as('options')],
    run: (network, [id, options], context) =>
      traceJson(network, tracedBlockAt(network, id), options, context),
  }),
  /** With `txIndex`, the message runs on the state before that transaction. Overrides are members of the options. */
  debug_traceCall: chainMethod({
    ...trace,
    summary: 'What a message does on the state after a block, in the form of a tracer',
    params: [
      callObject.as('call'),
      stateBlockId.as('block'),
      optional(traceCallConfig, plainTraceCall).as('options'),
    ],
    run(network, [call, block, options], context) {
      const { stateOverrides, blockOverrides, txIndex: index } = options
      const bundles = [{ calls: [{ call }], blockOverrides }]
      const asked = { block, argument: 1, index, stateOverrides, bundles, form: 'one' } as const
      return traceJson(network, minedOnly(tracedCalls(network, asked)), options, context)
    },
  }),
  /**
   * State overrides are members of the options. Block overrides in the options apply to the first bundle and all after
   * it.
   */
  debug_traceCallMany: chainMethod({
    ...trace,
    summary: 'What messages do one after the other, a list for each bundle, in the form of a tracer',
    params: [
      bundles.as('bundles'),
      callsPlace.as('stateContext'),
      optional(traceCallConfig, plainTraceCall).as('options'),
    ],
    price: bundlesPrice,
    result: listSchema(listSchema(traceSchema)),
    run(network, [bundles, place, options], context) {
      const { stateOverrides, blockOverrides, txIndex } = options
      const { block, index = txIndex } = place
      const asked = bundles.map(({ calls, blockOverrides: own }, at) => ({
        calls: calls.map((call) => ({ call })),
        blockOverrides: at === 0 && blockOverrides !== undefined ? { ...blockOverrides, ...own } : own,
      }))
      const rest = { block, argument: 1, index, stateOverrides, form: 'lists' } as const
      const subject = tracedCalls(network, { ...rest, bundles: asked })
      return traceJson(network, minedOnly(subject), options, context)
    },
  }),
  /**
   * Runs the transaction again, after those before it in its block. Without a tracer, lists every instruction with the
   * state before it.
   */
  debug_traceTransaction: chainMethod({
    ...trace,
    summary: 'What a transaction of the chain did, in the form of a tracer',
    params: [hash32.as('transactionHash'), options.as('options')],
    run: (network, [hash, options], context) =>
      traceJson(network, tracedTransaction(network, hash), options, context),
  }),
}
