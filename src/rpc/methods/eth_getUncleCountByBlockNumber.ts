import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { nullable, quantitySchema } from '../schema.js'

/** How many uncles a block has; null where there is no such block. The pending one has none. */
export const eth_getUncleCountByBlockNumber = defineMethod({
  name: 'eth_getUncleCountByBlockNumber',
  summary: 'How many uncles a block has',
  params: [blockId()],
  paramNames: ['block'],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: nullable(quantitySchema),
  run({ chain }: Network, [id]) {
    const found = chain.resolve(id, 0)
    if (found?.isPending) return '"0x0"'
    const block = found && chain.readBlock(found.hash)
    return block === undefined ? 'null' : `"${toQuantity(block.uncles.length)}"`
  },
})
