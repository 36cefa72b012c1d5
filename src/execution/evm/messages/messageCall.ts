/** Messages on a kernel with their state: calls from request to outcome, and the reasons of failures. */
import { includesFork } from '../../../data/chain/forks.js'
import type { Fault } from '../../../primitives/faults.js'
import type { BlockContext } from '../blocks/blockContext.js'
import { failureReason } from '../engine/failureReasons.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'
import type { Accesses } from '../engine/kernelAccesses.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import type { GasNeed, KernelFailure } from '../engine/kernelOutcome.js'
import { refusalReason } from '../precompiles/precompiles.js'
import type { SignedAuthorization } from '../transactions/authorizations.js'
import type { PricedTransaction } from '../transactions/pricedTransaction.js'
import { applyTransaction, type RunInput } from '../transactions/transaction.js'
import type { CallMessage, CallOutcome, ExecutionRequest } from './executionRequest.js'
import { startCall } from './gasBounds.js'
import { decodeRevertReason } from './revertReason.js'

export interface CallPlace {
  readonly context: BlockContext
  /** Kernel with the state. */
  readonly kernel: Kernel
  /** Balance of the sender in wei. */
  readonly balance: bigint
  readonly watch: JobWatch
  /** Recovers the signers of the message's authorizations, once; only for a message that may start. */
  readonly authorities: () => readonly SignedAuthorization[]
}

/**
 * Executes a call. Throws FaultError MessageRefused if it cannot start; passes on errors of the watch and the store.
 */
export function runCall(request: ExecutionRequest, place: CallPlace): CallOutcome {
  const { context, kernel, balance, watch, authorities } = place
  const { keepsLogs = false } = request
  const { priced, gasLimit } = startCall(request, context, balance)
  const run = runMessage(kernel, priced, { gasLimit, watch, authorizations: authorities(), keepsLogs })
  return { returnData: run.returnData, gasUsed: run.gasUsed, logs: run.logs, failure: toFault(run) }
}

/**
 * Whether no code runs and only the intrinsic gas is paid. The recipient has no code and is no precompiled contract, no
 * authorization may change that, and no account is created that costs gas (EIP-8037).
 */
export function isPlainTransfer(
  { kernel, context }: CallPlace,
  { to, value, authorizationList }: CallMessage,
): boolean {
  if (to === undefined || authorizationList !== undefined) return false
  const recipient = kernel.account(to)
  if (includesFork(context.fork, 'amsterdam') && value > 0n && kernel.isEmpty(recipient)) return false
  return kernel.precompileOf(recipient) === 0 && !kernel.hasCode(recipient)
}

const noAccesses: Accesses = { addresses: [], slots: [] }

interface MessageInput extends RunInput {
  readonly watch: JobWatch
  /** Whether the outcome contains accesses. */
  readonly keepsAccesses?: boolean
  /** Whether the outcome contains logs. */
  readonly keepsLogs?: boolean
}

/** Reason of a failed execution. */
export type Failure =
  | { readonly kind: 'reverted' }
  /** `why` is go-ethereum's message, here and below. */
  | { readonly kind: 'outOfGas'; readonly why: string }
  | { readonly kind: 'other'; readonly why: string }

export interface RunOutcome {
  /** Undefined for success. */
  readonly failure: Failure | undefined
  /** The output of the message or of its revert, or the code that it created. */
  readonly returnData: Uint8Array
  /** Gas used as in a receipt. */
  readonly gasUsed: bigint
  readonly logs: readonly KernelLog[]
  readonly accesses: Accesses
  /** Undefined for a failure, and if gas reserved for state (EIP-8037) paid for state. */
  readonly need: GasNeed | undefined
}

/** Runs a checked message once. Afterwards the kernel's state is as before. */
export function runMessage(kernel: Kernel, priced: PricedTransaction, input: MessageInput): RunOutcome {
  try {
    const outcome = applyTransaction(kernel, priced, input, false)
    const { failure, gasUsed, paidBefore, hasReservoir } = outcome
    return {
      failure: failureOf(kernel, priced, failure, input.watch),
      returnData: kernel.output,
      gasUsed,
      logs: input.keepsLogs === true ? kernel.logs : [],
      accesses: input.keepsAccesses === true ? kernel.readSeen() : noAccesses,
      need: failure === 'none' && !hasReservoir ? kernel.needAfter(paidBefore) : undefined,
    }
  } finally {
    kernel.revert()
  }
}

/** Reason of the failure of the kernel's last message; undefined for success. */
export function failureOf(
  kernel: Kernel,
  { tx }: PricedTransaction,
  failure: KernelFailure,
  watch: JobWatch,
): Failure | undefined {
  if (failure === 'none') return undefined
  if (failure === 'reverted') return { kind: 'reverted' }
  const precompile = tx.to === undefined ? 0 : kernel.precompileOf(kernel.account(tx.to))
  const refusal = () => refusalReason(precompile, tx.data, watch)
  const { isOutOfGas, why } = failureReason(failure, kernel, precompile === 0 ? undefined : refusal)
  return { kind: isOutOfGas ? 'outOfGas' : 'other', why }
}

/** The failure of a run as a fault; undefined for success. */
export function toFault({ failure, returnData }: RunOutcome): Fault | undefined {
  switch (failure?.kind) {
    case undefined:
      return undefined
    case 'reverted':
      return { kind: 'ExecutionReverted', reason: decodeRevertReason(returnData), data: returnData }
    case 'outOfGas':
    case 'other':
      return { kind: 'ExecutionFailed', why: failure.why }
  }
}
