import { bytesToHex } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { bytesSchema } from '../schema.js'

/**
 * The access list of a block (EIP-7928) as RLP, whose Keccak-256 is in the block's header. As execution-apis has it, an
 * error (-32001) where there is no such block, for `pending` and for blocks from before Amsterdam; 4444 where the
 * network holds no lists.
 */
export const debug_getRawBlockAccessList = defineMethod({
  name: 'debug_getRawBlockAccessList',
  summary: 'RLP of the access list of a block (EIP-7928)',
  params: [blockId({ acceptsHash: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 50,
  memo: 'never',
  result: bytesSchema,
  run({ chain }: Network, [id]) {
    const block = chain.resolve(id, 0)
    const list = block === undefined || block.isPending ? undefined : chain.readBlockAccessList(block.hash)
    if (list !== undefined) return `"${bytesToHex(list)}"`
    throw new FaultError({ kind: 'ResourceNotFound', why: 'there is no such block in the chain' })
  },
})
