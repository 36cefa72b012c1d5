import { defineMethod } from '../method.js'
import type { Network } from '../network.js'

/** The rules of the chain: the `config` member of its geth-format genesis, as op-geth has it. */
export const debug_chainConfig = defineMethod({
  name: 'debug_chainConfig',
  summary: 'The rules of the chain: the config member of its genesis',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 10,
  memo: 'head',
  result: { type: 'object' },
  run: ({ chain }: Network) => chain.identity.config,
})
