import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32, optional } from '../params.js'
import { tracedTransaction, traceJson, traceSchema } from '../traceJob.js'
import { plainTrace, traceConfig } from '../traceParams.js'

/**
 * What a transaction of the chain did, executed again after those before it in its block, in the form of the tracer
 * that the options name; without one every instruction with the state before it, as in go-ethereum.
 */
export const debug_traceTransaction = defineMethod({
  name: 'debug_traceTransaction',
  summary: 'What a transaction of the chain did, in the form of a tracer',
  params: [hash32, optional(traceConfig, plainTrace)],
  paramNames: ['transactionHash', 'options'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: traceSchema,
  run: (network: Network, [hash, options], caller) =>
    traceJson(network, tracedTransaction(network, hash), options, caller),
})
