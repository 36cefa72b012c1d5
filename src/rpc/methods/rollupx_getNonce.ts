import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { blockName, contractAddress } from '../rollupParams.js'
import { readSequencer } from '../rollupReads.js'
import { feltSchema } from '../schema.js'

/** `(block_id, contract_address)` → the nonce of an account contract, as the sequencer answers. */
export const rollupx_getNonce = defineMethod({
  name: 'rollupx_getNonce',
  summary: 'Nonce of an account contract, as the sequencer answers it',
  params: [blockName, contractAddress],
  paramNames: ['block_id', 'contract_address'],
  byName: true,
  cost: 'job',
  price: 50,
  memo: 'never',
  result: feltSchema,
  run: (network: RollupNetwork, [block_id, contract_address]) =>
    readSequencer(network, 'getNonce', { block_id, contract_address }),
})
