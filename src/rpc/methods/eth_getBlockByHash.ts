import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { boolean, hash32 } from '../params.js'
import { blockSchema, nullable } from '../schema.js'

/** The block with this hash, canonical or not; null where it is not known. Specification, section 4. */
export const eth_getBlockByHash = defineMethod({
  name: 'eth_getBlockByHash',
  summary: 'Block with this hash, canonical or not',
  params: [hash32, boolean],
  paramNames: ['blockHash', 'fullTransactions'],
  cost: 'inline',
  price: ([, isFull]) => (isFull ? 50 : 10),
  memo: 'head',
  result: nullable(blockSchema),
  run: ({ chain }: Network, [hash, isFull]) => chain.blockJson(hash, isFull) ?? 'null',
})
