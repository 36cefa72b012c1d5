import { type Address, equalBytes, integerAt } from '../../primitives/bytes.js'
import type { TransactionLocation } from '../store/chainRows.js'
import { senderAt } from '../store/storedBlock.js'
import type { BlockRows } from './blockRows.js'
import type { ResolvedBlock } from './chainBlocks.js'
import type { ChainView } from './chainView.js'
import { firstBlockWhere } from './firstBlock.js'
import { fieldSpan } from './transactionJson.js'

/**
 * Location of the transaction that `sender` sent with `nonce`; undefined if the chain has none. `nonceAfter` returns
 * the sender's nonce after a block. A nonce never decreases, so the transaction is in the first block after which the
 * nonce exceeds `nonce`. The exception is a nonce raised otherwise: by a creation in a contract, or an authorization
 * (EIP-7702).
 */
export function findSent(
  chain: ChainView,
  nonceAfter: (block: ResolvedBlock) => bigint,
  sender: Address,
  nonce: number,
): TransactionLocation | undefined {
  const placeIn = ({ hash }: ResolvedBlock): TransactionLocation | undefined => {
    const block = chain.readBlock(hash)
    const index = block === undefined ? -1 : indexOfSent(block, sender, nonce)
    return index < 0 ? undefined : { blockHash: hash, index }
  }
  const found = firstBlockWhere(
    chain,
    (block) => nonceAfter(block) > nonce,
    (oldest) => placeIn(oldest) !== undefined,
  )
  return found && placeIn(found)
}

function indexOfSent(rows: BlockRows, sender: Address, nonce: number): number {
  const { body, transactions, senders } = rows
  return transactions.findIndex((span, index) => {
    if (!equalBytes(senderAt(senders, index), sender)) return false
    const transaction = rows.read(span)
    // The nonce of an unsigned transaction is only in its receipt.
    if (transaction.layout.nonce === undefined) return false
    const { payload, end } = fieldSpan(transaction, transaction.layout.nonce)
    return integerAt(body, payload, end) === nonce
  })
}
