/**
 * What a message has to fulfil before anything of it runs, in go-ethereum's order and wording
 * (core/state_transition.go), and the prices that follow from it. A message without fees is free: the base fee
 * counts as zero for it then, also for the BASEFEE instruction.
 */

import { gasPerBlob } from '../chain/feeMarket.js'
import { includesFork } from '../chain/forks.js'
import {
  calldataFloorGas,
  initcodeBytesMax,
  intrinsicGas,
  type TransactionShape,
} from '../chain/intrinsicGas.js'
import { toChecksumAddress } from '../primitives/checksumAddress.js'
import { type Fault, FaultError } from '../primitives/faults.js'
import type { BlockContext } from './blockContext.js'
import type { CallMessage } from './execution.js'

/** A message with everything that does not depend on its gas limit. */
export interface PricedMessage {
  readonly message: CallMessage
  /** 20 bytes; zeros where the caller named none. */
  readonly sender: Uint8Array
  /** Wei per gas that the sender pays, as GASPRICE says. */
  readonly gasPrice: bigint
  /** Wei per gas that the sender must be able to pay. */
  readonly feeCap: bigint
  /** Wei for the blobs, at their price and at the sender's cap. */
  readonly blobCost: bigint
  readonly blobCostCap: bigint
  /** Gas used before the first instruction. */
  readonly intrinsicGas: bigint
  /** EIP-7623. */
  readonly floorGas: bigint
  /** The block as this message sees it. */
  readonly context: BlockContext
}

const zeroAddress = new Uint8Array(20)
/** EIP-7594. */
const blobsPerTransactionMax = 6
const versionedHashVersion = 1

/** Checks everything but gas limit and balance. Throws FaultError. */
export function priceMessage(message: CallMessage, block: BlockContext): PricedMessage {
  const sender = message.from ?? zeroAddress
  // A block without a base fee knows no other price than gasPrice.
  const hasMarket = block.baseFee !== undefined
  const feeCap = message.gasPrice ?? (hasMarket ? message.maxFeePerGas : undefined) ?? 0n
  const tip = message.gasPrice ?? (hasMarket ? message.maxPriorityFeePerGas : undefined) ?? 0n
  const isFree = feeCap === 0n && tip === 0n
  const baseFee = isFree && block.baseFee !== undefined ? 0n : block.baseFee
  if (!isFree && baseFee !== undefined && includesFork(block.fork, 'london'))
    checkFees(sender, feeCap, tip, baseFee)
  const blobs = BigInt(message.blobVersionedHashes?.length ?? 0)
  const blobFeeCap = message.maxFeePerBlobGas ?? 0n
  const blobBaseFee =
    blobs > 0n && blobFeeCap === 0n && block.blobBaseFee !== undefined ? 0n : block.blobBaseFee
  checkBlobs(message, block, sender, blobFeeCap)
  checkAuthorizations(message, sender)
  const shape = messageShape(message)
  if (shape.isCreation && includesFork(block.fork, 'shanghai') && shape.data.length > initcodeBytesMax) {
    throw refused(`max initcode size exceeded: code size ${shape.data.length} limit ${initcodeBytesMax}`)
  }
  const blobGas = block.blobBaseFee === undefined ? 0n : blobs * gasPerBlob
  return {
    message,
    sender,
    gasPrice: baseFee === undefined ? feeCap : min(feeCap, tip + baseFee),
    feeCap,
    blobCost: blobGas * (blobBaseFee ?? 0n),
    blobCostCap: blobGas * blobFeeCap,
    intrinsicGas: intrinsicGas(shape, block.fork),
    floorGas: calldataFloorGas(shape.data, block.fork),
    context: { ...block, baseFee, blobBaseFee },
  }
}

/** Least gas limit with which the message may start. */
export function startGas({ intrinsicGas, floorGas }: PricedMessage): bigint {
  return intrinsicGas > floorGas ? intrinsicGas : floorGas
}

/** Checks a gas limit against the sender's balance and the cost before execution. Throws FaultError. */
export function checkGasLimit(priced: PricedMessage, gasLimit: bigint, balance: bigint): void {
  const { message, sender, feeCap, blobCostCap } = priced
  if (balance < message.value) throw new FaultError({ kind: 'InsufficientFunds', purpose: 'transfer' })
  const want = gasLimit * feeCap + blobCostCap + message.value
  if (balance < want) {
    const detail = { address: sender, have: balance, want }
    throw new FaultError({ kind: 'InsufficientFunds', purpose: 'gas', detail })
  }
  const { intrinsicGas, floorGas } = priced
  if (gasLimit < intrinsicGas) {
    throw new FaultError({ kind: 'IntrinsicGasTooLow', have: gasLimit, want: intrinsicGas })
  }
  if (gasLimit < floorGas) {
    throw refused(`insufficient gas for floor data gas cost: gas ${gasLimit}, minimum needed ${floorGas}`)
  }
}

/** How much gas the sender can pay for; undefined for any amount. Throws FaultError InsufficientFunds for none. */
export function affordableGas(priced: PricedMessage, balance: bigint): bigint | undefined {
  const { message, feeCap, blobCostCap, sender } = priced
  if (balance < message.value) throw new FaultError({ kind: 'InsufficientFunds', purpose: 'transfer' })
  const left = balance - message.value - blobCostCap
  if (left < 0n) {
    const detail = { address: sender, have: balance, want: message.value + blobCostCap }
    throw new FaultError({ kind: 'InsufficientFunds', purpose: 'gas', detail })
  }
  return feeCap === 0n ? undefined : left / feeCap
}

function messageShape({ to, data, accessList = [], authorizationList = [] }: CallMessage): TransactionShape {
  return {
    isCreation: to === undefined,
    data,
    listedAddresses: accessList.length,
    listedSlots: accessList.reduce((count, { storageKeys }) => count + storageKeys.length, 0),
    authorizations: authorizationList.length,
  }
}

function checkFees(sender: Uint8Array, feeCap: bigint, tip: bigint, baseFee: bigint): void {
  const who = `address ${toChecksumAddress(sender)}`
  if (feeCap < tip) {
    throw refused(
      `max priority fee per gas higher than max fee per gas: ${who}, maxPriorityFeePerGas: ${tip}, maxFeePerGas: ${feeCap}`,
    )
  }
  if (feeCap < baseFee) {
    throw refused(
      `max fee per gas less than block base fee: ${who}, maxFeePerGas: ${feeCap}, baseFee: ${baseFee}`,
    )
  }
}

function checkBlobs(
  { to, blobVersionedHashes: hashes }: CallMessage,
  { fork, blobBaseFee }: BlockContext,
  sender: Uint8Array,
  feeCap: bigint,
): void {
  if (hashes === undefined) return
  if (to === undefined) throw refused('blob transaction of type create')
  if (hashes.length === 0) throw refused('blob transaction missing blob hashes')
  if (includesFork(fork, 'osaka') && hashes.length > blobsPerTransactionMax) {
    throw refused(
      `blob transaction has too many blobs (have=${hashes.length}, max=${blobsPerTransactionMax})`,
    )
  }
  for (const [index, hash] of hashes.entries()) {
    if (hash[0] !== versionedHashVersion) throw refused(`blob ${index} has invalid hash version`)
  }
  if (blobBaseFee !== undefined && feeCap > 0n && feeCap < blobBaseFee) {
    throw refused(
      `max fee per blob gas less than block blob gas fee: address ${toChecksumAddress(sender)} blobGasFeeCap: ${feeCap}, blobBaseFee: ${blobBaseFee}`,
    )
  }
}

function checkAuthorizations({ to, authorizationList: list }: CallMessage, sender: Uint8Array): void {
  if (list === undefined) return
  const who = `(sender ${toChecksumAddress(sender)})`
  if (to === undefined) throw refused(`EIP-7702 transaction cannot be used to create contract ${who}`)
  if (list.length === 0) throw refused(`EIP-7702 transaction with empty auth list ${who}`)
}

function refused(why: string): FaultError {
  const fault: Fault = { kind: 'MessageRefused', why }
  return new FaultError(fault)
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
