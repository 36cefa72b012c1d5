import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockDetailsJson, blockDetailsSchema } from '../otterscan.js'
import { blockId } from '../params.js'
import { nullable } from '../schema.js'

/** A block for Otterscan's page of it: no transactions, but their number, fees and issuance; null where there is none. */
export const ots_getBlockDetails = defineMethod({
  name: 'ots_getBlockDetails',
  summary: 'Block without transactions, with their number, fees and issuance; the number may be decimal',
  params: [blockId({ acceptsDecimal: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 100,
  memo: 'head',
  result: nullable(blockDetailsSchema),
  run({ chain }: Network, [id]) {
    const block = chain.resolve(id, 0)
    return block === undefined ? 'null' : blockDetailsJson(chain, block.hash)
  },
})
