import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'

/** False, or how far the source of the network is while it still has blocks to deliver. */
export const eth_syncing = defineMethod({
  name: 'eth_syncing',
  params: [],
  cost: 'inline',
  memo: 'never',
  run({ syncing }: Network) {
    if (syncing === undefined) return 'false'
    const { startingBlock, currentBlock, highestBlock } = syncing
    return (
      `{"startingBlock":"${toQuantity(startingBlock)}","currentBlock":"${toQuantity(currentBlock)}"` +
      `,"highestBlock":"${toQuantity(highestBlock)}"}`
    )
  },
})
