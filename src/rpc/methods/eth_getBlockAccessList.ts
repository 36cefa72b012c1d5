import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { blockAccessListSchema, nullable } from '../schema.js'

/**
 * The access list of a block (EIP-7928) as execution-apis has it: slots and their values of 32 bytes, all six members in
 * each account. Null where there is no such block, or it belongs to a branch that is not canonical, and for `pending`;
 * an error (-32001) for blocks from before Amsterdam, and 4444 where the network holds no lists.
 */
export const eth_getBlockAccessList = defineMethod({
  name: 'eth_getBlockAccessList',
  summary:
    'Access list of a block (EIP-7928): accounts and slots that it reads, and values after each change',
  params: [blockId({ acceptsHash: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 100,
  memo: 'head',
  result: nullable(blockAccessListSchema),
  run({ chain }: Network, [id]) {
    const block = chain.resolve(id, 0)
    if (block === undefined || block.isPending) return 'null'
    return chain.blockAccessListJson(block.hash) ?? 'null'
  },
})
