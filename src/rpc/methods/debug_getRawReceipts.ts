import { JsonBytes } from '../../primitives/jsonBytes.js'
import { rlpListSpans, rlpSpanAt } from '../../primitives/rlp.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { bytesSchema, listSchema, nullable } from '../schema.js'

/** The receipts of a block in consensus encoding; null where there is no such block, or it was never executed. */
export const debug_getRawReceipts = defineMethod({
  name: 'debug_getRawReceipts',
  summary: 'Receipts of a block in their consensus encoding',
  params: [blockId({ acceptsHash: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 50,
  memo: 'head',
  result: nullable(listSchema(bytesSchema)),
  run({ chain }: Network, [id]) {
    const block = chain.resolve(id, 0)
    const receipts = block && chain.readReceipts(block.hash)
    if (receipts === undefined) return 'null'
    const json = new JsonBytes(receipts.length * 2 + 2)
    json.text('[')
    for (const [index, { payload, end }] of rlpListSpans(receipts, rlpSpanAt(receipts, 0)).entries()) {
      if (index > 0) json.text(',')
      json.hex(receipts, payload, end)
    }
    json.text(']')
    return json.finish()
  },
})
