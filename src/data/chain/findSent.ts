import { type Address, equalBytes, integerAt } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import type { TransactionLocation } from '../store/chainRows.js'
import { senderAt } from '../store/storedBlock.js'
import type { BlockRows } from './blockRows.js'
import type { ChainView } from './chain.js'
import type { ResolvedBlock } from './chainBlocks.js'
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

/**
 * The first block from genesis on whose state satisfies `holds`; undefined if the head's state does not. If the
 * condition begins to hold several times, the result is any block where it begins. Reads log₂ of the chain's height
 * blocks. If the condition already holds at the oldest block with stored state, `atOldest` decides whether it begins
 * there. Throws FaultError HistoryPruned if it began in a block whose state was removed.
 */
export function firstBlockWhere(
  chain: ChainView,
  holds: (block: ResolvedBlock) => boolean,
  atOldest: (block: ResolvedBlock) => boolean,
): ResolvedBlock | undefined {
  const blockAt = (number: number): ResolvedBlock => {
    const block = chain.resolve({ kind: 'number', number }, 0)
    if (block === undefined) throw new Error(`block ${number} is below the head, but missing`)
    return block
  }
  const oldest = chain.oldest.state
  let low = oldest
  let high = chain.head.number
  if (!holds(blockAt(high))) return undefined
  if (oldest > 0) {
    const block = blockAt(oldest)
    if (holds(block)) {
      if (atOldest(block)) return block
      throw new FaultError({ kind: 'HistoryPruned', oldest })
    }
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(blockAt(middle))) high = middle
    else low = middle + 1
  }
  return blockAt(high)
}
