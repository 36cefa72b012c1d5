import { findSent } from '../../chain/findSent.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, position } from '../params.js'
import { nullable, transactionSchema } from '../schema.js'

/**
 * The transaction of the chain that an account sent with this nonce; null where there is none. A binary search in the
 * account's history finds the block in which its nonce exceeded it: log₂ of the chain's height reads.
 */
export const eth_getTransactionBySenderAndNonce = defineMethod({
  name: 'eth_getTransactionBySenderAndNonce',
  summary: 'Transaction that an account sent with a nonce',
  params: [address, position],
  paramNames: ['sender', 'nonce'],
  cost: 'inline',
  price: 20,
  memo: 'head',
  result: nullable(transactionSchema),
  run({ chain, state }: Network, [sender, nonce]) {
    const at = findSent(chain, (block) => state.readAccount(block, sender)?.nonce ?? 0n, sender, nonce)
    return (at && chain.transactionJson(at.blockHash, at.index)) ?? 'null'
  },
})
