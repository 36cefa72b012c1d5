import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32, position } from '../params.js'
import { nullable, uncleSchema } from '../schema.js'

/** One uncle of the block with this hash; null where there is no such block or uncle. */
export const eth_getUncleByBlockHashAndIndex = defineMethod({
  name: 'eth_getUncleByBlockHashAndIndex',
  summary: 'Uncle of a block by its index',
  params: [hash32, position],
  paramNames: ['blockHash', 'index'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(uncleSchema),
  run: ({ chain }: Network, [hash, index]) => chain.uncleJson(hash, index) ?? 'null',
})
