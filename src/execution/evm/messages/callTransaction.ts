/**
 * A message as a transaction (internal/ethapi/transaction_args.go of go-ethereum): fees that eth_createAccessList fills
 * in or refuses, and the transaction itself, without a signature.
 */
import { includesFork } from '../../../data/chain/forks.js'
import { bytesToHex, concatBytes, noBytes, toMinimalBytes, toQuantity } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp, type RlpItem } from '../../../primitives/rlp.js'
import { type Conversion, convertField } from '../../../primitives/transactionCodec.js'
import {
  type FieldForm,
  isQuantityForm,
  type TransactionType,
  transactionTypes,
} from '../../../primitives/transactionTypes.js'
import type { BlockContext } from '../blocks/blockContext.js'
import type { CallMessage } from './executionRequest.js'

/** Fills in missing fees. Throws FaultError MessageRefused for fees that no transaction can have. */
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

export interface UnsignedTransaction {
  readonly type: number
  /** The preimage of its hash: RLP, from type 1 on after the type byte (EIP-2718). */
  readonly bytes: Uint8Array
}

/**
 * A message as a transaction with a signature of zeros. Its type is the lowest for its members; at least 2 without
 * `gasPrice`.
 */
export function unsignedTransaction(
  message: CallMessage,
  { chainId, gasLimit, nonce }: TransactionFacts,
): UnsignedTransaction {
  const { names, number, fields } = typeOfMessage(message)
  const values: Partial<Record<string, unknown>> = {
    ...message,
    chainId,
    nonce,
    gas: gasLimit,
    input: message.data,
  }
  const rlp = encodeRlp([
    ...names.map((name) => convertField(encoding, values[name], fields[name] as FieldForm, name)),
    ...[noBytes, noBytes, noBytes],
  ])
  return { type: number, bytes: number === 0 ? rlp : concatBytes(Uint8Array.of(number), rlp) }
}

/** Members that only some types have, in the order of go-ethereum's checks. */
const choosing: readonly (keyof CallMessage)[] = ['gasPrice', 'authorizationList', 'blobVersionedHashes']

/** The lowest type that has all members of a message; without any of them, the first fee-market type. */
function typeOfMessage(message: CallMessage): TransactionType {
  const needed = [choosing.find((name) => message[name] !== undefined) ?? 'maxFeePerGas']
  if (message.accessList !== undefined) needed.push('accessList')
  const hasAll = (type: TransactionType) => needed.every((name) => type.placeOf(name) !== undefined)
  return [...transactionTypes.values()].find(hasAll) as TransactionType
}

/** RLP items from the members of a message; a missing one is zero, or empty. */
const encoding: Conversion<unknown, RlpItem> = {
  leaf: (value, form) =>
    isQuantityForm(form) || form === 'flag'
      ? toMinimalBytes((value as bigint | number | undefined) ?? 0)
      : ((value as Uint8Array | undefined) ?? noBytes),
  items: (list) => (list as readonly unknown[] | undefined) ?? [],
  members: (object, names) => names.map((name) => (object as Readonly<Record<string, unknown>>)[name]),
  list: (items) => items,
  object: (members) => members,
}
