import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { rawBlockPart } from '../rawTransaction.js'
import { bytesSchema } from '../schema.js'

/** The RLP of a header, whose Keccak-256 is the hash of its block; `0x` where there is no such number. */
export const debug_getRawHeader = defineMethod({
  name: 'debug_getRawHeader',
  summary: 'RLP of the header of a block',
  params: [blockId({ acceptsHash: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 2,
  memo: 'never',
  result: bytesSchema,
  run: ({ chain }: Network, [id]) => rawBlockPart(chain, id, (hash) => chain.readRawHeader(hash)),
})
