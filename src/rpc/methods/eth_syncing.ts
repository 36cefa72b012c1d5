import { syncProgressJson } from '../../chain/syncProgress.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'

/** False, or how far the source of the network is while it still has blocks to deliver, and where it ended if it failed. */
export const eth_syncing = defineMethod({
  name: 'eth_syncing',
  params: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  run: ({ syncing }: Network) => (syncing === undefined ? 'false' : syncProgressJson(syncing)),
})
