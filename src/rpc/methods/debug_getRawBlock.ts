import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { rawBlockPart } from '../rawTransaction.js'
import { bytesSchema } from '../schema.js'

/** The RLP of a block; `0x` where there is no such number. */
export const debug_getRawBlock = defineMethod({
  name: 'debug_getRawBlock',
  summary: 'RLP of a block',
  params: [blockId({ acceptsHash: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 20,
  memo: 'never',
  result: bytesSchema,
  run: ({ chain }: Network, [id]) => rawBlockPart(chain, id, (hash) => chain.readRawBlock(hash)),
})
