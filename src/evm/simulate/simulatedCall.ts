/** Runs one message of a simulated block, with go-ethereum's checks and their codes. */
import { toChecksumAddress } from '../../primitives/checksumAddress.js'
import { type Fault, FaultError } from '../../primitives/faults.js'
import { recoverAuthorities } from '../authorizations.js'
import type { BlockContext } from '../blockContext.js'
import { type UnsignedTransaction, unsignedTransaction } from '../callTransaction.js'
import type { CallMessage } from '../executionRequest.js'
import type { JobWatch } from '../jobWatch.js'
import type { Kernel } from '../kernel.js'
import type { NumberedLog } from '../kernelLogs.js'
import { checkGasLimit, checkRecipient, priceMessage, refused } from '../messageChecks.js'
import { applyMessage, type Failure } from '../messageRun.js'
import type { SimulatedCall } from './simulationRequest.js'

/** A message that has run, and its transaction. */
export interface RunCall {
  readonly transaction: UnsignedTransaction
  /** 20 bytes. */
  readonly sender: Uint8Array
  /** Undefined for success. */
  readonly failure: Failure | undefined
  /** Whether more gas than the request had left might have helped. */
  readonly wasCapped: boolean
  readonly returnData: Uint8Array
  readonly gasUsed: bigint
  /** Before refunds. */
  readonly gasSpent: bigint
  /** What counts for the block, by dimension. */
  readonly executionGas: bigint
  readonly stateGas: bigint
  /** Transfers included, where they are wanted. */
  readonly logs: readonly NumberedLog[]
}

/** What a message may use. */
export interface CallBounds {
  /** Gas that its block has left. */
  readonly blockGas: bigint
  /** Gas that the whole request has left. */
  readonly gasLeft: bigint
  /** Whether the rules of real transactions hold. */
  readonly validates: boolean
  readonly watch: JobWatch
}

const zeroAddress = new Uint8Array(20)

/**
 * Runs a message on the kernel's state and keeps its changes. Throws FaultError SimulationRefused where it may not
 * start, MessageRefused for another chain's id, and what `watch` throws.
 */
export function runSimulatedCall(
  kernel: Kernel,
  context: BlockContext,
  { message: given, chainId }: SimulatedCall,
  { blockGas, gasLeft, validates, watch }: CallBounds,
): RunCall {
  const sender = given.from ?? zeroAddress
  const account = kernel.account(sender)
  const nonce = given.nonce ?? kernel.nonceOf(account)
  const asked = given.gas ?? blockGas
  if (asked > blockGas) {
    const why = `block gas limit reached: remaining: ${blockGas}, required: ${asked}`
    throw new FaultError({ kind: 'SimulationRefused', rule: 'blockGas', why })
  }
  const gasLimit = asked < gasLeft ? asked : gasLeft
  checkRecipient(given)
  if (chainId !== undefined && chainId !== context.chainId) {
    throw refused(`chainId does not match node's (have=${chainId}, want=${context.chainId})`)
  }
  const message = withPrice(given, context)
  const transaction = unsignedTransaction(message, { chainId: context.chainId, gasLimit, nonce })
  const priced = refusingCall(gasLimit, () => {
    if (validates) checkNonce(nonce, kernel.nonceOf(account), sender)
    const priced = priceMessage(message, context, validates ? 'transaction' : 'simulation')
    checkGasLimit(priced, gasLimit, kernel.balanceOf(account))
    return priced
  })
  const authorizations = recoverAuthorities(message.authorizationList ?? [], context.chainId, watch)
  const outcome = applyMessage(priced, { kernel, gasLimit, watch, authorizations })
  return {
    transaction,
    sender,
    wasCapped: gasLimit < asked,
    ...outcome,
    logs: kernel.numberedLogs,
  }
}

/** Without a base fee there are only gas prices. */
function withPrice(message: CallMessage, { baseFee }: BlockContext): CallMessage {
  return baseFee === undefined && message.gasPrice === undefined ? { ...message, gasPrice: 0n } : message
}

const nonceMax = 2n ** 64n - 1n

function checkNonce(nonce: bigint, expected: bigint, sender: Uint8Array): void {
  const who = `address ${toChecksumAddress(sender)}`
  const both = `${who}, tx: ${nonce} state: ${expected}`
  if (nonce > expected) throw refused(`nonce too high: ${both}`, 'nonceTooHigh')
  if (nonce < expected) throw refused(`nonce too low: ${both}`, 'nonceTooLow')
  if (nonce === nonceMax) throw refused(`nonce has max value: ${who}, nonce: ${nonce}`)
}

/** Runs the checks of a message; a refusal becomes one of the simulation. */
function refusingCall<T>(gasLimit: bigint, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== 'MessageRefused') throw error
    const { why, rule } = error.fault
    const fault: Fault = { kind: 'SimulationRefused', why: `err: ${why} (supplied gas ${gasLimit})` }
    throw new FaultError(rule === undefined ? fault : { ...fault, rule })
  }
}
