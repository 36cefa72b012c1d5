import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { addressSchema, listSchema } from '../schema.js'

/** The accounts that this node signs for: it holds no keys. */
export const eth_accounts = defineMethod({
  name: 'eth_accounts',
  summary: 'Accounts that this node signs for: none',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: listSchema(addressSchema),
  run: (_network: Network) => '[]',
})
