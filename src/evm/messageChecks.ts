/**
 * Checks before a message runs, in go-ethereum's order and with its messages (core/state_transition.go), and the
 * prices that follow. A message without fees is free: the base fee is zero for it, also for the BASEFEE instruction.
 */

import { gasPerBlob } from '../chain/feeMarket.js'
import { type ForkName, includesFork } from '../chain/forks.js'
import {
  calldataFloorGas,
  initcodeBytesMax,
  intrinsicGas,
  shapeOfData,
  type TransactionShape,
  transactionGasMax,
} from '../chain/intrinsicGas.js'
import { equalBytes } from '../primitives/bytes.js'
import { toChecksumAddress } from '../primitives/checksumAddress.js'
import { FaultError, type MessageRule } from '../primitives/faults.js'
import type { BlockContext } from './blockContext.js'
import type { CallMessage } from './executionRequest.js'

/** A message with everything that does not depend on its gas limit. */
export interface PricedMessage {
  readonly message: CallMessage
  /** 20 bytes; zeros where the caller gave none. */
  readonly sender: Uint8Array
  /** Wei per gas that the sender pays: the value of GASPRICE. */
  readonly gasPrice: bigint
  /** Whether nobody asks for fees. */
  readonly isFree: boolean
  /** Wei per gas that the sender must be able to pay. */
  readonly feeCap: bigint
  /** Cost of the blobs in wei, at their price and at the sender's cap. */
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

/**
 * Runs `check`; for a refusal `words` makes the whole message from the reason, as go-ethereum does depending on the
 * method.
 */
export function refusingWith<T>(words: (why: string) => string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== 'MessageRefused') throw error
    throw refused(words(error.fault.why))
  }
}

/** Refuses creations that cannot be written as a transaction. Throws FaultError MessageRefused, as all below. */
export function checkRecipient({ to, blobVersionedHashes, authorizationList }: CallMessage): void {
  if (to !== undefined) return
  if (blobVersionedHashes !== undefined) throw refused('blob transaction of type create')
  if (authorizationList !== undefined) {
    throw refused('EIP-7702 transaction cannot be used to create contract')
  }
}

/** Wei per gas that the sender must be able to pay. In a block without a base fee only `gasPrice` counts. */
export function feeCapOf({ gasPrice, maxFeePerGas }: CallMessage, { baseFee }: BlockContext): bigint {
  return gasPrice ?? (baseFee === undefined ? undefined : maxFeePerGas) ?? 0n
}

/**
 * Who needs no fees. `call`: a message without fees is free and finds prices of zero in its block; `simulation`: it
 * is free, but its block keeps its prices; `transaction`: nobody.
 */
export type FeeRules = 'call' | 'simulation' | 'transaction'

/** Checks everything but gas limit and balance. */
export function priceMessage(
  message: CallMessage,
  block: BlockContext,
  rules: FeeRules = 'call',
): PricedMessage {
  const sender = message.from ?? zeroAddress
  const feeCap = feeCapOf(message, block)
  const hasMarket = block.baseFee !== undefined
  const tip = message.gasPrice ?? (hasMarket ? message.maxPriorityFeePerGas : undefined) ?? 0n
  const isFree = rules !== 'transaction' && feeCap === 0n && tip === 0n
  const lowers = rules === 'call'
  const baseFee = lowers && isFree && block.baseFee !== undefined ? 0n : block.baseFee
  if (!isFree && baseFee !== undefined && includesFork(block.fork, 'london')) {
    checkFees(sender, feeCap, tip, baseFee)
  }
  if (message.accessList !== undefined && !includesFork(block.fork, 'berlin')) {
    throw unsupported('access list', sender)
  }
  const blobs = BigInt(message.blobVersionedHashes?.length ?? 0)
  const blobFeeCap = message.maxFeePerBlobGas ?? 0n
  const hasFreeBlobs = rules !== 'transaction' && blobFeeCap === 0n
  const blobBaseFee =
    lowers && blobs > 0n && hasFreeBlobs && block.blobBaseFee !== undefined ? 0n : block.blobBaseFee
  checkBlobs(message, block, sender, hasFreeBlobs ? undefined : blobFeeCap)
  checkAuthorizations(message, block.fork, sender)
  const shape = messageShape(message, sender)
  const blobGas = block.blobBaseFee === undefined ? 0n : blobs * gasPerBlob
  return {
    message,
    sender,
    gasPrice: baseFee === undefined || isFree ? feeCap : min(feeCap, tip + baseFee),
    isFree,
    feeCap,
    blobCost: blobGas * (blobBaseFee ?? 0n),
    blobCostCap: blobGas * blobFeeCap,
    intrinsicGas: intrinsicGas(shape, block.fork),
    floorGas: calldataFloorGas(shape, block.fork),
    context: lowers ? withPrices(block, baseFee, blobBaseFee) : block,
  }
}

/** Block contexts for free messages, cached because most messages are free. */
const repriced = new WeakMap<BlockContext, BlockContext>()

function withPrices(
  block: BlockContext,
  baseFee: bigint | undefined,
  blobBaseFee: bigint | undefined,
): BlockContext {
  if (baseFee === block.baseFee && blobBaseFee === block.blobBaseFee) return block
  const kept = repriced.get(block)
  if (kept !== undefined && kept.baseFee === baseFee && kept.blobBaseFee === blobBaseFee) return kept
  const context = { ...block, baseFee, blobBaseFee }
  repriced.set(block, context)
  return context
}

/** Least gas limit with which the message may start. */
export function startGas({ intrinsicGas, floorGas }: PricedMessage): bigint {
  return intrinsicGas > floorGas ? intrinsicGas : floorGas
}

/** Checks a gas limit against the sender's balance and the intrinsic gas. */
export function checkGasLimit(priced: PricedMessage, gasLimit: bigint, balance: bigint): void {
  checkFunds(priced, gasLimit, balance)
  const { intrinsicGas } = priced
  if (gasLimit < intrinsicGas) {
    throw refused(`intrinsic gas too low: have ${gasLimit}, want ${intrinsicGas}`, 'intrinsicGas')
  }
  checkSize(priced, gasLimit)
}

/** Checks that the sender can pay for a gas limit. */
export function checkFunds(
  { message, sender, feeCap, blobCostCap }: PricedMessage,
  gasLimit: bigint,
  balance: bigint,
): void {
  const want = gasLimit * feeCap + blobCostCap + message.value
  if (balance >= want) return
  const lack = want < 2n ** 256n ? `have ${balance} want ${want}` : 'required balance exceeds 256 bits'
  throw refused(`${insufficientFunds}: address ${toChecksumAddress(sender)} ${lack}`, 'funds')
}

/**
 * Checks that a gas limit covers the floor price of data (EIP-7623), that no transaction would need more than the most
 * (EIP-8037), and the size of initcode (EIP-3860).
 */
export function checkSize(priced: PricedMessage, gasLimit: bigint): void {
  const { intrinsicGas, floorGas, message, context } = priced
  if (gasLimit < floorGas) {
    throw refused(`insufficient gas for floor data gas cost: have ${gasLimit}, want ${floorGas}`)
  }
  if (includesFork(context.fork, 'amsterdam') && startGas(priced) > transactionGasMax) {
    const costs = `intrinsic cost ${intrinsicGas}, floor: ${floorGas}`
    throw refused(`insufficient gas for floor data gas cost: ${costs}`)
  }
  const { to, data } = message
  const sizeMax = initcodeBytesMax(context.fork)
  if (to === undefined && includesFork(context.fork, 'shanghai') && data.length > sizeMax) {
    const why = `max initcode size exceeded: code size ${data.length} limit ${sizeMax}`
    throw refused(why, 'initcodeSize')
  }
}

/** How much gas the sender can pay, at least 0; undefined for any amount. */
export function affordableGas(
  { message, feeCap, blobCostCap }: PricedMessage,
  balance: bigint,
): bigint | undefined {
  if (feeCap === 0n) return undefined
  const left = balance - message.value - blobCostCap
  return left < 0n ? 0n : left / feeCap
}

/** As {@link affordableGas}, by the rules of an estimate: something must remain after value and blobs. */
export function affordableForEstimate(
  message: CallMessage,
  block: BlockContext,
  balance: bigint,
): bigint | undefined {
  const feeCap = feeCapOf(message, block)
  if (feeCap === 0n) return undefined
  let left = balance
  if (message.value >= left) throw refused('insufficient funds for transfer')
  left -= message.value
  const blobs = BigInt(message.blobVersionedHashes?.length ?? 0)
  if (blobs > 0n && includesFork(block.fork, 'cancun')) {
    left -= blobs * gasPerBlob * (message.maxFeePerBlobGas ?? 0n)
    if (left <= 0n) throw refused(insufficientFunds)
  }
  return left / feeCap
}

const insufficientFunds = 'insufficient funds for gas * price + value'

function messageShape(
  { to, value, data, accessList = [], authorizationList = [] }: CallMessage,
  sender: Uint8Array,
): TransactionShape {
  return {
    isCreation: to === undefined,
    isToSelf: to !== undefined && equalBytes(to, sender),
    hasValue: value > 0n,
    data: shapeOfData(data),
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
      'tipAboveFeeCap',
    )
  }
  if (feeCap < baseFee) {
    throw refused(
      `max fee per gas less than block base fee: ${who}, maxFeePerGas: ${feeCap}, baseFee: ${baseFee}`,
      'feeCapTooLow',
    )
  }
}

function checkBlobs(
  { blobVersionedHashes: hashes }: CallMessage,
  { fork, blobBaseFee }: BlockContext,
  sender: Uint8Array,
  feeCap: bigint | undefined,
): void {
  if (hashes === undefined) return
  if (!includesFork(fork, 'cancun')) throw unsupported('blob', sender)
  if (hashes.length === 0) throw refused('blob transaction missing blob hashes')
  if (includesFork(fork, 'osaka') && hashes.length > blobsPerTransactionMax) {
    throw refused('blob transaction has too many blobs')
  }
  for (const [index, hash] of hashes.entries()) {
    if (hash[0] !== versionedHashVersion) throw refused(`blob ${index} has invalid hash version`)
  }
  if (blobBaseFee !== undefined && feeCap !== undefined && feeCap < blobBaseFee) {
    throw refused(
      `max fee per blob gas less than block blob gas fee: address ${toChecksumAddress(sender)} blobGasFeeCap: ${feeCap}, blobBaseFee: ${blobBaseFee}`,
    )
  }
}

function checkAuthorizations(
  { authorizationList: list }: CallMessage,
  fork: ForkName,
  sender: Uint8Array,
): void {
  if (list === undefined) return
  if (!includesFork(fork, 'prague')) throw unsupported('setcode', sender)
  if (list.length === 0) {
    throw refused(`EIP-7702 transaction with empty auth list (sender ${toChecksumAddress(sender)})`)
  }
}

function unsupported(kind: string, sender: Uint8Array): FaultError {
  return refused(`transaction type not supported: ${kind} tx (sender ${toChecksumAddress(sender)})`)
}

/** `why` is go-ethereum's message, to which callers may add; `rule` names the rule where its faults have a code. */
export function refused(why: string, rule?: MessageRule): FaultError {
  return new FaultError({ kind: 'MessageRefused', why, ...(rule === undefined ? {} : { rule }) })
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
