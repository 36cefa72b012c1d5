import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'

/** The chain id that enters every hash, a felt. */
export const rollupx_chainId = defineMethod({
  name: 'rollupx_chainId',
  params: [],
  paramNames: [],
  byName: true,
  cost: 'inline',
  price: 1,
  memo: 'never',
  run: ({ chainId }: RollupNetwork) => `"${chainId}"`,
})
