/**
 * The gas limit of a message: from its own request, the cap, and the funds of its sender. Owns the start of calls and
 * estimates, in go-ethereum's order and with its messages. A message without fees is free: its base fee is zero, also
 * for the BASEFEE instruction.
 */

import { includesFork } from '../../../data/chain/forks.js'
import { transactionGasMax } from '../../../data/chain/intrinsicGas.js'
import { zeroAddress } from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import type { BlockContext } from '../blocks/blockContext.js'
import {
  type PricedTransaction,
  priceTransaction,
  startGas,
  type Transaction,
} from '../transactions/pricedTransaction.js'
import {
  checkTransaction,
  InvalidTransactionError,
  type RuleName,
  writableRules,
} from '../transactions/transactionChecks.js'
import type { CallMessage, ExecutionRequest } from './executionRequest.js'

/** A message that may start, with its gas limit. */
export interface Start {
  readonly priced: PricedTransaction
  readonly gasLimit: bigint
}

/** A requested gas below the cheapest transaction's is ignored, as in go-ethereum's estimates. */
const plausibleGasMin = 21_000n

/** A message as a transaction. Throws FaultError MessageRefused for fees of EIP-1559 in a block without a base fee. */
export function transactionOf(message: CallMessage, { hasBaseFee }: BlockContext): Transaction {
  const { from, to, gasPrice, maxFeePerGas, maxPriorityFeePerGas, value, data } = message
  const { accessList, maxFeePerBlobGas = 0n, blobVersionedHashes, authorizationList } = message
  if (!hasBaseFee && (maxFeePerGas !== undefined || maxPriorityFeePerGas !== undefined)) {
    throw messageRefused('maxFeePerGas and maxPriorityFeePerGas are not valid before London is active')
  }
  return {
    sender: from ?? zeroAddress,
    to,
    maxFeePerGas: gasPrice ?? maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: gasPrice ?? maxPriorityFeePerGas ?? 0n,
    value,
    data,
    accessList,
    maxFeePerBlobGas,
    blobVersionedHashes,
    authorizationList,
  }
}

/** Runs `check`. If it refuses the transaction, throws the error that `toError` makes from go-ethereum's message. */
export function refusingWith<T>(
  toError: (why: string, rule: RuleName | undefined) => FaultError,
  check: () => T,
): T {
  try {
    return check()
  } catch (error) {
    throw error instanceof InvalidTransactionError ? toError(error.message, error.rule) : error
  }
}

/** Refuses a message that cannot be encoded as a transaction. Throws FaultError MessageRefused. */
export function checkWritable(priced: PricedTransaction): void {
  refusingWith(messageRefused, () => checkTransaction(priced, { gasLimit: 0n }, writableRules))
}

/** Gas that a call requests, at most the cap. */
export function askedGas({ message, gasDefault, gasMax }: ExecutionRequest): bigint {
  return min(message.gas ?? gasDefault, gasMax)
}

/** Checks a call. Throws FaultError MessageRefused if it cannot start. */
export function startCall(request: ExecutionRequest, context: BlockContext, balance: bigint): Start {
  const words = (why: string) => `err: ${why} (supplied gas ${askedGas(request)})`
  return startWithAskedGas(request, context, balance, words)
}

/** Checks a message with the gas that it requests, or can pay. Throws FaultError MessageRefused. */
export function startWithAskedGas(
  request: ExecutionRequest,
  context: BlockContext,
  balance: bigint,
  words: (why: string) => string,
): Start {
  const priced = priceTransaction(transactionOf(request.message, context), context, 'call')
  checkWritable(priced)
  let gasLimit = askedGas(request)
  const affordable = request.message.gas === undefined ? affordableGas(priced, balance) : undefined
  if (affordable !== undefined && affordable >= startGas(priced)) gasLimit = min(gasLimit, affordable)
  return refusingWith(
    (why) => messageRefused(words(why)),
    () => {
      checkTransaction(priced, { gasLimit, balance })
      return { priced, gasLimit }
    },
  )
}

/** The upper limit of an estimate. Throws FaultError: MessageRefused, or GasExceedsAllowance. */
export function startEstimate(request: ExecutionRequest, context: BlockContext, balance: bigint): Start {
  const { message, gasDefault, gasMax } = request
  const priced = priceTransaction(transactionOf(message, context), context, 'estimate')
  checkWritable(priced)
  const { gas } = message
  let bound = gas !== undefined && gas >= plausibleGasMin ? gas : gasDefault
  // From Amsterdam on, the maximum does not include state gas (EIP-8037).
  const isCapped = includesFork(context.fork, 'osaka') && !includesFork(context.fork, 'amsterdam')
  if (isCapped) bound = min(bound, transactionGasMax)
  bound = min(bound, affordableForEstimate(priced, balance) ?? bound)
  bound = min(bound, gasMax)
  return refusingWith(
    (why, rule) =>
      rule === 'intrinsicGas'
        ? new FaultError({ kind: 'GasExceedsAllowance', allowance: bound })
        : messageRefused(`failed with ${bound} gas: ${why}`),
    () => {
      checkTransaction(priced, { gasLimit: bound, balance })
      return { priced, gasLimit: bound }
    },
  )
}

/** Gas that the sender can pay for, at least 0; undefined for any amount. */
function affordableGas({ tx, blobCostCap }: PricedTransaction, balance: bigint): bigint | undefined {
  if (tx.maxFeePerGas === 0n) return undefined
  const left = balance - tx.value - blobCostCap
  return left < 0n ? 0n : left / tx.maxFeePerGas
}

/** Like {@link affordableGas}, by the rules of an estimate: something must remain after value and blobs. */
function affordableForEstimate(
  { tx, block, blobCostCap }: PricedTransaction,
  balance: bigint,
): bigint | undefined {
  if (tx.maxFeePerGas === 0n) return undefined
  if (tx.value >= balance) throw messageRefused('insufficient funds for transfer')
  const left = balance - tx.value - (includesFork(block.fork, 'cancun') ? blobCostCap : 0n)
  if (left <= 0n) throw messageRefused('insufficient funds for gas * price + value')
  return left / tx.maxFeePerGas
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
