import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { headerSchema, nullable } from '../schema.js'

/** The header of a block; null where there is none. Of the pending one the same members are null as in its block. */
export const eth_getHeaderByNumber = defineMethod({
  name: 'eth_getHeaderByNumber',
  summary: 'Header of a block',
  params: [blockId()],
  paramNames: ['block'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(headerSchema),
  run({ chain }: Network, [id]) {
    const block = chain.resolve(id, 0)
    if (block === undefined) return 'null'
    return block.isPending ? chain.pendingHeaderJson() : (chain.headerJson(block.hash) ?? 'null')
  },
})
