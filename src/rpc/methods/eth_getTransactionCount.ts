import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod, Passing } from '../method.js'
import type { Network } from '../network.js'
import { address, stateBlockId } from '../params.js'
import { quantitySchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/**
 * The nonce of an account after a block; for `pending` after the head and the transactions that were sent from here
 * and follow on its nonce.
 */
export const eth_getTransactionCount = defineMethod({
  name: 'eth_getTransactionCount',
  summary: 'Nonce of an account after a block, or after what was sent from here and waits',
  params: [address, stateBlockId],
  paramNames: ['address', 'block'],
  cost: 'job',
  price: 2,
  memo: 'head',
  result: quantitySchema,
  run({ chain, state, upstreamCalls }: Network, [account, id]) {
    const block = stateBlock(chain, id, 1)
    const nonce = state.readAccount(block, account)?.nonce ?? 0n
    if (!block.isPending || upstreamCalls === undefined) return `"${toQuantity(nonce)}"`
    return upstreamCalls
      .waiting(account, nonce)
      .then((count) => new Passing(`"${toQuantity(nonce + BigInt(count))}"`))
  },
})
