import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { listSchema, nullable, receiptSchema } from '../schema.js'

/**
 * The receipts of a block, in transaction order; null where there is no such block, or where it belongs to a
 * branch that was never executed. `pending` means `latest`. Specification, section 4.
 */
export const eth_getBlockReceipts = defineMethod({
  name: 'eth_getBlockReceipts',
  summary: 'Receipts of a block; the block may be a decimal number too',
  params: [blockId({ acceptsHash: true, acceptsDecimal: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 100,
  memo: 'head',
  result: nullable(listSchema(receiptSchema)),
  run({ chain }: Network, [id]) {
    const block = chain.resolve(id, 0)
    return (block && chain.receiptsJson(block.hash)) ?? 'null'
  },
})
