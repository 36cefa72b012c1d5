/**
 * Runs one transaction on the kernel by the consensus rules: validity, payment, refunds. Yellow paper, section 6,
 * with the EIPs named at each rule.
 */

import { gasPerBlob } from '../chain/feeMarket.js'
import { type BlobParameters, type ForkName, includesFork } from '../chain/forks.js'
import {
  calldataFloorGas,
  initcodeBytesMax,
  intrinsicGas,
  shapeOfData,
  type TransactionShape,
  transactionGasMax,
} from '../chain/intrinsicGas.js'
import { equalBytes } from '../primitives/bytes.js'
import { isDelegation, type SignedAuthorization } from './authorizations.js'
import type { BlockWords } from './blockWords.js'
import type { AccessListEntry } from './executionRequest.js'
import type { Kernel } from './kernel.js'
import type { KernelLog } from './kernelLogs.js'
import type { KernelFailure } from './kernelOutcome.js'
import { runOutermostFrame, useOfGas } from './outermostFrame.js'

export interface Transaction {
  readonly type: number
  /** 20 bytes. */
  readonly sender: Uint8Array
  /** 20 bytes; undefined for a creation. */
  readonly to: Uint8Array | undefined
  readonly nonce: bigint
  readonly gasLimit: bigint
  /** Highest gas price in wei; for types 0 and 1 the gas price. */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly value: bigint
  readonly data: Uint8Array
  readonly accessList: readonly AccessListEntry[]
  readonly maxFeePerBlobGas: bigint
  readonly blobVersionedHashes: readonly Uint8Array[]
  /** Number of all authorizations, and those with a valid signature for this chain. */
  readonly authorizationCount: number
  readonly authorizations: readonly SignedAuthorization[]
}

export interface TransactionOutcome {
  readonly failure: KernelFailure
  /** What the sender pays for. */
  readonly gasUsed: bigint
  /** What counts for the block, by dimension (EIP-8037); before Amsterdam all is execution gas. */
  readonly executionGas: bigint
  readonly stateGas: bigint
  readonly logs: readonly KernelLog[]
}

/** A transaction that no block may contain. */
export class InvalidTransactionError extends Error {
  override readonly name = 'InvalidTransactionError'
}

const nonceMax = 2n ** 64n - 1n
const blobVersion = 1
/** EIP-7594. */
const blobsOfTransactionMax = 6

/** Gas that the transactions before it used of the block's limit, by dimension. */
export type BlockGas = Pick<TransactionOutcome, 'executionGas' | 'stateGas'>

export const noGas: BlockGas = { executionGas: 0n, stateGas: 0n }

/** Runs a transaction. Throws {@link InvalidTransactionError}. */
export function runTransaction(
  kernel: Kernel,
  fork: ForkName,
  block: BlockWords,
  blobs: BlobParameters | undefined,
  used: BlockGas,
  tx: Transaction,
): TransactionOutcome {
  const isSince = (name: ForkName) => includesFork(fork, name)
  checkType(tx, fork)
  const gasPrice = isSince('london')
    ? min(tx.maxFeePerGas, block.baseFee + tx.maxPriorityFeePerGas)
    : tx.maxFeePerGas
  kernel.begin(tx.sender, gasPrice, tx.blobVersionedHashes)
  const sender = kernel.account(tx.sender)
  const nonce = kernel.nonceOf(sender)
  if (tx.nonce !== nonce) refuse(tx.nonce < nonce ? 'nonce too low' : 'nonce too high')
  if (nonce === nonceMax) refuse('nonce has max value')
  const hasStateGas = isSince('amsterdam')
  if (isSince('osaka') && !hasStateGas && tx.gasLimit > transactionGasMax) {
    refuse('gas limit exceeds the maximum')
  }
  // EIP-3607.
  const code = kernel.codeOf(sender)
  if (code.length > 0 && !(isSince('prague') && isDelegation(code))) refuse('sender not an eoa')
  if (isSince('london')) {
    if (tx.maxFeePerGas < tx.maxPriorityFeePerGas)
      refuse('max priority fee per gas higher than max fee per gas')
    if (tx.maxFeePerGas < block.baseFee) refuse('max fee per gas less than block base fee')
  }
  checkBlobs(tx, block, blobs, fork)
  if (tx.type === 4) {
    if (tx.to === undefined) refuse('set code transaction must not be a create transaction')
    if (tx.authorizationCount === 0) refuse('set code transaction with empty auth list')
  }
  const blobGas = BigInt(tx.blobVersionedHashes.length) * gasPerBlob
  const most = tx.gasLimit * tx.maxFeePerGas + tx.value + blobGas * tx.maxFeePerBlobGas
  if (kernel.balanceOf(sender) < most) refuse('insufficient funds for gas * price + value')
  const executionGas = hasStateGas ? min(tx.gasLimit, transactionGasMax) : tx.gasLimit
  if (executionGas > block.gasLimit - used.executionGas) refuse('gas limit reached')
  if (hasStateGas && tx.gasLimit > block.gasLimit - used.stateGas) refuse('state gas limit reached')
  const shape = shapeOfTransaction(tx)
  const intrinsic = intrinsicGas(shape, fork)
  if (tx.gasLimit < intrinsic) refuse('intrinsic gas too low')
  const floor = calldataFloorGas(shape, fork)
  if (tx.gasLimit < floor) refuse('insufficient gas for floor data gas cost')
  if (hasStateGas && max(intrinsic, floor) > transactionGasMax) {
    refuse('intrinsic gas or floor of data exceeds the maximum')
  }
  if (isSince('shanghai') && tx.to === undefined && tx.data.length > initcodeBytesMax(fork)) {
    refuse('max initcode size exceeded')
  }
  const blobCost = blobGas * block.blobBaseFee
  return executeTransaction(kernel, fork, block, tx, { gasPrice, blobCost, intrinsic, floor })
}

/** The properties of a transaction that decide its intrinsic gas. */
export function shapeOfTransaction(
  tx: Pick<Transaction, 'sender' | 'to' | 'value' | 'data' | 'accessList' | 'authorizationCount'>,
): TransactionShape {
  return {
    isCreation: tx.to === undefined,
    isToSelf: tx.to !== undefined && equalBytes(tx.to, tx.sender),
    hasValue: tx.value > 0n,
    data: shapeOfData(tx.data),
    listedAddresses: tx.accessList.length,
    listedSlots: tx.accessList.reduce((sum, { storageKeys }) => sum + storageKeys.length, 0),
    authorizations: tx.authorizationCount,
  }
}

/** Prices of a transaction that was checked. */
export interface TransactionPrices {
  /** Wei per gas that the sender pays. */
  readonly gasPrice: bigint
  /** Wei for all blobs. */
  readonly blobCost: bigint
  /** Gas used before the first instruction, and the least gas used in the end. */
  readonly intrinsic: bigint
  readonly floor: bigint
}

/** Runs a transaction that was checked, after {@link Kernel.begin}. Its nonce is taken from the sender's account. */
export function executeTransaction(
  kernel: Kernel,
  fork: ForkName,
  block: BlockWords,
  tx: Omit<Transaction, 'type' | 'nonce' | 'authorizationCount'>,
  { gasPrice, blobCost, intrinsic, floor }: TransactionPrices,
): TransactionOutcome {
  const isSince = (name: ForkName) => includesFork(fork, name)
  const { coinbase } = block
  const upfront = tx.gasLimit * gasPrice + blobCost
  const run = runOutermostFrame(kernel, fork, { ...tx, coinbase, intrinsicGas: intrinsic, upfront })
  const { gasUsed, executionGas } = useOfGas(fork, tx.gasLimit, floor, run)
  const logs = kernel.logs
  kernel.credit(kernel.account(tx.sender), (tx.gasLimit - gasUsed) * gasPrice)
  const miner = kernel.account(coinbase)
  kernel.see(miner)
  const reward = gasUsed * (isSince('london') ? gasPrice - block.baseFee : gasPrice)
  // From Amsterdam on nothing does not even touch it, which a trace shows.
  if (reward > 0n || !isSince('amsterdam')) kernel.credit(miner, reward)
  kernel.end()
  return { failure: run.failure, gasUsed, executionGas, stateGas: run.stateGas, logs }
}

function checkType({ type }: Transaction, fork: ForkName): void {
  const since: readonly ForkName[] = ['chainstart', 'berlin', 'london', 'cancun', 'prague']
  const first = since[type]
  if (first === undefined || !includesFork(fork, first)) refuse('transaction type not supported')
}

/** EIP-4844, EIP-7594. */
function checkBlobs(
  tx: Transaction,
  block: BlockWords,
  blobs: BlobParameters | undefined,
  fork: ForkName,
): void {
  if (tx.type !== 3) return
  if (tx.to === undefined) refuse('blob transaction of type create')
  if (tx.blobVersionedHashes.length === 0) refuse('blob transaction missing blob hashes')
  if (includesFork(fork, 'osaka') && tx.blobVersionedHashes.length > blobsOfTransactionMax) {
    refuse('blob transaction has too many blobs')
  }
  if (blobs !== undefined && tx.blobVersionedHashes.length > blobs.max) refuse('too many blobs')
  for (const hash of tx.blobVersionedHashes) {
    if (hash[0] !== blobVersion) refuse('blob hash has an invalid version')
  }
  if (tx.maxFeePerBlobGas < block.blobBaseFee) refuse('max fee per blob gas less than block blob gas fee')
}

function refuse(why: string): never {
  throw new InvalidTransactionError(why)
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
