import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { creatorJson, creatorSchema } from '../otterscanSearch.js'
import { address } from '../params.js'
import { nullable } from '../schema.js'

/** Who created a contract, and in which transaction; null for an address without code, and for one of genesis. */
export const ots_getContractCreator = defineMethod({
  name: 'ots_getContractCreator',
  summary: 'Creator of a contract, and the hash of the transaction',
  params: [address],
  paramNames: ['address'],
  cost: 'job',
  price: 100,
  memo: 'head',
  result: nullable(creatorSchema),
  run: (network: Network, [contract], caller) => creatorJson(network, contract, caller),
})
