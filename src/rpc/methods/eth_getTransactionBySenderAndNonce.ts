import { findSent } from '../../chain/findSent.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, position } from '../params.js'
import { nullable, transactionSchema } from '../schema.js'

/** The transaction of the chain that an account sent with this nonce; null where there is none. The history of the
 * account tells in which block its nonce grew beyond it, with as many reads as the height of the chain has bits. */
export const eth_getTransactionBySenderAndNonce = defineMethod({
  name: 'eth_getTransactionBySenderAndNonce',
  summary: 'Transaction that an account sent with a nonce',
  params: [address, position],
  paramNames: ['sender', 'nonce'],
  cost: 'inline',
  price: 50,
  memo: 'head',
  result: nullable(transactionSchema),
  run({ chain, state }: Network, [sender, nonce]) {
    const at = findSent(chain, (block) => state.readAccount(block, sender)?.nonce ?? 0n, sender, nonce)
    return (at && chain.transactionJson(at.blockHash, at.index)) ?? 'null'
  },
})
