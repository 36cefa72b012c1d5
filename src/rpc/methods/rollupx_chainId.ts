import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { feltSchema } from '../schema.js'

/** The chain id that is part of every transaction hash, a felt. */
export const rollupx_chainId = defineMethod({
  name: 'rollupx_chainId',
  summary: 'Chain id of the rollup, a part of every transaction hash',
  params: [],
  paramNames: [],
  byName: true,
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: feltSchema,
  run: ({ chainId }: RollupNetwork) => `"${chainId}"`,
})
