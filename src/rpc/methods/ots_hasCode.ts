import { hasCode } from '../../state/account.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, stateBlockId } from '../params.js'
import { booleanSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/** Whether an account has code after a block. */
export const ots_hasCode = defineMethod({
  name: 'ots_hasCode',
  summary: 'Whether an account has code after a block',
  params: [address, stateBlockId],
  paramNames: ['address', 'block'],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: booleanSchema,
  run: ({ chain, state }: Network, [account, id]) =>
    String(hasCode(state.readAccount(stateBlock(chain, id, 1), account))),
})
