import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { nullable, quantitySchema } from '../schema.js'

/** The base fee of the block that comes next, in wei per gas; null before London. */
export const eth_baseFee = defineMethod({
  name: 'eth_baseFee',
  summary: 'Base fee of the next block, in wei per gas',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: nullable(quantitySchema),
  run({ chain }: Network) {
    const { baseFeePerGas } = chain.pendingHeader()
    return baseFeePerGas === undefined ? 'null' : `"${toQuantity(baseFeePerGas)}"`
  },
})
