import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { headerSchema, nullable } from '../schema.js'
import { eth_getHeaderByNumber } from './eth_getHeaderByNumber.js'

/** The header of a block as {@link eth_getHeaderByNumber} has it; the number may be a JSON number, as Otterscan sends it. */
export const erigon_getHeaderByNumber = defineMethod({
  name: 'erigon_getHeaderByNumber',
  summary: 'Header of a block; Otterscan asks it to know which node this is',
  params: [blockId({ acceptsDecimal: true })],
  paramNames: ['block'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(headerSchema),
  run: (network: Network, args, caller, turnMs) => eth_getHeaderByNumber.run(network, args, caller, turnMs),
})
