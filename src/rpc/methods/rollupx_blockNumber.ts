import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { readSequencer } from '../rollupReads.js'

/** The number of the newest block of the rollup, as the sequencer answers. */
export const rollupx_blockNumber = defineMethod({
  name: 'rollupx_blockNumber',
  summary: 'Number of the newest block of the rollup, as the sequencer answers it',
  params: [],
  paramNames: [],
  byName: true,
  cost: 'job',
  price: 50,
  memo: 'never',
  result: { type: 'integer', minimum: 0 },
  run: (network: RollupNetwork) => readSequencer(network, 'blockNumber', []),
})
