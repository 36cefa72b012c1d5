import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId, boolean } from '../params.js'
import { blockSchema, nullable } from '../schema.js'

/** The block that a number, tag or EIP-1898 object names; null where there is none. Specification, section 4. */
export const eth_getBlockByNumber = defineMethod({
  name: 'eth_getBlockByNumber',
  summary: 'Block of this number or tag',
  params: [blockId(), boolean],
  paramNames: ['block', 'fullTransactions'],
  cost: 'inline',
  price: ([, isFull]) => (isFull ? 50 : 10),
  memo: 'head',
  result: nullable(blockSchema),
  run({ chain }: Network, [id, isFull]) {
    const block = chain.resolve(id, 0)
    if (block === undefined) return 'null'
    if (block.isPending) return chain.pendingBlockJson()
    return chain.blockJson(block.hash, isFull, block.number) ?? 'null'
  },
})
