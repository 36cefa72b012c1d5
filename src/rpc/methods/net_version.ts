import { defineMethod } from '../method.js'
import type { Network } from '../network.js'

/** The network id as a decimal string; the chain id where nothing else is configured. */
export const net_version = defineMethod({
  name: 'net_version',
  params: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  run: ({ networkId }: Network) => JSON.stringify(networkId),
})
