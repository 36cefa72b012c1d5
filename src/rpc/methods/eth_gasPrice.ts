import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { quantitySchema } from '../schema.js'
import { tipInTurns } from '../tipInTurns.js'

/** The gas price that a legacy transaction may offer: the suggested tip, and the base fee of the head. In wei. */
export const eth_gasPrice = defineMethod({
  name: 'eth_gasPrice',
  summary: 'Suggested gas price of a legacy transaction, in wei',
  params: [],
  paramNames: [],
  cost: 'job',
  price: 20,
  memo: 'head',
  result: quantitySchema,
  run(network: Network, _args, caller, turnMsMax) {
    const baseFee = network.head.header.baseFeePerGas ?? 0n
    return tipInTurns(network, caller, turnMsMax, (tip) => `"${toQuantity(tip + baseFee)}"`)
  },
})
