import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { quantitySchema } from '../schema.js'
import { tipInTurns } from '../tipInTurns.js'

/** The tip that a transaction may offer, by the lowest tips of the last blocks. In wei per gas. */
export const eth_maxPriorityFeePerGas = defineMethod({
  name: 'eth_maxPriorityFeePerGas',
  summary: 'Suggested tip of a transaction, in wei per gas',
  params: [],
  paramNames: [],
  cost: 'job',
  price: 20,
  memo: 'head',
  result: quantitySchema,
  run: (network: Network, _args, caller, turnMsMax) =>
    tipInTurns(network, caller, turnMsMax, (tip) => `"${toQuantity(tip)}"`),
})
