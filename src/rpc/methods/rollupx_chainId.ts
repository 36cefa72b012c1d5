import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'

/** The chain id that enters every hash, a felt. */
export const rollupx_chainId = defineMethod({
  name: 'rollupx_chainId',
  params: [],
  paramNames: [],
  cost: 'inline',
  memo: 'never',
  run: ({ chainId }: RollupNetwork) => `"${chainId}"`,
})
