import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { textSchema } from '../schema.js'

/** Name and version of this node: `Tidegate/v0.1.0/linux-x64/node20.20.2`. */
export const web3_clientVersion = defineMethod({
  name: 'web3_clientVersion',
  summary: 'Name and version of this node',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  result: textSchema,
  run: ({ clientVersion }: Network) => JSON.stringify(clientVersion),
})
