import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, stateBlockId } from '../params.js'
import { quantitySchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/** The nonce of an account after a block. There is no transaction pool, so `pending` means the head. */
export const eth_getTransactionCount = defineMethod({
  name: 'eth_getTransactionCount',
  summary: 'Nonce of an account after a block',
  params: [address, stateBlockId],
  paramNames: ['address', 'block'],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: quantitySchema,
  run: ({ chain, state }: Network, [account, id]) =>
    `"${toQuantity(state.readAccount(stateBlock(chain, id, 1), account)?.nonce ?? 0n)}"`,
})
