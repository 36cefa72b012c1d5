import { findSent } from '../../chain/findSent.js'
import { bytesToHex } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, integer } from '../params.js'
import { hashSchema, nullable } from '../schema.js'

/** The hash of the transaction that an account sent with this nonce; null where there is none. */
export const ots_getTransactionBySenderAndNonce = defineMethod({
  name: 'ots_getTransactionBySenderAndNonce',
  summary: 'Hash of the transaction that an account sent with a nonce',
  params: [address, integer('a nonce')],
  paramNames: ['sender', 'nonce'],
  cost: 'inline',
  price: 20,
  memo: 'head',
  result: nullable(hashSchema),
  run({ chain, state }: Network, [sender, nonce]) {
    const at = findSent(chain, (block) => state.readAccount(block, sender)?.nonce ?? 0n, sender, nonce)
    const senders = at && chain.readBlock(at.blockHash)?.senders
    if (at === undefined || senders === undefined) return 'null'
    return `"${bytesToHex(senders.subarray(at.index * 52 + 20, at.index * 52 + 52))}"`
  },
})
