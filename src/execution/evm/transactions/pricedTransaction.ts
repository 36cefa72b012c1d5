/**
 * A transaction, or a message in its place, and its cost in its block before it runs. Owns no rules, which are in
 * transactionChecks.ts.
 */
import type { TransactionFees } from '../../../data/chain/executionRules.js'
import { gasPerBlob } from '../../../data/chain/feeMarket.js'
import { calldataFloorGas, intrinsicGas, shapeOfData } from '../../../data/chain/intrinsicGas.js'
import { equalBytes } from '../../../primitives/bytes.js'
import type { BlockRules } from '../blocks/blockContext.js'
import type { AccessListEntry, Authorization } from '../messages/executionRequest.js'

/** Lists are absent if the type, or the message, has none. */
export interface Transaction {
  /** Undefined for a message, which may combine members of different types. */
  readonly type?: number
  /** 20 bytes. */
  readonly sender: Uint8Array
  /** 20 bytes; undefined for a creation. */
  readonly to: Uint8Array | undefined
  /** Undefined if any nonce is accepted. */
  readonly nonce?: bigint
  /**
   * For a transaction that its block includes even if its sender cannot pay: wei that it creates, and whether the
   * protocol itself sends it.
   */
  readonly forced?: { readonly mint: bigint; readonly isSystem: boolean }
  /** Highest gas price in wei; for types 0 and 1 the gas price. */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly value: bigint
  readonly data: Uint8Array
  readonly accessList?: readonly AccessListEntry[] | undefined
  readonly maxFeePerBlobGas: bigint
  readonly blobVersionedHashes?: readonly Uint8Array[] | undefined
  readonly authorizationList?: readonly Authorization[] | undefined
}

/** A transaction with everything that does not depend on its gas limit. */
export interface PricedTransaction {
  readonly tx: Transaction
  readonly block: BlockRules
  /** Whether it pays no fees, and no blob fees. */
  readonly isFree: boolean
  readonly hasFreeBlobs: boolean
  /** Whether the gas limit of transactions applies to the transaction, without state gas (EIP-7825, EIP-8037). */
  readonly isCapped: boolean
  /** Wei per gas that the sender pays: the value of GASPRICE. */
  readonly gasPrice: bigint
  /** Other fees of the chain; undefined if there are none. */
  readonly fees?: TransactionFees | undefined
  /** Cost of the blobs in wei, at their price and at the sender's cap. */
  readonly blobCost: bigint
  readonly blobCostCap: bigint
  /** Gas used before the first instruction. */
  readonly intrinsicGas: bigint
  /** EIP-7623: least gas used in the end. */
  readonly floorGas: bigint
}

/**
 * Decides whether fees may be omitted. `call` and `estimate`: a message without fees is free and finds prices of zero
 * in its block. `simulation` and `forced`: it is free, but its block keeps its prices. `transaction`: never. Calls and
 * simulations never become transactions, so the gas limit of a transaction does not bind them.
 */
type Purpose = 'call' | 'estimate' | 'simulation' | 'forced' | 'transaction'

export function priceTransaction(tx: Transaction, block: BlockRules, purpose: Purpose): PricedTransaction {
  const { to, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, accessList = [] } = tx
  const isFree = purpose !== 'transaction' && maxFeePerGas === 0n && maxPriorityFeePerGas === 0n
  const hasFreeBlobs = purpose !== 'transaction' && maxFeePerBlobGas === 0n
  const blobs = tx.blobVersionedHashes?.length ?? 0
  const seesPrices = purpose !== 'call' && purpose !== 'estimate'
  const seen = seesPrices ? block : withoutPrices(block, isFree, hasFreeBlobs && blobs > 0)
  const blobGas = BigInt(blobs) * gasPerBlob
  const shape = {
    isCreation: to === undefined,
    isToSelf: to !== undefined && equalBytes(to, tx.sender),
    hasValue: tx.value > 0n,
    data: shapeOfData(tx.data),
    listedAddresses: accessList.length,
    listedSlots: accessList.reduce((count, { storageKeys }) => count + storageKeys.length, 0),
    authorizations: tx.authorizationList?.length ?? 0,
  }
  const tipped = seen.baseFee + maxPriorityFeePerGas
  return {
    tx,
    block: seen,
    isFree,
    hasFreeBlobs,
    isCapped: purpose !== 'call' && purpose !== 'simulation',
    gasPrice: tipped < maxFeePerGas ? tipped : maxFeePerGas,
    blobCost: blobGas * seen.blobBaseFee,
    blobCostCap: blobGas * maxFeePerBlobGas,
    intrinsicGas: intrinsicGas(shape, block.fork),
    floorGas: calldataFloorGas(shape, block.fork),
  }
}

/** In a call without a balance check, the blob fee is limited to the balance left after gas and value. */
export function withAffordedBlobs(
  priced: PricedTransaction,
  gasLimit: bigint,
  balance: bigint,
): PricedTransaction {
  const { tx, hasFreeBlobs, blobCost, gasPrice } = priced
  const owned = balance - tx.value - gasLimit * gasPrice
  return hasFreeBlobs && blobCost > owned ? { ...priced, blobCost: owned } : priced
}

/** Blocks for free messages, cached because most messages are free. */
const repriced = new WeakMap<BlockRules, BlockRules>()

function withoutPrices(block: BlockRules, isFree: boolean, hasFreeBlobs: boolean): BlockRules {
  const baseFee = isFree ? 0n : block.baseFee
  const blobBaseFee = hasFreeBlobs ? 0n : block.blobBaseFee
  if (baseFee === block.baseFee && blobBaseFee === block.blobBaseFee) return block
  const kept = repriced.get(block)
  if (kept !== undefined && kept.baseFee === baseFee && kept.blobBaseFee === blobBaseFee) return kept
  const seen = { ...block, baseFee, blobBaseFee }
  repriced.set(block, seen)
  return seen
}

/** Least gas limit with which the transaction may start. */
export function startGas({ intrinsicGas, floorGas }: PricedTransaction): bigint {
  return intrinsicGas > floorGas ? intrinsicGas : floorGas
}
