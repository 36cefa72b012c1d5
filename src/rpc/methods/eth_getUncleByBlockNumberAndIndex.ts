import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId, position } from '../params.js'
import { nullable, uncleSchema } from '../schema.js'

/** One uncle of a block; null where there is no such block or uncle. Specification, section 4. */
export const eth_getUncleByBlockNumberAndIndex = defineMethod({
  name: 'eth_getUncleByBlockNumberAndIndex',
  summary: 'Uncle of a block by its index',
  params: [blockId(), position],
  paramNames: ['block', 'index'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(uncleSchema),
  run({ chain }: Network, [id, index]) {
    const block = chain.resolve(id, 0)
    if (block === undefined || block.isPending) return 'null'
    return chain.uncleJson(block.hash, index) ?? 'null'
  },
})
