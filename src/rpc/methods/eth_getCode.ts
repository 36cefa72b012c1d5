import { bytesToHex } from '../../primitives/bytes.js'
import { hasCode } from '../../state/account.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, stateBlockId } from '../params.js'
import { bytesSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

/** The code of an account after a block, for a delegation (EIP-7702) its designator; `0x` where there is none. */
export const eth_getCode = defineMethod({
  name: 'eth_getCode',
  summary: 'Code of an account after a block',
  params: [address, stateBlockId],
  paramNames: ['address', 'block'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: bytesSchema,
  run({ chain, state }: Network, [account, id]) {
    const found = state.readAccount(stateBlock(chain, id, 1), account)
    return found !== undefined && hasCode(found) ? `"${bytesToHex(state.readCode(found.codeHash))}"` : '"0x"'
  },
})
