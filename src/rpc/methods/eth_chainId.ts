import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { quantitySchema } from '../schema.js'

/** The chain id that transactions are signed for (EIP-695). */
export const eth_chainId = defineMethod({
  name: 'eth_chainId',
  summary: 'Chain id that transactions are signed for',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  result: quantitySchema,
  run: ({ chain }: Network) => `"${toQuantity(BigInt(chain.identity.chainId))}"`,
})
