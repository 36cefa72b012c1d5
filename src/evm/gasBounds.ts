/** How much gas a message may have: what it asks for, what a caller may ask for, what its sender can pay for. */
import { type ForkName, includesFork } from '../chain/forks.js'
import { transactionGasMax } from '../chain/intrinsicGas.js'
import type { ExecutionRequest } from './execution.js'
import { affordableGas, checkGasLimit, type PricedMessage, startGas } from './messageChecks.js'

/** Less than the cheapest transaction is taken as no gas at all, as go-ethereum does when it estimates. */
const plausibleGasMin = 21_000n

/**
 * Gas limit of a call: what it asks for up to the cap, else the default as far as the sender's balance reaches.
 * Throws FaultError where the message cannot start with it.
 */
export function callGas(
  { message, gasDefault, gasMax }: ExecutionRequest,
  priced: PricedMessage,
  balance: bigint,
): bigint {
  let gasLimit = min(message.gas ?? gasDefault, gasMax)
  if (message.gas === undefined) {
    const affordable = affordableGas(priced, balance)
    const least = startGas(priced)
    if (affordable !== undefined) gasLimit = min(gasLimit, affordable < least ? least : affordable)
  }
  checkGasLimit(priced, gasLimit, balance)
  return gasLimit
}

/** Most gas that an estimate may come to. Throws FaultError InsufficientFunds. */
export function estimateBound(
  { message, gasDefault, gasMax }: ExecutionRequest,
  priced: PricedMessage,
  balance: bigint,
  fork: ForkName,
): bigint {
  const { gas } = message
  let bound = min(gas !== undefined && gas >= plausibleGasMin ? gas : gasDefault, gasMax)
  if (includesFork(fork, 'osaka')) bound = min(bound, transactionGasMax)
  const affordable = affordableGas(priced, balance)
  return affordable === undefined ? bound : min(bound, affordable)
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
