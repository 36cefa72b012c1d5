/**
 * How much gas a message may have: by its own request, the cap, and the funds of its sender. Owns the checks before a
 * call and before an estimate, in go-ethereum's order and with its messages.
 */
import { includesFork } from '../chain/forks.js'
import { transactionGasMax } from '../chain/intrinsicGas.js'
import { FaultError } from '../primitives/faults.js'
import type { BlockContext } from './blockContext.js'
import type { ExecutionRequest } from './executionRequest.js'
import {
  affordableForEstimate,
  affordableGas,
  checkFunds,
  checkGasLimit,
  checkRecipient,
  checkSize,
  type PricedMessage,
  priceMessage,
  refusingWith,
  startGas,
} from './messageChecks.js'

/** A message that may start, with the gas that it may have. */
export interface Start {
  readonly priced: PricedMessage
  readonly gasLimit: bigint
}

/** Gas below that of the cheapest transaction counts as none, as in go-ethereum's estimates. */
const plausibleGasMin = 21_000n

/** Gas that a call requests, at most the cap. */
export function askedGas({ message, gasDefault, gasMax }: ExecutionRequest): bigint {
  return min(message.gas ?? gasDefault, gasMax)
}

/** Checks a call. Throws FaultError MessageRefused where it cannot start. */
export function startCall(request: ExecutionRequest, context: BlockContext, balance: bigint): Start {
  checkRecipient(request.message)
  return refusingWith(
    (why) => `err: ${why} (supplied gas ${askedGas(request)})`,
    () => startWithAskedGas(request, context, balance),
  )
}

/**
 * Checks a message with the gas that it requests, at most the cap; without a request, with the default as far as the
 * sender can pay. Throws FaultError MessageRefused with only the reason.
 */
export function startWithAskedGas(request: ExecutionRequest, context: BlockContext, balance: bigint): Start {
  const priced = priceMessage(request.message, context)
  let gasLimit = askedGas(request)
  const affordable = request.message.gas === undefined ? affordableGas(priced, balance) : undefined
  if (affordable !== undefined && affordable >= startGas(priced)) gasLimit = min(gasLimit, affordable)
  checkGasLimit(priced, gasLimit, balance)
  return { priced, gasLimit }
}

/**
 * Checks a message before an estimate, and gives the upper limit of the estimate. Throws FaultError MessageRefused
 * where it cannot start, and GasExceedsAllowance where only more gas would help.
 */
export function startEstimate(request: ExecutionRequest, context: BlockContext, balance: bigint): Start {
  const { message, gasDefault, gasMax } = request
  checkRecipient(message)
  const { gas } = message
  let bound = gas !== undefined && gas >= plausibleGasMin ? gas : gasDefault
  // From Amsterdam on the maximum is one of gas without that of state (EIP-8037).
  const isCapped = includesFork(context.fork, 'osaka') && !includesFork(context.fork, 'amsterdam')
  if (isCapped) bound = min(bound, transactionGasMax)
  bound = min(bound, affordableForEstimate(message, context, balance) ?? bound)
  bound = min(bound, gasMax)
  return refusingWith(
    (why) => `failed with ${bound} gas: ${why}`,
    () => {
      const priced = priceMessage(message, context)
      checkFunds(priced, bound, balance)
      if (bound < priced.intrinsicGas) throw new FaultError({ kind: 'GasExceedsAllowance', allowance: bound })
      checkSize(priced, bound)
      return { priced, gasLimit: bound }
    },
  )
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
