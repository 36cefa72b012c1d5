import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockPageJson, blockPageSchema, pageSizeMax } from '../otterscan.js'
import { blockId, integer } from '../params.js'
import { nullable } from '../schema.js'

/** A page of a block's transactions with their receipts; page 0 has the last ones. Null where there is no such block. */
export const ots_getBlockTransactions = defineMethod({
  name: 'ots_getBlockTransactions',
  summary: "Page of a block's transactions, from its end, with cut inputs and receipts without logs",
  params: [blockId({ acceptsDecimal: true }), integer('a page'), integer('a page size', pageSizeMax)],
  paramNames: ['block', 'page', 'pageSize'],
  cost: 'inline',
  price: 100,
  memo: 'head',
  result: nullable(blockPageSchema),
  run({ chain }: Network, [id, page, pageSize]) {
    const block = chain.resolve(id, 0)
    return block === undefined ? 'null' : blockPageJson(chain, block.hash, page, pageSize)
  },
})
