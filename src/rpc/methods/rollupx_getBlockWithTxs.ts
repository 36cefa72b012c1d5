import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { blockName } from '../rollupParams.js'
import { readSequencer } from '../rollupReads.js'

/** `(block_id)` → a block of the rollup with its transactions, as the sequencer answers. */
export const rollupx_getBlockWithTxs = defineMethod({
  name: 'rollupx_getBlockWithTxs',
  summary: 'Block of the rollup with its transactions, as the sequencer answers it',
  params: [blockName],
  paramNames: ['block_id'],
  byName: true,
  cost: 'job',
  price: 50,
  memo: 'never',
  result: { type: 'object', title: 'rollup block' },
  run: (network: RollupNetwork, [block_id]) => readSequencer(network, 'getBlockWithTxs', { block_id }),
})
