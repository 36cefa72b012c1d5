import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'

/** The chain id that transactions are signed for (EIP-695). */
export const eth_chainId = defineMethod({
  name: 'eth_chainId',
  params: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  run: ({ chain }: Network) => `"${toQuantity(BigInt(chain.identity.chainId))}"`,
})
