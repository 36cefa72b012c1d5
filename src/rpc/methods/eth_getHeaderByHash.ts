import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { headerSchema, nullable } from '../schema.js'

/** The header of the block with this hash, canonical or not; null where it is not known. */
export const eth_getHeaderByHash = defineMethod({
  name: 'eth_getHeaderByHash',
  summary: 'Header of a block',
  params: [hash32],
  paramNames: ['blockHash'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(headerSchema),
  run: ({ chain }: Network, [hash]) => chain.headerJson(hash) ?? 'null',
})
