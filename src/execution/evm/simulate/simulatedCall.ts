/** Runs one message of a simulated block, with go-ethereum's checks and their codes. */
import { forkRules } from '../../../data/chain/forkRules.js'
import { zeroAddress } from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import type { BlockContext } from '../blocks/blockContext.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import type { NumberedLog } from '../engine/kernelLogs.js'
import { type UnsignedTransaction, unsignedTransaction } from '../messages/callTransaction.js'
import { checkWritable, refusingWith, transactionOf } from '../messages/gasBounds.js'
import { type Failure, failureOf } from '../messages/messageCall.js'
import { recoverAuthorities } from '../transactions/authorizations.js'
import { priceTransaction, withAffordedBlobs } from '../transactions/pricedTransaction.js'
import { applyTransaction, type TransactionOutcome } from '../transactions/transaction.js'
import { checkTransaction } from '../transactions/transactionChecks.js'
import type { SimulatedCall } from './simulationRequest.js'

/** A message that has run, and its transaction. */
export interface RunCall extends Omit<TransactionOutcome, 'failure'> {
  readonly transaction: UnsignedTransaction
  /** 20 bytes. */
  readonly sender: Uint8Array
  /** Undefined for success. */
  readonly failure: Failure | undefined
  /** Whether more gas than the rest of the request's gas might have helped. */
  readonly wasCapped: boolean
  readonly returnData: Uint8Array
  /** With transfers, if requested. */
  readonly logs: readonly NumberedLog[]
}

interface CallBounds {
  /** Gas that its block has left. */
  readonly blockGas: bigint
  /** Gas that the whole request has left. */
  readonly gasLeft: bigint
  /** Whether the rules of real transactions apply. */
  readonly validates: boolean
  readonly watch: JobWatch
}

/** Runs a message and keeps its changes. Throws FaultError: SimulationRefused, or MessageRefused. */
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
    throw refused(why, 'blockGas')
  }
  const gasLimit = asked < gasLeft ? asked : gasLeft
  // Without a base fee there are only gas prices.
  const message = context.hasBaseFee ? given : { ...given, gasPrice: given.gasPrice ?? 0n }
  const own = transactionOf(message, context)
  const tx = validates ? { ...own, nonce } : own
  const priced = priceTransaction(tx, context, validates ? 'transaction' : 'simulation')
  checkWritable(priced)
  if (chainId !== undefined && chainId !== context.chainId) {
    throw messageRefused(`chainId does not match node's (have=${chainId}, want=${context.chainId})`)
  }
  const transaction = unsignedTransaction(message, { chainId: context.chainId, gasLimit, nonce })
  const balance = kernel.balanceOf(account)
  refusingWith(
    (why, rule) => refused(`err: ${why} (supplied gas ${gasLimit})`, rule),
    () =>
      checkTransaction(priced, {
        gasLimit,
        balance,
        nonce: kernel.nonceOf(account),
      }),
  )
  const authorizations = recoverAuthorities(message.authorizationList ?? [], context.chainId, watch)
  const payable = withAffordedBlobs(priced, gasLimit, balance)
  // There is no signed transaction, so only the base fee has a receiver.
  const fees = forkRules(context.fork).execution.fees?.(kernel, context, undefined)
  const outcome = applyTransaction(
    kernel,
    fees === undefined ? payable : { ...payable, fees },
    { gasLimit, watch, authorizations },
    true,
  )
  return {
    transaction,
    sender,
    wasCapped: gasLimit < asked,
    ...outcome,
    failure: failureOf(kernel, priced, outcome.failure, watch),
    returnData: kernel.output,
    logs: kernel.numberedLogs,
  }
}

function refused(why: string, rule: string | undefined): FaultError {
  return new FaultError({ kind: 'SimulationRefused', ...(rule !== undefined && { rule }), why })
}
