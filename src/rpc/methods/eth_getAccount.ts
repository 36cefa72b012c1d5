import { bytesToHex, toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, stateBlockId } from '../params.js'
import { hashSchema, nullable, objectSchema, quantitySchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

const accountSchema = objectSchema('Account', {
  codeHash: hashSchema,
  storageRoot: hashSchema,
  balance: quantitySchema,
  nonce: quantitySchema,
})

/** The four fields of an account in the state trie after a block; null where there is none. */
export const eth_getAccount = defineMethod({
  name: 'eth_getAccount',
  summary: 'Balance, nonce, code hash and storage root of an account after a block',
  params: [address, stateBlockId],
  paramNames: ['address', 'block'],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: nullable(accountSchema),
  run({ chain, state }: Network, [account, id]) {
    const found = state.readAccount(stateBlock(chain, id, 1), account)
    if (found === undefined) return 'null'
    return JSON.stringify({
      codeHash: bytesToHex(found.codeHash),
      storageRoot: bytesToHex(found.storageRoot),
      balance: toQuantity(found.balance),
      nonce: toQuantity(found.nonce),
    })
  },
})
