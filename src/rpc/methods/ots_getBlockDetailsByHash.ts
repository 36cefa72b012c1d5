import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockDetailsJson, blockDetailsSchema } from '../otterscan.js'
import { hash32 } from '../params.js'
import { nullable } from '../schema.js'

/** See `ots_getBlockDetails`. */
export const ots_getBlockDetailsByHash = defineMethod({
  name: 'ots_getBlockDetailsByHash',
  summary: 'The same of the block with this hash',
  params: [hash32],
  paramNames: ['hash'],
  cost: 'inline',
  price: 100,
  memo: 'head',
  result: nullable(blockDetailsSchema),
  run: ({ chain }: Network, [hash]) => blockDetailsJson(chain, hash),
})
