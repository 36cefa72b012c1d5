import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, stateBlockId } from '../params.js'
import { quantitySchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/** The balance of an account after a block, in wei; zero where there is no account. */
export const eth_getBalance = defineMethod({
  name: 'eth_getBalance',
  summary: 'Balance of an account after a block, in wei',
  params: [address, stateBlockId],
  paramNames: ['address', 'block'],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: quantitySchema,
  run: ({ chain, state }: Network, [account, id]) =>
    `"${toQuantity(state.readAccount(stateBlock(chain, id, 1), account)?.balance ?? 0n)}"`,
})
