import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { textSchema } from '../schema.js'

/** The network id as a decimal string; the chain id where nothing else is configured. */
export const net_version = defineMethod({
  name: 'net_version',
  summary: 'Network id, in decimal',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  result: textSchema,
  run: ({ networkId }: Network) => JSON.stringify(networkId),
})
