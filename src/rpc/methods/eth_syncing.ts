import { syncProgressJson } from '../../chain/syncProgress.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { objectSchema, quantitySchema } from '../schema.js'

const progressSchema = objectSchema('SyncProgress', {
  startingBlock: quantitySchema,
  currentBlock: quantitySchema,
  highestBlock: quantitySchema,
})

/** False, or how far the source of the network is while it still has blocks to deliver, and where it ended if it failed. */
export const eth_syncing = defineMethod({
  name: 'eth_syncing',
  summary: 'False, or how far the source of the chain is',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: { oneOf: [{ const: false }, progressSchema] },
  run: ({ syncing }: Network) => (syncing === undefined ? 'false' : syncProgressJson(syncing)),
})
