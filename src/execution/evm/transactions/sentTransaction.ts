/**
 * Checks of a transaction that is sent to nodes: all stateless checks of go-ethereum's pool, with its messages
 * (core/txpool/validation.go, core/types/transaction.go). Does not own checks of accounts, current fees or a node's
 * settings, which the node decides.
 */

import { gasPerBlob } from '../../../data/chain/feeMarket.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, includesFork } from '../../../data/chain/forks.js'
import { gasLimitMax } from '../../../data/chain/intrinsicGas.js'
import { concatBytes, type Hash32 } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { decodeRlpList, RlpError, rlpSpanAt } from '../../../primitives/rlp.js'
import type { TransactionType } from '../../../primitives/transactionTypes.js'
import { priceTransaction } from './pricedTransaction.js'
import { RecoveredKeys } from './recoveredKeys.js'
import { InvalidSenderError, readSignedTransaction, type SignedTransaction } from './signedTransaction.js'
import { checkTransaction, InvalidTransactionError, poolRules } from './transactionChecks.js'

/** Size limit of pools for transactions (go-ethereum's txMaxSize); the second is for those with blobs. */
const bytesMax = 128 * 1024
const blobBytesMax = 1024 * 1024
/** Parts of a transaction with blobs: EIP-4844 (fields, blobs, commitments, proofs), and EIP-7594 with a version. */
const blobPartsMin = 4
const blobPartsMax = 5
/** An empty cache, so that every sender is recovered. */
const noKeys = new RecoveredKeys()
/** Block values that no pool rule reads. */
const noBlock = {
  coinbase: new Uint8Array(20),
  timestamp: 0n,
  number: 0n,
  random: 0n,
  gasLimit: 0n,
  chainId: 0n,
  baseFee: 0n,
  blobBaseFee: 0n,
  slotNumber: 0n,
}

/** A signed transaction as it was sent. */
export interface SentTransaction {
  readonly hash: Hash32
  /** 20 bytes. */
  readonly sender: Uint8Array
  readonly nonce: bigint
  readonly gasLimit: bigint
  /** Wei per gas; for types 0 and 1 the gas price. */
  readonly maxFeePerGas: bigint
  /** Wei per gas; of types 0 and 1 the gas price. */
  readonly maxPriorityFeePerGas: bigint
  readonly blobCount: number
  /** Wei per blob gas; 0 without blobs. */
  readonly maxFeePerBlobGas: bigint
  /** Most wei that it can take from its sender. */
  readonly cost: bigint
  /** EIP-2718 bytes, or a list for legacy ones; with its blobs. */
  readonly raw: Uint8Array
  /** Its bytes in a block, without blobs. */
  readonly bytes: Uint8Array
}

/**
 * Reads a signed transaction (EIP-2718 bytes, or a list for legacy ones; with its blobs). Throws FaultError
 * MessageRefused if no block of this fork and chain may contain it, or pools refuse it. `keys` may know senders.
 */
export function checkSentTransaction(
  raw: Uint8Array,
  fork: ForkName,
  chainId: bigint,
  keys?: RecoveredKeys,
): SentTransaction {
  const tx = readSentTransaction(raw, fork, chainId, keys)
  const { hash, sender, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas } = tx
  const blobCount = tx.blobVersionedHashes?.length ?? 0
  const cost = gasLimit * maxFeePerGas + tx.value + BigInt(blobCount) * gasPerBlob * maxFeePerBlobGas
  const bytes = tx.blobVersionedHashes === undefined ? raw : withoutBlobs(raw)
  const fees = { maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas }
  return { hash, sender, nonce, gasLimit, ...fees, blobCount, cost, raw, bytes }
}

/** Like {@link checkSentTransaction}, but returns the whole transaction. */
export function readSentTransaction(
  raw: Uint8Array,
  fork: ForkName,
  chainId: bigint,
  keys = noKeys,
): SignedTransaction {
  const type = typeOf(raw, fork)
  const { number, since } = type
  const sizeMax = hasBlobs(type) ? blobBytesMax : bytesMax
  if (raw.length > sizeMax) {
    throw messageRefused(`oversized data: transaction size ${raw.length}, limit ${sizeMax}`)
  }
  if (!includesFork(fork, since)) {
    const name = `${since[0]?.toUpperCase()}${since.slice(1)}`
    throw messageRefused(`transaction type not supported: type ${number} rejected, pool not yet in ${name}`)
  }
  return reading(() => {
    const bytes = hasBlobs(type) ? withoutBlobs(raw) : raw
    const item = number === 0 ? decodeRlpList(bytes) : bytes
    const tx = readSignedTransaction(item, fork, chainId, keys)
    if (tx.gasLimit > gasLimitMax) throw messageRefused('exceeds block gas limit')
    const priced = priceTransaction(tx, { ...noBlock, fork }, 'transaction')
    checkTransaction(priced, { gasLimit: tx.gasLimit, isForPool: true }, poolRules)
    return tx
  })
}

function typeOf(raw: Uint8Array, fork: ForkName): TransactionType {
  const [first = 0] = raw
  if (first <= 0x7f && raw.length <= 1) throw messageRefused('typed transaction too short')
  const { transactionTypes } = forkRules(fork)
  const type = first === 0 ? undefined : transactionTypes.get(first > 0x7f ? 0 : first)
  if (type?.isSigned !== true) throw messageRefused('transaction type not supported')
  return type
}

function hasBlobs(type: TransactionType): boolean {
  return type.placeOf('blobVersionedHashes') !== undefined
}

/** The transaction as in a block. Its parts are not decoded, because blobs are long. */
function withoutBlobs(raw: Uint8Array): Uint8Array {
  const list = rlpSpanAt(raw, 1)
  const fields = rlpSpanAt(raw, list.payload, list.end)
  if (!fields.isList) throw messageRefused('missing sidecar in blob transaction')
  let parts = 1
  let { end } = fields
  for (; end < list.end && parts < blobPartsMax; parts++) end = rlpSpanAt(raw, end, list.end).end
  if (end !== raw.length || parts < blobPartsMin) throw new RlpError('blobs without the right parts', end)
  return concatBytes(raw.subarray(0, 1), raw.subarray(fields.start, fields.end))
}

function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidSenderError) throw messageRefused(`invalid sender: ${error.message}`)
    if (error instanceof InvalidTransactionError) throw messageRefused(error.message)
    if (error instanceof RlpError) throw messageRefused(`not a transaction: ${error.message}`)
    throw error
  }
}
