/** Transactions and their receipts, and sending. Specification, section 4. */
import { findSent } from '../../../data/chain/findSent.js'
import type { TransactionLocation } from '../../../data/chain/findTransaction.js'
import { type Address, bytesToHex } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { UncacheableResult } from '../method.js'
import { chainMethod, type Network } from '../network.js'
import { address, blockId, bytes, hash32, integer, optional, position } from '../params/params.js'
import {
  hashSchema,
  nullable,
  receiptSchema,
  sentTransactionSchema,
  transactionSchema,
} from '../params/schema.js'
import { minedBlockOfAnyTag } from '../params/stateBlock.js'

const byHash = { params: [hash32.as('transactionHash')], memo: 'head', mayBeLong: true } as const
const ofBlock = {
  summary: 'Transaction of a block by its index',
  mayBeLong: true,
  price: 5,
  memo: 'head',
  result: nullable(transactionSchema),
} as const

/** go-ethereum's times to wait for inclusion in a block: the default and the maximum. */
const syncWaitMs = 20_000
const syncWaitMsMax = 60_000
/** Reserved at the end of a request's time, so that the answer is in time. */
const lastAnswerMs = 500

export const transactionMethods = {
  eth_getTransactionByBlockHashAndIndex: chainMethod({
    ...ofBlock,
    params: [hash32.as('blockHash'), position.as('index')],
    run: ({ chain }, [hash, index]) => chain.transactionJson(hash, index) ?? 'null',
  }),
  eth_getTransactionByBlockNumberAndIndex: chainMethod({
    ...ofBlock,
    params: [blockId().as('block'), position.as('index')],
    run({ chain }, [id, index]) {
      const block = minedBlockOfAnyTag(chain, id)
      return (block && chain.transactionJson(block.hash, index, block.number)) ?? 'null'
    },
  }),
  eth_getTransactionByHash: chainMethod({
    ...byHash,
    summary: 'Transaction of the chain by its hash, or one sent from here that waits for its block',
    cost: 'job',
    price: 5,
    result: nullable(sentTransactionSchema),
    run({ chain, upstreamCalls }, [hash]) {
      const json = chain.transactionByHash(hash)
      if (json !== undefined) return json
      if (upstreamCalls === undefined) return 'null'
      return upstreamCalls
        .pending(hash)
        .then((json) => (json === undefined ? 'null' : new UncacheableResult(json)))
    },
  }),
  eth_getTransactionBySenderAndNonce: chainMethod({
    summary: 'Transaction that an account sent with a nonce',
    params: [address.as('sender'), position.as('nonce')],
    mayBeLong: true,
    price: 20,
    memo: 'head',
    result: nullable(transactionSchema),
    run(network, [sender, nonce]) {
      const at = sentAt(network, sender, nonce)
      return (at && network.chain.transactionJson(at.blockHash, at.index)) ?? 'null'
    },
  }),
  eth_getTransactionReceipt: chainMethod({
    ...byHash,
    summary: 'Receipt of a transaction of the chain',
    price: 10,
    result: nullable(receiptSchema),
    run: ({ chain }, [hash]) => chain.receiptByHash(hash) ?? 'null',
  }),
  /**
   * Sends the transaction to the nodes that the network follows or asks, or to the pool of a developer chain. Throws
   * NoUpstreamToSendTo on a network without any, otherwise as {@link UpstreamCalls.send}.
   */
  eth_sendRawTransaction: chainMethod({
    summary:
      'Hash of a signed transaction, once a node that the network follows or asks took it, or a developer chain did',
    params: [bytes.as('transaction')],
    cost: 'job',
    effect: true,
    price: 50,
    result: hashSchema,
    run({ upstreamCalls }, [raw]) {
      if (upstreamCalls === undefined) throw new FaultError({ kind: 'NoUpstreamToSendTo' })
      return upstreamCalls.send(raw).then((hash) => `"${bytesToHex(hash)}"`)
    },
  }),
  /** EIP-7966. If no block includes the transaction in time, throws SentNotMined, whose data is the hash. */
  eth_sendRawTransactionSync: chainMethod({
    summary: 'Receipt of a signed transaction, once it was sent and a block has it',
    params: [bytes.as('transaction'), optional(integer('a time in milliseconds')).as('timeout')],
    cost: 'job',
    effect: true,
    price: 60,
    result: receiptSchema,
    async run({ upstreamCalls, streams, limits }, [raw, asked = 0], context, _turnMsMax, whenStored) {
      if (upstreamCalls === undefined) throw new FaultError({ kind: 'NoUpstreamToSendTo' })
      const hash = await upstreamCalls.send(raw)
      const sinceMs = performance.now()
      const waitMs = Math.min(
        asked === 0 ? syncWaitMs : asked,
        syncWaitMsMax,
        limits.requestMsMax - lastAnswerMs,
      )
      const receipt = await whenStored(() => streams.awaitReceipt(hash, sinceMs + waitMs, context))
      if (receipt === undefined) throw new FaultError({ kind: 'SentNotMined', waitMs, hash })
      return receipt
    },
  }),
  ots_getTransactionBySenderAndNonce: chainMethod({
    summary: 'Hash of the transaction that an account sent with a nonce',
    params: [address.as('sender'), integer('a nonce').as('nonce')],
    price: 20,
    memo: 'head',
    result: nullable(hashSchema),
    run(network, [sender, nonce]) {
      const at = sentAt(network, sender, nonce)
      const senders = at && network.chain.readBlock(at.blockHash)?.senders
      if (at === undefined || senders === undefined) return 'null'
      return `"${bytesToHex(senders.subarray(at.index * 52 + 20, at.index * 52 + 52))}"`
    },
  }),
}

/** The location of the transaction: a binary search in the account's history, with log₂ of the chain's height reads. */
function sentAt({ chain, state }: Network, sender: Address, nonce: number): TransactionLocation | undefined {
  return findSent(chain, (block) => state.readAccount(block, sender)?.nonce ?? 0n, sender, nonce)
}
