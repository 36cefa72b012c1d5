import { defineMethod, Passing } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { nullable, sentTransactionSchema } from '../schema.js'

/**
 * A transaction of the chain, or one that was sent to the network's upstreams from here and is in no block yet; null
 * for any other hash.
 */
export const eth_getTransactionByHash = defineMethod({
  name: 'eth_getTransactionByHash',
  summary: 'Transaction of the chain by its hash, or one sent from here that waits for its block',
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'job',
  price: 5,
  memo: 'head',
  result: nullable(sentTransactionSchema),
  run({ chain, upstreamCalls }: Network, [hash]) {
    const at = chain.findTransaction(hash)
    if (at !== undefined) return chain.transactionJson(at.blockHash, at.index) ?? 'null'
    if (upstreamCalls === undefined) return 'null'
    return upstreamCalls.pending(hash).then((json) => (json === undefined ? 'null' : new Passing(json)))
  },
})
