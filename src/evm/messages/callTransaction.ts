/**
 * A message as a transaction (internal/ethapi/transaction_args.go of go-ethereum): fees that eth_createAccessList
 * fills in or refuses, and the transaction itself, without a signature.
 */
import { includesFork } from '../../chain/forks.js'
import { bytesToHex, concatBytes, noBytes, toMinimalBytes, toQuantity } from '../../primitives/bytes.js'
import { messageRefused } from '../../primitives/faults.js'
import { keccak256 } from '../../primitives/keccak.js'
import { encodeRlp, type RlpItem } from '../../primitives/rlp.js'
import type { BlockContext } from '../blocks/blockContext.js'
import type { CallMessage } from './executionRequest.js'

/** With missing fees filled in. Throws FaultError MessageRefused for fees that no transaction can have. */
export function withFees(
  message: CallMessage,
  { baseFee, blobBaseFee, fork }: Pick<BlockContext, 'baseFee' | 'blobBaseFee' | 'fork'>,
): CallMessage {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, authorizationList } = message
  if (maxFeePerBlobGas === 0n) throw messageRefused('maxFeePerBlobGas, if specified, must be non-zero')
  if (gasPrice !== undefined && authorizationList !== undefined) {
    throw messageRefused('both gasPrice and authorizationList specified')
  }
  if (maxFeePerGas !== undefined && maxPriorityFeePerGas !== undefined) {
    if (maxFeePerGas === 0n) throw messageRefused('maxFeePerGas must be non-zero')
    if (maxFeePerGas < maxPriorityFeePerGas) {
      const [cap, tip] = [maxFeePerGas, maxPriorityFeePerGas].map((fee) => toQuantity(fee))
      throw messageRefused(`maxFeePerGas (${cap}) < maxPriorityFeePerGas (${tip})`)
    }
  }
  const isLondon = includesFork(fork, 'london')
  if (gasPrice === 0n && isLondon) throw messageRefused('gasPrice must be non-zero after london fork')
  if (gasPrice === undefined && maxFeePerGas === undefined && maxPriorityFeePerGas === undefined)
    return message
  const hasBoth = maxFeePerGas !== undefined && maxPriorityFeePerGas !== undefined
  if (gasPrice === undefined && !hasBoth && !isLondon) {
    throw messageRefused('maxFeePerGas and maxPriorityFeePerGas are not valid before London is active')
  }
  const pricesBlobs = message.blobVersionedHashes !== undefined && maxFeePerBlobGas === undefined
  return {
    ...message,
    // Twice the block's price, so that the transaction stays valid while the price rises.
    ...(pricesBlobs ? { maxFeePerBlobGas: 2n * blobBaseFee } : {}),
    ...(maxPriorityFeePerGas !== undefined && maxFeePerGas === undefined
      ? { maxFeePerGas: maxPriorityFeePerGas + 2n * baseFee }
      : {}),
  }
}

/** The other members of a transaction that its hash depends on. */
export interface TransactionFacts {
  readonly chainId: bigint
  readonly gasLimit: bigint
  readonly nonce: bigint
}

/** The hash of a message as a transaction without a signature. */
export function transactionHash(message: CallMessage, facts: TransactionFacts): string {
  return bytesToHex(keccak256(unsignedTransaction(message, facts).bytes))
}

/** A transaction without a signature. */
export interface UnsignedTransaction {
  readonly type: number
  /** The bytes of which its hash is made: RLP, from type 1 on behind the type (EIP-2718). */
  readonly bytes: Uint8Array
}

/** A message as a transaction with a signature of zeros, of the type that its members need; at least 2 without `gasPrice`. */
export function unsignedTransaction(
  message: CallMessage,
  { chainId, gasLimit, nonce }: TransactionFacts,
): UnsignedTransaction {
  const { gasPrice, blobVersionedHashes, authorizationList } = message
  const body: RlpItem[] = [quantity(gasLimit), message.to ?? noBytes, quantity(message.value), message.data]
  const unsigned: RlpItem[] = [noBytes, noBytes, noBytes]
  if (gasPrice !== undefined) {
    return { type: 0, bytes: encodeRlp([quantity(nonce), quantity(gasPrice), ...body, ...unsigned]) }
  }
  const accessList = (message.accessList ?? []).map(({ address, storageKeys }) => [address, storageKeys])
  const market: RlpItem[] = [
    quantity(chainId),
    quantity(nonce),
    quantity(message.maxPriorityFeePerGas ?? 0n),
    quantity(message.maxFeePerGas ?? 0n),
    ...body,
    accessList,
  ]
  if (authorizationList !== undefined) {
    const authorizations = authorizationList.map(({ chainId, address, nonce, yParity, r, s }) => [
      quantity(chainId),
      address,
      ...[nonce, BigInt(yParity), r, s].map(quantity),
    ])
    return typed(4, [...market, authorizations, ...unsigned])
  }
  if (blobVersionedHashes !== undefined) {
    const feeCap = quantity(message.maxFeePerBlobGas ?? 0n)
    return typed(3, [...market, feeCap, blobVersionedHashes, ...unsigned])
  }
  return typed(2, [...market, ...unsigned])
}

function quantity(value: bigint): Uint8Array {
  return toMinimalBytes(value)
}

function typed(type: number, fields: RlpItem): UnsignedTransaction {
  return { type, bytes: concatBytes(Uint8Array.of(type), encodeRlp(fields)) }
}
